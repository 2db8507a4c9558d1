//! Leases open attempts to the scanner: those that are due, and those whose worker is gone. As in the
//! table `due`, a leased attempt without a time is one that its worker carries right now.

use super::read::all;
use crate::postgres::error::StoreError;
use crate::postgres::read::due::{LATE, LIVES, LeaseRequest, MOMENT, SET_BACK};
use crate::postgres::read::read_pool::written;
use crate::postgres::session::connect::Pooled;
use kernel::attempt::Attempt;
use kernel::flow::table::Flows;
use uuid::Uuid;

/// Leases to the worker the attempts that it may look after.
pub(crate) async fn lease(
    db: &Pooled,
    flows: &Flows,
    request: LeaseRequest<'_>,
) -> Result<Vec<Attempt>, StoreError> {
    let LeaseRequest { now, worker, flows: names, limit } = request;
    let sql = format!(
        "WITH {MOMENT}, mine AS (SELECT a.attempt_id FROM attempts a, moment m \
           WHERE a.closed_at IS NULL AND a.flow IN ({names}) \
           AND (a.due_at IS NULL OR a.due_at <= m.now OR a.put_at > m.now + {SET_BACK}) AND CASE \
             WHEN a.leased_by = $2 THEN a.due_at <= m.now - {LATE} OR a.put_at > m.now + {SET_BACK} \
             ELSE NOT EXISTS (SELECT FROM workers w WHERE w.worker = a.leased_by AND {LIVES}) END \
           ORDER BY a.due_at NULLS FIRST, a.serial LIMIT $3 FOR UPDATE OF a SKIP LOCKED) \
         UPDATE attempts a SET leased_by = $2, due_at = NULL, put_at = NULL FROM mine \
         WHERE a.attempt_id = mine.attempt_id RETURNING a.attempt_id"
    );
    let found = written(db, &sql, &[&now, &worker, &limit]).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> =
        found.iter().map(|row| row.try_get(0)).collect::<Result<_, tokio_postgres::Error>>()?;
    let rule = "a.attempt_id = ANY($1) AND a.closed_at IS NULL ORDER BY a.serial";
    all(db, flows, rule, &[&ids]).await
}

/// Makes attempts due again whose lease never arrived at the worker.
pub(crate) async fn retake(db: &Pooled, own: i64) -> Result<(), StoreError> {
    let sql = "UPDATE attempts SET due_at = 0 \
               WHERE leased_by = $1 AND due_at IS NULL AND closed_at IS NULL";
    written(db, sql, &[&own]).await?;
    Ok(())
}
