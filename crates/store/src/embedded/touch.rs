//! What one unit does to transfers, gathered so that each row is written once.

use super::group::Group;
use super::lane::higher;
use super::text::{self, int};
use kernel::answer::Evidence;
use kernel::audit::{self, Entry, Hash};
use kernel::ids::{FlowId, Id, Millis};
use kernel::record::{Head, Record};
use kernel::unit::{Event, Hold};
use rusqlite::{OptionalExtension, params};
use serde_json::json;
use std::sync::LazyLock;

/// Where a stored transfer stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub transfer: i64,
    pub flow: FlowId,
    pub code: i16,
    pub version: u32,
    batch: i64,
    events: u32,
    chain: Hash,
    /// It has a row for the scanner.
    due: bool,
}

/// One transfer that a unit touches.
#[derive(Debug)]
struct Touch {
    id: Id,
    stored: Option<Standing>,
    opened: Option<Record>,
    head: Option<(Head, Hold)>,
    error: Option<Evidence>,
    events: Vec<(Option<u8>, u8, Entry)>,
}

/// Every transfer that a unit touches; nearly always one.
#[derive(Debug, Default)]
pub(super) struct Touches(Vec<Touch>);

impl Touches {
    fn of(&mut self, id: Id) -> Option<&mut Touch> {
        self.0.iter_mut().find(|touch| touch.id == id)
    }

    fn at(&mut self, id: Id) -> &mut Touch {
        let at = self.0.iter().position(|touch| touch.id == id).unwrap_or(self.0.len());
        if at == self.0.len() {
            let (stored, opened, head, error) = (None, None, None, None);
            self.0.push(Touch { id, stored, opened, head, error, events: Vec::new() });
        }
        #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
        &mut self.0[at]
    }

    pub(super) fn open(&mut self, record: Record) {
        let id = record.id;
        self.at(id).opened = Some(record);
    }

    /// False: there is no such transfer.
    pub(super) fn head(
        &mut self,
        id: Id,
        head: Head,
        error: Option<&Evidence>,
        hold: Hold,
    ) -> bool {
        let touch = self.at(id);
        touch.head = Some((head, hold));
        touch.error = error.cloned().or_else(|| touch.error.take());
        touch.stored.is_some() || touch.opened.is_some()
    }

    pub(super) fn event(&mut self, event: &Event, detail: Option<&str>) {
        let entry = Entry {
            seq: 0,
            at: 0,
            from: None,
            to: 0,
            event: event.what.to_owned(),
            caller: event.caller.as_deref().map(str::to_owned),
            detail: detail.map(str::to_owned),
        };
        self.at(event.id).events.push((event.from, event.to, entry));
    }
}

static INSERT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO transfers ({}, batch, events, chain, history) VALUES \
         (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
         ?, ?, ?, ?, ?, ?, ?)",
        super::rows::COLUMNS
    )
});

/// The history that a unit adds to one transfer.
struct Added {
    text: String,
    events: u32,
    chain: Hash,
}

