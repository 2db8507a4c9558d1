//! Leases to the scanner the transfers that are due, and those that no worker carries any more.
//!
//! A transfer that never waited belongs to the worker of its row in `open_batches`; one that did wait
//! has a row in `due` until it ends. That row belongs to the worker in `leased_by` as long as this
//! worker lives; where the row has no time, the worker carries the transfer right now.

use super::read_pool::{ReadPool, rows, written};
use super::transfers::{ended, records};
use crate::columns::flow_names;
use crate::postgres::attempts;
use crate::postgres::columns::{self, int};
use crate::postgres::error::StoreError;
use crate::postgres::rows::COLUMNS;
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::Millis;
use kernel::ports::journal::{Due, DueQuery};
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// A row that this process keeps in its own heap is given out only when it is late by this time.
pub(crate) const LATE: Millis = 5_000;
/// A due time that was put later than this from now was put by a clock that has been set back since. A process reads the
/// time some moments before it sees a row.
pub(crate) const SET_BACK: Millis = 1_000;
/// The number of due rows that one query compares with each other.
const COMPARED: i64 = 50_000;
/// The number of batches of dead workers that one statement takes over, up to 1 024 transfers
/// each, and the number of such statements in one call.
const TAKEN: i64 = 128;
const TAKES: usize = 8;
/// The number of batches, and about the number of transfers in them, that one sweep checks.
const SWEPT: (i64, i64) = (4_096, 200_000);
/// The number of calls between two sweeps of batches that the process that opened them forgot.
const SWEEPS: u64 = 16;

/// The state of the scan between two calls.
#[derive(Debug, Default)]
pub(crate) struct ScanState {
    /// A lease was asked for and the answer did not come: what it leased is nowhere.
    unconfirmed: bool,
    calls: u64,
    /// The last batch that was swept.
    swept: i64,
}

/// The worker `w` lives at `m.now`. A lease that ends too far away was given by a clock that has
/// been set back since.
pub(crate) const LIVES: &str = "w.leased_until > m.now AND w.leased_until <= m.now + w.length";

/// The time of the scan: the manual clock's, or the database's.
pub(crate) const MOMENT: &str =
    "moment AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now)";

/// The transfer of the row `d` is a member of an open attempt: it comes with its attempt. It is asked
/// of each row that is ripe else, never joined: most tables of members are long.
const ATTEMPTED: &str = "EXISTS (SELECT FROM attempt_members m JOIN attempts a USING (attempt_id) \
    WHERE m.transfer_id = d.transfer_id AND a.closed_at IS NULL)";

/// The row `d` may be given to the worker $2 at `m.now`.
fn ripe() -> String {
    let (now, late) = ("(SELECT now FROM moment)", LATE);
    format!(
        "(d.due_at IS NULL OR d.due_at <= {now} OR d.put_at > {now} + {SET_BACK}) AND CASE \
         WHEN d.leased_by = $2 THEN d.due_at <= {now} - {late} OR d.put_at > {now} + {SET_BACK} \
         ELSE NOT EXISTS (SELECT FROM workers w, moment m WHERE w.worker = d.leased_by AND {LIVES}) \
         END AND CASE WHEN {ATTEMPTED} THEN false ELSE true END"
    )
}

/// A worker's request for what is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseRequest<'r> {
    /// The time, where the database's own does not count.
    pub(crate) now: Option<i64>,
    pub(crate) worker: i64,
    /// The names of the flows that the worker carries, as a list in SQL.
    pub(crate) flows: &'r str,
    /// The most that is given at once.
    pub(crate) limit: i64,
}

