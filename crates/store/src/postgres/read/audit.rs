//! Reads the audit trail at one instant, for its proof and its seals.

use super::read_pool::{ReadPool, SnapshotTransaction, rows};
use super::{audit_chain, transfers};
use crate::action_rows;
use crate::audit_chain::AuditChain;
use crate::history::birth;
use crate::postgres::columns::{self, count, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::rows::{COLUMNS, record};
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::audit::proof::{ChainStart, End, StoredEntry};
use kernel::audit::replay::{ActionTable, StoredRow};
use kernel::audit::seal::Seal;
use kernel::audit::{AuditUnit, Hash};
use kernel::flow::table::Flows;
use kernel::ids::{Id, Serial};
use kernel::ports::Fut;
use kernel::ports::audit::{History, Trail};
use tokio_postgres::Row;

impl ReadPool {
    pub(crate) async fn trail(&self) -> Result<Box<dyn Trail>, Cause> {
        Ok(Box::new(self.instant().await?))
    }
}

impl Trail for SnapshotTransaction {
    /// Each write takes a block of numbers, and a block is seldom full.
    fn gapless(&self) -> bool {
        false
    }

    fn chain_entries(
        &mut self,
        chain: Id,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<(u64, StoredEntry)>, Cause>> {
        Box::pin(async move {
            let chain = AuditChain::of(chain).ok_or_else(|| Cause::of("NO_SUCH_CHAIN"))?;
            Ok(audit_chain::places(chain, self.db()?, above, limit).await?)
        })
    }

    fn action_rows(&mut self, table: ActionTable) -> Fut<'_, Result<Vec<StoredRow>, Cause>> {
        Box::pin(async move { self.at_length(stored_rows(self.db()?, table)).await })
    }

    fn histories(&mut self, above: Serial, limit: usize) -> Fut<'_, Result<Vec<History>, Cause>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS}, t.events, t.chain, t.history FROM every_transfer t \
                 WHERE t.transfer_id > $1 ORDER BY t.transfer_id LIMIT $2"
            );
            let found = rows(self.db()?, &sql, &[&int(above.0), &columns::most(limit)]).await?;
            let read = |row: &Row| {
                let serial = Serial(uint(row.try_get(0)?));
                Ok(history(&self.flows, serial, row).unwrap_or_else(|error| History::Unreadable {
                    serial,
                    what: error.cause().to_string(),
                }))
            };
            Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
        })
    }

    fn rows(&mut self, units: Vec<(u64, u64)>) -> Fut<'_, Result<Vec<AuditUnit>, Cause>> {
        Box::pin(async move {
            let (lanes, numbers): (Vec<i32>, Vec<i64>) =
                units.into_iter().map(|(lane, n)| (place(lane), int(n))).unzip();
            let sql = "SELECT u.lane, u.n, u.count, u.digest FROM unnest($1::int[], $2::bigint[]) \
                       AS a(lane, n) JOIN audit_units u ON u.lane = a.lane AND u.n = a.n";
            let found = rows(self.db()?, sql, &[&lanes, &numbers]).await?;
            Ok(found.iter().map(unit).collect::<Result<_, _>>()?)
        })
    }

    fn lanes(&mut self) -> Fut<'_, Result<Vec<u64>, Cause>> {
        Box::pin(async move {
            let sql = "WITH RECURSIVE lanes(lane) AS (SELECT min(lane) FROM audit_units UNION ALL \
                       SELECT (SELECT min(u.lane) FROM audit_units u WHERE u.lane > lanes.lane) \
                       FROM lanes WHERE lanes.lane IS NOT NULL) \
                       SELECT lane FROM lanes WHERE lane IS NOT NULL ORDER BY lane";
            let found = rows(self.db()?, sql, &[]).await?;
            let lane = |row: &Row| Ok(uint(row.try_get::<_, i32>(0)?.into()));
            Ok(found.iter().map(lane).collect::<Result<_, StoreError>>()?)
        })
    }

    fn units(
        &mut self,
        lane: u64,
        above: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AuditUnit>, Cause>> {
        Box::pin(async move {
            let sql = "SELECT lane, n, count, digest FROM audit_units WHERE lane = $1 AND n > $2 \
                       ORDER BY n LIMIT $3";
            let of: (i32, i64, i64) = (place(lane), int(above), columns::most(limit));
            let found = rows(self.db()?, sql, &[&of.0, &of.1, &of.2]).await?;
            Ok(found.iter().map(unit).collect::<Result<_, _>>()?)
        })
    }

    fn seals(&mut self, above: u64, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>> {
        Box::pin(async move {
            let sql = format!("{SEALS} WHERE seal > $1 ORDER BY seal LIMIT $2");
            let found = rows(self.db()?, &sql, &[&int(above), &columns::most(limit)]).await?;
            Ok(found.iter().map(seal).collect::<Result<_, _>>()?)
        })
    }

    fn newest(&mut self, below: Option<u64>, limit: usize) -> Fut<'_, Result<Vec<Seal>, Cause>> {
        Box::pin(async move {
            let sql = format!("{SEALS} WHERE seal < $1 ORDER BY seal DESC LIMIT $2");
            let below = below.map_or(i64::MAX, int);
            let found = rows(self.db()?, &sql, &[&below, &columns::most(limit)]).await?;
            Ok(found.iter().map(seal).collect::<Result<_, _>>()?)
        })
    }
}

