//! Reads the audit trail in one read transaction, for its proof and its seals, and writes seals.

use super::threads::ReaderThreads;
use super::transfers;
use crate::action_rows;
use crate::audit_chain::AuditChain;
use crate::history::birth;
use crate::sqlite::columns::{int, most, uint};
use crate::sqlite::write::audit_chain;
use crate::sqlite::write::work::{PendingAnswer, Work};
use crate::sqlite::write::writer_state::LANE;
use crate::sqlite::{Embedded, rows};
use kernel::answer::Cause;
use kernel::audit::proof::{ChainStart, End, StoredEntry};
use kernel::audit::replay::{ActionTable, StoredRow};
use kernel::audit::seal::Seal;
use kernel::audit::{AuditUnit, Hash};
use kernel::flow::table::Flows;
use kernel::ids::{Id, Serial};
use kernel::ports::Fut;
use kernel::ports::audit::{Audit, History, Trail};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The read transaction ends when the thread does, and the thread when this is dropped.
struct AuditTransaction {
    reader: ReaderThreads,
    flows: Arc<Flows>,
}

impl Audit for Embedded {
    fn trail(&self) -> Fut<'_, Result<Box<dyn Trail>, Cause>> {
        let (file, flows) = (self.file.clone(), self.flows.clone());
        let begun = self.readers.ask(move |_| {
            let db = crate::sqlite::reader(&file)?;
            super::snapshot::begin(&db)?;
            Ok(AuditTransaction { reader: ReaderThreads::new(vec![db]), flows })
        });
        Box::pin(async move {
            let trail: Box<dyn Trail> = Box::new(begun.await?);
            Ok(trail)
        })
    }

    fn put_seal(&self, seal: Seal) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            let closed = |_| Cause::of("STORE_CLOSED");
            self.writer
                .send(Work::Seal(PendingAnswer::new(seal, sender)))
                .await
                .map_err(|_| closed(()))?;
            answer.await.map_err(|_| closed(()))?
        })
    }
}

impl Trail for AuditTransaction {
    fn gapless(&self) -> bool {
        true
    }

    fn chain_entries(
        &mut self,
        chain: Id,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<(u64, StoredEntry)>, Cause>> {
        let Some(chain) = AuditChain::of(chain) else {
            return Box::pin(async { Err(Cause::of("NO_SUCH_CHAIN")) });
        };
        self.reader.ask(move |db| {
            let sql = audit_chain::sql(chain, "WHERE {number} > ? ORDER BY {number} LIMIT ?");
            many(db, &sql, params![int(above), most(limit)], |row| audit_chain::read(chain, row))
        })
    }

    fn action_rows(&mut self, table: ActionTable) -> Fut<'_, Result<Vec<StoredRow>, Cause>> {
        self.reader.ask(move |db| {
            let sql = action_rows::sql(table, |column| format!("CAST({column} AS TEXT)"));
            many(db, &sql, [], |row| {
                let fields = (1..=table.columns().len()).map(|place| row.get(place));
                Ok(StoredRow { key: row.get(0)?, fields: fields.collect::<Result<_, _>>()? })
            })
        })
    }

