//! Implements `Snapshot` for reconciliation: one instant of the store, as a read transaction on a
//! connection and a thread of its own.

use super::account_sums::Reading;
use super::client_keys;
use super::named_values;
use super::sums;
use super::threads::ReaderThreads;
use crate::sqlite::columns::{self, int, uint};
use crate::sqlite::funding::operations;
use crate::sqlite::rows::{PartyColumns, agreed, parties, read_refund_fee};
use kernel::agreed::target_party;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, LedgerId, Serial};
use kernel::operation::{Key, Operation};
use kernel::ports::Fut;
use kernel::ports::journal::{AccountSums, Line, Recount, Resource, Snapshot, Sums, UnmatchedKey};
use kernel::ports::ledger::Totals;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The read transaction ends when the thread does, and the thread when this is dropped.
pub(crate) struct SnapshotTransaction {
    reader: ReaderThreads,
    flows: Arc<Flows>,
    /// The sums by account that are being read, and of which ledger.
    reading: Option<(LedgerId, Reading)>,
}

impl SnapshotTransaction {
    /// Begins at the moment of this call.
    pub(crate) fn begin(db: Connection, flows: Arc<Flows>) -> rusqlite::Result<Self> {
        begin(&db)?;
        Ok(Self { reader: ReaderThreads::new(vec![db]), flows, reading: None })
    }

    /// For another question than the reading that is under way, which keeps the thread: it ends.
    fn asks(&mut self) -> &ReaderThreads {
        self.reading = None;
        &self.reader
    }
}

/// Begins a read transaction now: a deferred one begins with its first reading.
pub(crate) fn begin(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN")?;
    db.query_row("SELECT count(*) FROM ledgers_tb", [], |_| Ok(()))
}

impl Snapshot for SnapshotTransaction {
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>> {
        if !ledger.is_enlisted() {
            return Box::pin(async { Err(Cause::of("NOT_ENLISTED")) });
        }
        self.asks().ask(move |db| sums::books(db, ledger))
    }

    fn sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
    ) -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>> {
        self.asks().ask(move |db| sums::sums(db, ledger, upto))
    }

    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>> {
        self.asks().ask(move |db| sums::operations(db, ledger, after, limit))
    }

    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>> {
        self.asks().ask(sums::recount)
    }

    fn unmatched_keys(&mut self, limit: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>> {
        self.asks().ask(move |db| client_keys::unmatched(db, limit))
    }

    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>> {
        Box::pin(async move {
            if self.reading.as_ref().is_some_and(|(of, _)| *of != ledger) {
                self.reading = None;
            }
            let begin = || (ledger, Reading::begin(&self.reader, ledger, upto));
            let (_, reading) = self.reading.get_or_insert_with(begin);
            let page = reading.page(limit).await?;
            if page.is_empty() {
                self.reading = None;
            }
            Ok(page)
        })
    }

    /// One writer gives the numbers in the order of its writes.
    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>> {
        self.asks().ask(|db| {
            let sql = "SELECT coalesce(max(transfer_id), 0) FROM transfers";
            db.query_row(sql, [], |row| Ok(Serial(uint(row.get(0)?))))
        })
    }

    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>> {
        let flows = self.flows.clone();
        self.asks().ask(move |db| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let sql = format!(
                "SELECT {COLUMNS}, {} FROM transfers WHERE transfer_id > ? ORDER BY 1 LIMIT ?",
                client_keys::COLUMNS
            );
            let mut ask = db.prepare_cached(&sql)?;
            let read = |row: &Row<'_>| line(&flows, row);
            let lines = ask.query_map(params![int(after.0), limit], read)?;
            lines.map(|line| completed(db, line?)).collect()
        })
    }

    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>> {
        let flows = self.flows.clone();
        self.asks().ask(move |db| {
            let sql = format!(
                "SELECT {COLUMNS}, {} FROM transfers WHERE req_id = ?",
                client_keys::COLUMNS
            );
            let mut ask = db.prepare_cached(&sql)?;
            let mut lines = Vec::with_capacity(keys.len());
            for key in keys {
                let found = ask.query_row([key.id.to_string()], |row| line(&flows, row)).optional();
                if let Some(line) = found? {
                    lines.push(completed(db, line)?);
                }
            }
            Ok(lines)
        })
    }

    fn resources(&mut self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.asks().ask(move |db| named_values::resources(db, &prefix))
    }

    fn counters(&mut self, prefix: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>> {
        self.asks().ask(move |db| named_values::counters(db, &prefix))
    }
}

const COLUMNS: &str = "transfer_id, req_id, flow, state, source_type, source_account, \
    target_type, target_account, asset_id, amount, fee, target_asset, target_amount, agreed, \
    refund_fee";

fn line(flows: &Flows, row: &Row<'_>) -> rusqlite::Result<Line> {
    let flow = flows.named(row.get_ref(2)?.as_str()?);
    let flow = flow.ok_or_else(|| columns::damaged(2, "not a flow of ours"))?;
    let state = flows.table(flow).coded(row.get(3)?);
    let at = PartyColumns { parties: 4, amounts: 8, target: 11 };
    let [source, target] = parties(row, at)?;
    Ok(Line {
        serial: Serial(uint(row.get(0)?)),
        id: columns::read_id(1, row.get_ref(1)?.as_str()?)?,
        flow,
        state: state.ok_or_else(|| columns::damaged(3, "not a state of the flow"))?,
        source,
        target: target_party(agreed(row, 13)?.as_ref(), &target).clone(),
        refund_fee: read_refund_fee(row, 14)?,
        key_row: client_keys::key_row(row, 15)?,
        operations: Vec::new(),
    })
}

/// The line with its operations.
fn completed(db: &Connection, mut line: Line) -> rusqlite::Result<Line> {
    line.operations = operations::of(db, line.id)?;
    Ok(line)
}