/// Reads a table as text, however long that takes: each balance is looked at.
async fn stored_rows(db: &Pooled, table: ActionTable) -> Result<Vec<StoredRow>, StoreError> {
    db.batch("SET LOCAL statement_timeout = 0").await?;
    let sql = action_rows::sql(table, |column| match column {
        "approval_id" => "portage_ulid(approval_id)".to_owned(),
        column => format!("{column}::text"),
    });
    let read = |row: &Row| {
        let fields = (1..=table.columns().len()).map(|place| row.try_get(place));
        Ok(StoredRow { key: row.try_get(0)?, fields: fields.collect::<Result<_, _>>()? })
    };
    db.query_at_length(&sql).await?.iter().map(read).collect()
}

/// Every lane has a small number.
fn place(lane: u64) -> i32 {
    i32::try_from(lane).unwrap_or(-1)
}

pub(crate) const SEALS: &str = "SELECT seal, at, lanes, root, previous, mac FROM audit_seals";

fn history(flows: &Flows, serial: Serial, row: &Row) -> Result<History, StoreError> {
    let record = record(flows, row)?;
    let chain = ChainStart { id: record.id, serial, start: birth(flows, &record) };
    let state = row.try_get("state")?;
    let agreed = record.agreed.map(|agreed| agreed.hash());
    let (events, hash) = (count(row.try_get("events")?), hash(row, "chain")?);
    let end = End { state, events, hash, agreed, created_at: record.created_at };
    let entries = transfers::entries(row.try_get("history")?)?;
    Ok(History::Read { chain, entries, end })
}

fn unit(row: &Row) -> Result<AuditUnit, StoreError> {
    let (lane, n) = (uint(row.try_get::<_, i32>(0)?.into()), uint(row.try_get(1)?));
    Ok(AuditUnit { lane, n, count: count(row.try_get(2)?), digest: hash(row, "digest")? })
}

/// A row of [`SEALS`].
pub(crate) fn seal(row: &Row) -> Result<Seal, StoreError> {
    let cover: &str = row.try_get(2)?;
    Ok(Seal {
        number: uint(row.try_get(0)?),
        at: uint(row.try_get(1)?),
        cover: cover.parse().unwrap_or_default(),
        root: hash(row, "root")?,
        previous: hash(row, "previous")?,
        mac: hash(row, "mac")?,
    })
}

/// A value that is no hash reads as zeros: the proof then names the row.
fn hash(row: &Row, column: &str) -> Result<Hash, StoreError> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default())
}