    fn histories(&mut self, above: Serial, limit: usize) -> Fut<'_, Result<Vec<History>, Cause>> {
        let flows = self.flows.clone();
        self.reader.ask(move |db| {
            let sql = format!(
                "SELECT {}, events, chain, history FROM transfers WHERE transfer_id > ? \
                 ORDER BY 1 LIMIT ?",
                rows::COLUMNS
            );
            many(db, &sql, params![int(above.0), most(limit)], |row| {
                let serial = Serial(uint(row.get(0)?));
                Ok(history(&flows, serial, row).unwrap_or_else(|fault| History::Unreadable {
                    serial,
                    what: fault.to_string(),
                }))
            })
        })
    }

    fn rows(&mut self, units: Vec<(u64, u64)>) -> Fut<'_, Result<Vec<AuditUnit>, Cause>> {
        self.reader.ask(move |db| {
            let sql = "SELECT lane, n, count, digest FROM audit_units WHERE lane = ? AND n = ?";
            let mut ask = db.prepare_cached(sql)?;
            let mut found = Vec::with_capacity(units.len());
            for (lane, n) in units {
                found.extend(ask.query_row(params![int(lane), int(n)], unit).optional()?);
            }
            Ok(found)
        })
    }

    fn lanes(&mut self) -> Fut<'_, Result<Vec<u64>, Cause>> {
        self.reader.ask(|db| {
            let sql = "WITH RECURSIVE lanes(lane) AS (SELECT min(lane) FROM audit_units UNION ALL \
                       SELECT (SELECT min(u.lane) FROM audit_units u WHERE u.lane > lanes.lane) \
                       FROM lanes WHERE lanes.lane IS NOT NULL) \
                       SELECT lane FROM lanes WHERE lane IS NOT NULL";
            many(db, sql, [], |row| row.get(0).map(uint))
        })
    }

    fn units(
        &mut self,
        lane: u64,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AuditUnit>, Cause>> {
        self.reader.ask(move |db| {
            let sql = "SELECT lane, n, count, digest FROM audit_units WHERE lane = ? AND n > ? \
                       ORDER BY n LIMIT ?";
            many(db, sql, params![int(lane), int(above), most(limit)], unit)
        })
    }

    fn seals(&mut self, above: u64, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>> {
        self.reader.ask(move |db| {
            let sql = format!("{SEALS} WHERE seal > ? ORDER BY seal LIMIT ?");
            many(db, &sql, params![int(above), most(limit)], seal)
        })
    }

    fn newest(&mut self, below: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>> {
        self.reader.ask(move |db| {
            let sql = format!("{SEALS} WHERE seal < ? ORDER BY seal DESC LIMIT ?");
            let below = below.map_or(i64::MAX, int);
            many(db, &sql, params![below, most(limit)], seal)
        })
    }
}

pub(crate) const SEALS: &str = "SELECT seal, at, lanes, root, previous, mac FROM audit_seals";

fn many<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    db.prepare_cached(sql)?.query_map(params, read)?.collect()
}

fn history(flows: &Flows, serial: Serial, row: &Row<'_>) -> rusqlite::Result<History> {
    let record = rows::record(flows, row)?;
    let chain = ChainStart { id: record.id, serial, start: birth(flows, &record) };
    let agreed = record.agreed.map(|agreed| agreed.hash());
    let (state, events, hash) = (row.get("state")?, row.get("events")?, row.get("chain")?);
    let end = End { state, events, hash, agreed, created_at: record.created_at };
    let entries = transfers::entries(row.get_ref("history")?.as_str()?)?;
    Ok(History::Read { chain, entries, end })
}

fn unit(row: &Row<'_>) -> rusqlite::Result<AuditUnit> {
    let (lane, n) = (uint(row.get(0)?), uint(row.get(1)?));
    Ok(AuditUnit { lane, n, count: row.get(2)?, digest: hash(row, 3)? })
}

/// A row of [`SEALS`].
pub(crate) fn seal(row: &Row<'_>) -> rusqlite::Result<Seal> {
    let cover = row.get_ref(2)?.as_str().unwrap_or_default().parse();
    Ok(Seal {
        number: uint(row.get(0)?),
        at: uint(row.get(1)?),
        cover: cover.unwrap_or_default(),
        root: hash(row, 3)?,
        previous: hash(row, 4)?,
        mac: hash(row, 5)?,
    })
}

/// A value that is no hash reads as zeros: the proof then names the row.
fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    let bytes = row.get_ref(column)?.as_bytes_or_null().ok().flatten();
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default())
}

impl crate::sqlite::write::batch::WriteBatch<'_> {
    /// Writes a seal. The one before it is there, and none of its number.
    pub(crate) fn seal(&self, seal: &Seal) -> rusqlite::Result<Result<(), Cause>> {
        let sql = "SELECT coalesce(max(seal), 0) FROM audit_seals";
        let last: i64 = self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if uint(last).checked_add(1) != Some(seal.number) || seal.cover.of(LANE) > self.state.audit
        {
            return Ok(Err(Cause::of("SUPERSEDED")));
        }
        let sql = "INSERT INTO audit_seals (seal, at, lanes, root, previous, mac) \
                   VALUES (?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            int(seal.number),
            int(seal.at),
            seal.cover.to_string(),
            seal.root,
            seal.previous,
            seal.mac,
        ])?;
        Ok(Ok(()))
    }
}