/// Leases what is due of these flows: the numbers, and whether their owner died holding them. Rows of
/// other flows are not among those that are compared, so they cost neither a write nor a place.
async fn lease(db: &Pooled, request: LeaseRequest<'_>) -> Result<BTreeMap<i64, bool>, StoreError> {
    let LeaseRequest { now, worker, flows: names, limit } = request;
    let ripe = ripe();
    let sql = format!(
        "WITH {MOMENT}, seen AS MATERIALIZED (SELECT d.transfer_id FROM due d \
           JOIN transfers t USING (transfer_id) WHERE {ripe} AND t.flow IN ({names}) \
           ORDER BY d.due_at NULLS FIRST LIMIT {COMPARED}), \
         mine AS (SELECT d.transfer_id, d.orphan OR (d.due_at IS NULL AND t.due_at IS NULL AND \
             d.leased_by IS NOT NULL AND NOT EXISTS (SELECT FROM workers w \
               WHERE w.worker = d.leased_by AND w.left_at IS NOT NULL)) AS orphan \
           FROM seen JOIN due d USING (transfer_id) JOIN transfers t USING (transfer_id) \
           WHERE {ripe} ORDER BY t.deaths, d.due_at NULLS FIRST, d.transfer_id LIMIT $3 \
           FOR UPDATE OF d SKIP LOCKED) \
         UPDATE due d SET leased_by = $2, due_at = NULL, put_at = NULL, orphan = false FROM mine \
         WHERE d.transfer_id = mine.transfer_id RETURNING d.transfer_id, mine.orphan"
    );
    let found = written(db, &sql, &[&now, &worker, &limit]).await?;
    found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Takes over batches whose worker is gone: each open transfer in them gets a row in `due`. Gives
/// back the number of batches.
async fn adopt(db: &Pooled, flows: &Flows, now: Option<i64>, own: i64) -> Result<i64, StoreError> {
    let sql = format!(
        "WITH {MOMENT}, dead AS (SELECT b.batch, b.hi, EXISTS (SELECT FROM workers w \
             WHERE w.worker = b.worker AND w.left_at IS NOT NULL) AS went FROM open_batches b \
           WHERE b.worker <> $2 AND NOT EXISTS (SELECT FROM workers w, moment m \
             WHERE w.worker = b.worker AND {LIVES}) \
           ORDER BY b.batch LIMIT {TAKEN} FOR UPDATE OF b SKIP LOCKED), \
         taken AS (UPDATE open_batches b SET worker = $2 FROM dead WHERE b.batch = dead.batch), \
         open AS (INSERT INTO due (transfer_id, due_at, put_at, orphan) \
           SELECT t.transfer_id, CASE WHEN dead.went THEN m.now END, \
             CASE WHEN dead.went THEN m.now END, NOT dead.went \
           FROM dead JOIN transfers t ON t.transfer_id BETWEEN dead.batch AND dead.hi, moment m \
           WHERE NOT ({}) ON CONFLICT DO NOTHING) \
         SELECT count(*) FROM dead",
        ended(flows)
    );
    match written(db, &sql, &[&now, &own]).await?.pop() {
        Some(row) => Ok(row.try_get(0)?),
        None => Ok(0),
    }
}

/// Forgets batches above a number whose transfers have all ended; gives back the last one it looked
/// at, or 0 where there are no more.
async fn sweep(db: &Pooled, flows: &Flows, above: i64) -> Result<i64, StoreError> {
    let (batches, transfers) = SWEPT;
    let sql = format!(
        "WITH page AS MATERIALIZED (SELECT batch, hi FROM open_batches \
           WHERE batch > $1 ORDER BY batch LIMIT {batches}), \
         part AS MATERIALIZED (SELECT * FROM (SELECT batch, hi, \
             sum(hi - batch + 1) OVER (ORDER BY batch) AS upto FROM page) p \
           WHERE upto - (hi - batch + 1) < {transfers}), \
         done AS (SELECT b.batch FROM part s JOIN open_batches b USING (batch) \
           WHERE NOT EXISTS (SELECT FROM transfers t \
             WHERE t.transfer_id BETWEEN s.batch AND s.hi AND NOT ({})) \
           FOR UPDATE OF b SKIP LOCKED), \
         gone AS (DELETE FROM open_batches b USING done WHERE b.batch = done.batch) \
         SELECT CASE WHEN (SELECT count(*) FROM page) < {batches} \
             AND (SELECT count(*) FROM part) = (SELECT count(*) FROM page) THEN 0 \
           ELSE coalesce((SELECT max(batch) FROM part), 0) END",
        ended(flows)
    );
    match written(db, &sql, &[&above]).await?.pop() {
        Some(row) => Ok(row.try_get(0)?),
        None => Ok(0),
    }
}

/// The transfers as they stand now.
async fn leased(db: &Pooled, flows: &Flows, numbers: &[i64]) -> Result<Vec<Record>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM transfers t WHERE t.transfer_id = ANY($1)");
    records(flows, &rows(db, &sql, &[&numbers]).await?)
}