impl Group<'_> {
    /// True where a client's key is bound already.
    pub(super) fn bound(&self, flow: FlowId, scope: &str, key: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM keys WHERE flow = ? AND scope = ? AND cid = ?";
        self.db.prepare_cached(sql)?.exists([self.flows.table(flow).flow, scope, key])
    }

    /// Where a transfer stands; read once for each unit.
    pub(super) fn standing(
        &self,
        id: Id,
        touches: &mut Touches,
    ) -> rusqlite::Result<Option<Standing>> {
        if let Some(touch) = touches.of(id) {
            return Ok(touch.stored);
        }
        if self.lane.opened.is_none_or(|highest| id > highest) {
            touches.at(id);
            return Ok(None);
        }
        let sql = "SELECT transfer_id, flow, state, version, batch, events, chain, due_at \
                   FROM transfers WHERE req_id = ?";
        let read = |row: &rusqlite::Row<'_>| {
            let flow = self.flows.named(row.get_ref(1)?.as_str()?);
            Ok(Standing {
                transfer: row.get(0)?,
                flow: flow.ok_or_else(|| text::damaged(1, "not a flow of ours"))?,
                code: row.get(2)?,
                version: row.get(3)?,
                batch: row.get(4)?,
                events: row.get(5)?,
                chain: row.get(6)?,
                due: row.get::<_, Option<i64>>(7)?.is_some(),
            })
        };
        let found = self.db.prepare_cached(sql)?.query_row([id.to_string()], read).optional()?;
        touches.at(id).stored = found;
        Ok(found)
    }

    /// Writes every touched transfer; gives back the number of the one that was opened.
    pub(super) fn flush(
        &mut self,
        touches: Touches,
    ) -> rusqlite::Result<Option<kernel::ids::Serial>> {
        let mut serial = None;
        for touch in touches.0 {
            match (&touch.opened, touch.stored) {
                (Some(_), _) => serial = Some(self.insert(touch)?),
                (None, Some(stored)) => self.update(touch, stored)?,
                (None, None) => {}
            }
        }
        Ok(serial)
    }

    /// Links a transfer's new entries to its chain.
    fn added(
        &mut self,
        events: Vec<(Option<u8>, u8, Entry)>,
        (transfer, flow): (i64, FlowId),
        (before, chain): (u32, Hash),
    ) -> rusqlite::Result<Added> {
        let (table, unit) = (self.flows.table(flow), self.unit());
        let mut added = Added { text: String::new(), events: before, chain };
        for (from, to, entry) in events {
            let entry = Entry {
                seq: added.events,
                at: self.at,
                from: from.map(|s| table.state(s).code),
                to: table.state(to).code,
                ..entry
            };
            added.chain = audit::link(added.chain, &entry);
            added.events += 1;
            self.entries.push((transfer, entry.seq, added.chain));
            if !added.text.is_empty() {
                added.text.push(',');
            }
            let Entry { seq, at, from, to, event, caller, detail } = &entry;
            let hash = audit::hex(&added.chain);
            let entry = (seq, at, from, to, event, caller, detail, hash, unit);
            added.text += &serde_json::to_string(&entry)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        }
        Ok(added)
    }

    fn insert(&mut self, mut touch: Touch) -> rusqlite::Result<kernel::ids::Serial> {
        let Some(mut record) = touch.opened.take() else {
            return Err(text::damaged(0, "nothing was opened"));
        };
        let hold = touch.head.map_or(Hold::Mine, |(head, hold)| {
            record.head = head;
            hold
        });
        record.error = touch.error.take().or(record.error);
        self.lane.serial += 1;
        self.lane.opened = higher(self.lane.opened, record.id);
        let whose = (int(self.lane.serial), record.flow);
        let flow = self.flows.table(record.flow).flow;
        let birth = audit::birth(record.id, flow, &record.terms);
        let added = self.added(touch.events, whose, (0, birth))?;
        let (serial, lane) = (self.lane.serial, self.lane);
        self.row(&record, &added, lane.batch)?;
        let table = self.flows.table(record.flow);
        let open = i64::from(!table.ends(record.head.state));
        if open == 0 {
            self.count_end(record.flow, table.state(record.head.state).code);
        }
        let (lo, before) = self.opened.unwrap_or((serial, 0));
        self.opened = Some((lo, before + open));
        if let Some(binding) = &record.terms.binding {
            let sql = "INSERT INTO keys (flow, scope, cid, transfer_id) VALUES (?, ?, ?, ?)";
            let row = params![table.flow, &*binding.scope, &*binding.key, int(serial)];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        if let Some(due) = record.head.due_at {
            self.due(int(serial), due, hold)?;
        }
        Ok(kernel::ids::Serial(serial))
    }

    fn row(&self, record: &Record, added: &Added, batch: i64) -> rusqlite::Result<()> {
        let (terms, head) = (&record.terms, record.head);
        let binding = terms.binding.as_ref();
        let table = self.flows.table(record.flow);
        let metadata = (!terms.metadata.is_empty()).then(|| json!(terms.metadata).to_string());
        let error = record.error.as_ref();
        self.db.prepare_cached(&INSERT)?.execute(params![
            int(self.lane.serial),
            record.id.to_string(),
            table.flow,
            &*terms.principal,
            int(terms.user.0),
            binding.map(|b| &*b.scope),
            binding.map(|b| &*b.key),
            binding.map(|b| b.fingerprint),
            terms.asset.0,
            text::amount(terms.amount),
            text::amount(terms.fee),
            terms.source.system.code(),
            text::account(&terms.source.account),
            terms.target.system.code(),
            text::account(&terms.target.account),
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
            batch,
            added.events,
            added.chain,
            added.text,
        ])?;
        Ok(())
    }

    fn update(&mut self, touch: Touch, stored: Standing) -> rusqlite::Result<()> {
        let whose = (stored.transfer, stored.flow);
        let added = self.added(touch.events, whose, (stored.events, stored.chain))?;
        let Some((head, hold)) = touch.head else {
            return self.append(&stored, &added);
        };
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
            touch.error.as_ref().map(|why| why.code.as_ref()),
            touch.error.as_ref().and_then(|why| why.doc.as_deref()),
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
        let ended = table.ends(head.state);
        let was = table.coded(stored.code).is_some_and(|s| table.ends(s));
        if ended && !was {
            *self.ended.entry(stored.batch).or_default() += 1;
            self.count_end(stored.flow, table.state(head.state).code);
        }
        match head.due_at {
            Some(due) if !ended => self.due(stored.transfer, due, hold)?,
            Some(_) | None if stored.due => {
                let sql = "DELETE FROM due WHERE transfer_id = ?";
                self.db.prepare_cached(sql)?.execute([stored.transfer])?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// History without a move.
    fn append(&self, stored: &Standing, added: &Added) -> rusqlite::Result<()> {
        if added.text.is_empty() {
            return Ok(());
        }
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
