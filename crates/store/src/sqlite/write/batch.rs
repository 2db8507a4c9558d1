//! Fills one journal write: many units in one transaction.
//!
//! The rules decide each unit before the batch writes anything of it, so a unit that is lost or
//! hindered leaves nothing behind. Rows that many units change (balances, books, counters) are gathered
//! and written once at the end; nothing of them outlives the transaction.

use super::daily_usage::UsageBuffer;
use super::running_sums::RunningSums;
use super::writer_state::{LANE, WriterState};
use crate::sqlite::columns::{int, uint};
use crate::sqlite::funding::accounts::AccountBuffer;
use crate::sqlite::funding::balances::BalanceBuffer;
use kernel::audit::{Hash, UnitDigest};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis};
use kernel::operation::Operation;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// A transaction that is being filled.
pub(crate) struct WriteBatch<'c> {
    pub db: &'c Connection,
    pub flows: &'c Flows,
    /// The time of this write.
    pub at: Millis,
    pub state: WriterState,
    pub balances: BalanceBuffer,
    pub accounts: AccountBuffer,
    /// The running sums of this write's operations.
    pub running: RunningSums,
    /// Every asset, once it was asked for.
    pub assets: Option<Vec<AssetId>>,
    /// What every ledger stored for the transfer that was asked for last.
    pub legs: Option<(Id, Vec<(LedgerId, Operation)>)>,
    /// The first number of a transfer that this write opened, and how many of them are open.
    pub opened: Option<(u64, i64)>,
    /// How many ended, by the write that opened them.
    pub ended: BTreeMap<i64, i64>,
    /// How many ended, by flow and end.
    ends: BTreeMap<(FlowId, i16), i64>,
    /// The daily usage of users.
    pub days: UsageBuffer,
    /// The highest receipt of each ledger outside.
    pub highest: BTreeMap<LedgerId, u64>,
    /// The hashes of new entries, with their transfer's number (0: an operator's action) and their
    /// place in its history.
    pub entries: Vec<(i64, u32, Hash)>,
    /// The number of rows that the connection had changed before.
    changes: u64,
    /// The last place in the outbox before this write.
    places: u64,
}

impl<'c> WriteBatch<'c> {
    pub(crate) fn new(
        db: &'c Connection,
        flows: &'c Flows,
        state: WriterState,
        now: Millis,
    ) -> Self {
        let at = if now > state.at { now } else { state.at };
        let state = WriterState { at, batch: state.batch + 1, ..state };
        Self {
            db,
            flows,
            at,
            state,
            balances: BalanceBuffer::default(),
            accounts: AccountBuffer::default(),
            running: RunningSums::default(),
            assets: None,
            legs: None,
            opened: None,
            ended: BTreeMap::new(),
            ends: BTreeMap::new(),
            days: UsageBuffer::default(),
            highest: BTreeMap::new(),
            entries: Vec::new(),
            changes: db.total_changes(),
            places: state.outbox,
        }
    }

    /// Writes what was gathered. The lane is what the next write begins with.
    pub(crate) fn finish(mut self) -> rusqlite::Result<WriterState> {
        self.balances.write(self.db)?;
        self.accounts.write(self.db)?;
        self.write_running()?;
        if let Some((lo, open)) = self.opened.filter(|(_, open)| *open > 0) {
            let sql = "INSERT INTO open_batches (batch, lo, hi, open) VALUES (?, ?, ?, ?)";
            let row = params![self.state.batch, int(lo), int(self.state.serial), open];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        for (batch, ended) in &self.ended {
            let sql = "UPDATE open_batches SET open = open - ?2 WHERE batch = ?1 RETURNING open";
            let left: i64 =
                self.db.prepare_cached(sql)?.query_row(params![batch, ended], |row| row.get(0))?;
            if left <= 0 {
                let sql = "DELETE FROM open_batches WHERE batch = ?";
                self.db.prepare_cached(sql)?.execute([batch])?;
            }
        }
        for (ledger, seq) in &self.highest {
            let sql = "UPDATE ledgers_tb SET highest = ?2 \
                       WHERE ledger = ?1 AND current = 1 AND highest < ?2";
            self.db.prepare_cached(sql)?.execute(params![ledger.0, int(*seq)])?;
        }
        self.write_ends()?;
        self.write_days()?;
        self.write_audit()?;
        self.write_places(self.places)?;
        if self.db.total_changes() != self.changes {
            self.set("writer", &self.state.seq.to_string())?;
        }
        Ok(self.state)
    }

    /// One transfer more that ended there.
    pub(crate) fn count_end(&mut self, flow: FlowId, state: i16) {
        *self.ends.entry((flow, state)).or_default() += 1;
    }

    fn write_ends(&self) -> rusqlite::Result<()> {
        let sql = "INSERT INTO ended VALUES (?1, ?2, ?3) \
                   ON CONFLICT DO UPDATE SET transfers = transfers + ?3";
        for ((flow, state), more) in &self.ends {
            let row = params![self.flows.table(*flow).flow, state, more];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        Ok(())
    }

    /// This write's row of `audit_units`, where it has history.
    fn write_audit(&mut self) -> rusqlite::Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        // an order that anybody can find again from the rows
        self.entries.sort_unstable_by_key(|(transfer, seq, _)| (*transfer, *seq));
        let mut digest = UnitDigest::default();
        for (_, _, hash) in &self.entries {
            digest.push(*hash);
        }
        let count = digest.count;
        self.state.audit = self.unit();
        let digest = digest.finish(LANE, self.state.audit);
        let sql = "INSERT INTO audit_units (lane, n, count, digest, at) VALUES (?, ?, ?, ?, ?)";
        let row = params![int(LANE), int(self.state.audit), count, digest, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// The number of this write's row of `audit_units`, where it has one.
    pub(crate) fn unit(&self) -> u64 {
        self.state.audit.saturating_add(1)
    }

    /// Sets a named value of the service's state.
    pub(crate) fn set(&self, name: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO service_state (name, value, version, at) VALUES (?1, ?2, 1, ?3) \
                   ON CONFLICT (name) DO UPDATE SET value = ?2, version = version + 1, at = ?3";
        self.db.prepare_cached(sql)?.execute(params![name, value, int(self.at)])?;
        Ok(())
    }

    /// A named value of the service's state, with its version.
    pub(crate) fn value(&self, name: &str) -> rusqlite::Result<Option<(String, u64)>> {
        use rusqlite::OptionalExtension as _;
        let sql = "SELECT value, version FROM service_state WHERE name = ?";
        let mut ask = self.db.prepare_cached(sql)?;
        ask.query_row([name], |row| Ok((row.get(0)?, uint(row.get(1)?)))).optional()
    }
}
