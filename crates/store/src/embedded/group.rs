//! One journal write: many units in one transaction.
//!
//! Each unit is decided before anything of it is written, so one that is lost or hindered leaves
//! nothing behind. What would be written again and again (balances, books, counters) is gathered
//! and written once at the end; nothing of it outlives the transaction.

use super::funding::Books;
use super::lane::{LANE, Lane};
use super::limits::Days;
use super::running::Running;
use super::text::{int, uint};
use kernel::audit::{Hash, UnitDigest};
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis};
use kernel::table::Flows;
use kernel::unit::Operation;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// A transaction that is being filled.
pub(super) struct Group<'c> {
    pub db: &'c Connection,
    pub flows: &'c Flows,
    /// The time of this write.
    pub at: Millis,
    pub lane: Lane,
    pub books: Books,
    /// What its operations add up to.
    pub running: Running,
    /// Every asset, once somebody asked.
    pub assets: Option<Vec<AssetId>>,
    /// What every ledger stored for the transfer that was asked for last.
    pub legs: Option<(Id, Vec<(LedgerId, Operation)>)>,
    /// The first number of a transfer that this write opened, and how many of them are open.
    pub opened: Option<(u64, i64)>,
    /// How many ended, by the write that opened them.
    pub ended: BTreeMap<i64, i64>,
    /// How many ended, by flow and end.
    ends: BTreeMap<(FlowId, i16), i64>,
    /// What users moved on a day.
    pub days: Days,
    /// The highest receipt of each ledger outside.
    pub highest: BTreeMap<LedgerId, u64>,
    /// The hashes of new entries, with their transfer's number (0: an operator's action) and their
    /// place in its history.
    pub entries: Vec<(i64, u32, Hash)>,
    /// So many rows the connection had changed before.
    changes: u64,
}

impl<'c> Group<'c> {
    pub(super) fn new(db: &'c Connection, flows: &'c Flows, lane: Lane, now: Millis) -> Self {
        let at = if now > lane.at { now } else { lane.at };
        let lane = Lane { at, batch: lane.batch + 1, ..lane };
        Self {
            db,
            flows,
            at,
            lane,
            books: Books::default(),
            running: Running::default(),
            assets: None,
            legs: None,
            opened: None,
            ended: BTreeMap::new(),
            ends: BTreeMap::new(),
            days: Days::default(),
            highest: BTreeMap::new(),
            entries: Vec::new(),
            changes: db.total_changes(),
        }
    }

    /// Writes what was gathered. The lane is what the next write begins with.
    pub(super) fn finish(mut self) -> rusqlite::Result<Lane> {
        self.books.write(self.db)?;
        self.write_running()?;
        if let Some((lo, open)) = self.opened.filter(|(_, open)| *open > 0) {
            let sql = "INSERT INTO open_batches (batch, lo, hi, open) VALUES (?, ?, ?, ?)";
            let row = params![self.lane.batch, int(lo), int(self.lane.serial), open];
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
        if self.db.total_changes() != self.changes {
            self.set("writer", &self.lane.seq.to_string())?;
        }
        Ok(self.lane)
    }

    /// One transfer more that ended there.
    pub(super) fn count_end(&mut self, flow: FlowId, state: i16) {
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
        self.lane.audit = self.unit();
        let digest = digest.finish(LANE, self.lane.audit);
        let sql = "INSERT INTO audit_units (lane, n, count, digest, at) VALUES (?, ?, ?, ?, ?)";
        let row = params![int(LANE), int(self.lane.audit), count, digest, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// The number of this write's row of `audit_units`, where it has one.
    pub(super) fn unit(&self) -> u64 {
        self.lane.audit.saturating_add(1)
    }

    /// Sets a named value of the service's state.
    pub(super) fn set(&self, name: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO service_state (name, value, version, at) VALUES (?1, ?2, 1, ?3) \
                   ON CONFLICT (name) DO UPDATE SET value = ?2, version = version + 1, at = ?3";
        self.db.prepare_cached(sql)?.execute(params![name, value, int(self.at)])?;
        Ok(())
    }

    /// A named value of the service's state, with its version.
    pub(super) fn value(&self, name: &str) -> rusqlite::Result<Option<(String, u64)>> {
        use rusqlite::OptionalExtension as _;
        let sql = "SELECT value, version FROM service_state WHERE name = ?";
        let mut ask = self.db.prepare_cached(sql)?;
        ask.query_row([name], |row| Ok((row.get(0)?, uint(row.get(1)?)))).optional()
    }
}
