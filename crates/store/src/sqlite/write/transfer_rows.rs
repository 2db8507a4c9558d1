//! Writes what a unit does to transfers as rows: opens, moves, history, and due times for the scanner.

use super::batch::WriteBatch;
use super::writer_state::higher;
use crate::columns as shared;
use crate::sqlite::columns::{self, int};
use kernel::ids::{Millis, Serial};
use kernel::record::Record;
use kernel::rules::{
    Added, AddedHistory, Changed, Opened, Row, Stamp, StoredTransfer, TransferChanges,
};
use kernel::unit::Hold;
use rusqlite::params;
use serde_json::json;
use std::sync::LazyLock;

static INSERT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO transfers ({}, batch, events, chain, history) VALUES \
         (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
         ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        crate::sqlite::rows::COLUMNS
    )
});

impl WriteBatch<'_> {
    /// Writes every touched transfer; gives back the number of the one that was opened.
    pub(crate) fn transfers(
        &mut self,
        changes: TransferChanges,
    ) -> rusqlite::Result<Option<Serial>> {
        let stamp = Stamp { at: self.at, unit: self.unit(), lane: None };
        let (mut serial, mut messages) = (None, Vec::new());
        for touch in changes {
            let next = int(self.state.serial.saturating_add(1));
            let row = touch.row(
                self.flows,
                stamp,
                next,
                Added { entries: &mut self.entries, messages: &mut messages },
            );
            match row.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))? {
                Some(Row::Opened(opened)) => serial = Some(self.insert(&opened)?),
                Some(Row::Changed(changed)) => self.update(&changed)?,
                None => {}
            }
        }
        for message in &messages {
            self.emit(message)?;
        }
        Ok(serial)
    }

    fn insert(
        &mut self,
        Opened { record, hold, transfer, added }: &Opened,
    ) -> rusqlite::Result<Serial> {
        self.state.serial = columns::uint(*transfer);
        self.state.opened = higher(self.state.opened, record.id);
        self.row(record, added)?;
        let table = self.flows.table(record.flow);
        let open = i64::from(!table.ends(record.head.state));
        if open == 0 {
            self.count_end(record.flow, table.state(record.head.state).code);
        }
        let serial = self.state.serial;
        let (lo, before) = self.opened.unwrap_or((serial, 0));
        self.opened = Some((lo, before + open));
        if let Some(binding) = &record.terms.binding {
            let sql = "INSERT INTO keys (flow, scope, cid, transfer_id) VALUES (?, ?, ?, ?)";
            let row = params![table.flow, &*binding.scope, &*binding.key, transfer];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        if let Some(due) = record.head.due_at {
            self.due(*transfer, due, *hold)?;
        }
        Ok(Serial(serial))
    }

    fn row(&self, record: &Record, added: &AddedHistory) -> rusqlite::Result<()> {
        let (terms, head) = (&record.terms, record.head);
        let binding = terms.binding.as_ref();
        let table = self.flows.table(record.flow);
        let metadata = (!terms.metadata.is_empty()).then(|| json!(terms.metadata).to_string());
        let error = record.error.as_ref();
        self.db.prepare_cached(&INSERT)?.execute(params![
            int(self.state.serial),
            record.id.to_string(),
            table.flow,
            &*terms.principal,
            int(terms.owner.number()),
            binding.map(|b| &*b.scope),
            binding.map(|b| &*b.key),
            binding.map(|b| b.fingerprint),
            terms.source.asset.0,
            columns::amount(terms.source.amount),
            columns::amount(terms.fee),
            terms.source.system.code(),
            terms.source.account.key(),
            terms.target.system.code(),
            terms.target.account.key(),
            terms.deadline.map(int),
            terms.memo,
            terms.reference,
            metadata,
            table.state(head.state).code,
            head.version,
            error.and_then(|why| why.doc.as_deref()),
            error.map(|why| why.code.as_ref()),
            head.retries,
            head.rejections,
            head.alone,
            head.deaths,
            head.due_at.map(int),
            int(self.at),
            int(self.at),
            terms.day.map(|day| day.0),
            columns::owner(terms),
            columns::target_asset(terms),
            columns::target_amount(terms).map(columns::amount),
            terms.origin.as_ref().map(|origin| origin.chain.0),
            terms.origin.as_ref().map(|origin| &*origin.key),
            columns::terms_version(terms.version),
            shared::agreed(record.agreed.as_deref()),
            shared::refund_fee(terms).map(columns::amount),
            self.state.batch,
            added.events,
            added.chain,
            added.text,
        ])?;
        Ok(())
    }

    fn update(&mut self, change: &Changed) -> rusqlite::Result<()> {
        let Changed { was: stored, head, error, agreed, added, ends, .. } = change;
        let Some((head, hold)) = head else { return self.append(stored, added) };
        let table = self.flows.table(stored.flow);
        let sql = "UPDATE transfers SET state = ?2, version = ?3, \
            error_class = coalesce(?4, error_class), \
            error_message = CASE WHEN ?4 IS NULL THEN error_message ELSE ?5 END, \
            retry_count = ?6, rejections = ?7, alone = ?8, deaths = ?9, due_at = ?10, \
            updated_at = ?11, events = ?12, chain = ?13, \
            history = CASE WHEN ?14 = '' THEN history ELSE history || ',' || ?14 END \
            WHERE transfer_id = ?1";
        self.db.prepare_cached(sql)?.execute(params![
            stored.transfer,
            table.state(head.state).code,
            head.version,
            error.as_ref().map(|why| why.code.as_ref()),
            error.as_ref().and_then(|why| why.doc.as_deref()),
            head.retries,
            head.rejections,
            head.alone,
            head.deaths,
            head.due_at.map(int),
            int(self.at),
            added.events,
            added.chain,
            added.text,
        ])?;
        if let Some(agreed) = shared::agreed(agreed.as_deref()) {
            let sql = "UPDATE transfers SET agreed = ?2 WHERE transfer_id = ?1";
            self.db.prepare_cached(sql)?.execute(params![stored.transfer, agreed])?;
        }
        if *ends {
            *self.ended.entry(stored.batch).or_default() += 1;
            self.count_end(stored.flow, table.state(head.state).code);
        }
        match head.due_at {
            Some(due) if !table.ends(head.state) => self.due(stored.transfer, due, *hold)?,
            Some(_) | None if stored.due => {
                let sql = "DELETE FROM due WHERE transfer_id = ?";
                self.db.prepare_cached(sql)?.execute([stored.transfer])?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// History without a move.
    fn append(&self, stored: &StoredTransfer, added: &AddedHistory) -> rusqlite::Result<()> {
        let sql = "UPDATE transfers SET events = ?2, chain = ?3, history = history || ',' || ?4, \
                   updated_at = ?5 WHERE transfer_id = ?1";
        let row = params![stored.transfer, added.events, added.chain, added.text, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// A row for the scanner.
    fn due(&self, transfer: i64, due: Millis, hold: Hold) -> rusqlite::Result<()> {
        let sql = "INSERT INTO due (transfer_id, due_at, leased_by) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (transfer_id) DO UPDATE SET due_at = ?2, leased_by = ?3";
        let leased = (hold == Hold::Mine).then_some(1);
        self.db.prepare_cached(sql)?.execute(params![transfer, int(due), leased])?;
        Ok(())
    }
}