impl ReadPool {
    pub(crate) async fn due(&self, query: DueQuery) -> Result<Vec<Due>, Cause> {
        let db = self.lease().await?;
        let now = self.manual_now();
        let own = columns::worker(self.worker.0);
        let (names, limit) = (flow_names(&self.flows, &query.flows), query.limit);
        self.clean(&db).await?;
        for _ in 0..TAKES {
            if adopt(&db, &self.flows, now, own).await? < TAKEN {
                break;
            }
        }
        if self.is_unconfirmed() {
            // the engine does not take one twice that it still has
            let sql = "UPDATE due SET due_at = 0 WHERE leased_by = $1 AND due_at IS NULL";
            written(&db, sql, &[&own]).await?;
            attempts::retake(&db, own).await?;
        }
        self.scan(|scan| scan.unconfirmed = true);
        let most = columns::most(limit);
        let request = LeaseRequest { now, worker: own, flows: &names, limit: most };
        let attempts = attempts::lease(&db, &self.flows, request).await?;
        let mut due: Vec<Due> = attempts.into_iter().map(Due::Attempt).collect();
        let room = columns::most(limit.saturating_sub(due.len()));
        let numbers = lease(&db, LeaseRequest { limit: room, ..request }).await?;
        due.extend(self.handed(&db, &numbers).await?);
        if !due.is_empty() {
            // a call is made for what is claimed here
            self.confirm_reads().await?;
        }
        self.scan(|scan| scan.unconfirmed = false);
        Ok(due)
    }

    /// The leased transfers, the fewest deaths first; rows of ended ones are deleted instead.
    async fn handed(
        &self,
        db: &Pooled,
        leases: &BTreeMap<i64, bool>,
    ) -> Result<Vec<Due>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let numbers: Vec<i64> = leases.keys().copied().collect();
        let mut found = leased(db, &self.flows, &numbers).await?;
        found.sort_by_key(|record| (record.head.deaths, record.serial));
        let number = |record: &Record| record.serial.map_or(0, |serial| int(serial.0));
        let (over, open): (Vec<Record>, Vec<Record>) = found
            .into_iter()
            .partition(|record| self.flows.table(record.flow).ends(record.head.state));
        if !over.is_empty() {
            let numbers: Vec<i64> = over.iter().map(number).collect();
            written(db, "DELETE FROM due WHERE transfer_id = ANY($1)", &[&numbers]).await?;
        }
        let due = |record: Record| match leases.get(&number(&record)) {
            Some(true) => Due::Orphan(record),
            Some(false) | None => Due::Transfer(record),
        };
        Ok(open.into_iter().map(due).collect())
    }

    /// Forgets what has ended, a bounded part of it, once in a while; page by page until the end.
    async fn clean(&self, db: &Pooled) -> Result<(), StoreError> {
        let (calls, above) = self.scan(|scan| {
            scan.calls = scan.calls.wrapping_add(1);
            (scan.calls, scan.swept)
        });
        if calls % SWEEPS == 1 || above > 0 {
            let swept = sweep(db, &self.flows, above).await?;
            self.scan(|scan| scan.swept = swept);
        }
        Ok(())
    }

    fn is_unconfirmed(&self) -> bool {
        self.scan(|scan| scan.unconfirmed)
    }

    fn scan<T>(&self, look: impl FnOnce(&mut ScanState) -> T) -> T {
        look(&mut self.scan.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
