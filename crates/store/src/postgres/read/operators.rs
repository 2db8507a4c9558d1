//! Reads operators' cases, actions and approvals for the journal's port.

use super::read_pool::{one, rows};
use crate::postgres::columns::{self, uint};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::ids::Id;
use kernel::operators::{Approval, Halt, OpenCase, PastAction};
use kernel::ports::journal::PENDING_APPROVALS;
use std::sync::Arc;
use tokio_postgres::Row;

pub(crate) fn words(row: &Row, column: usize) -> Result<Arc<str>, StoreError> {
    Ok(row.try_get::<_, &str>(column)?.into())
}

/// Words, where there are any.
pub(crate) fn maybe(row: &Row, column: usize) -> Result<Option<Arc<str>>, StoreError> {
    Ok(row.try_get::<_, Option<&str>>(column)?.map(Into::into))
}

/// Every case that is open, the oldest first.
pub(crate) async fn open_cases(db: &Pooled) -> Result<Vec<OpenCase>, StoreError> {
    let sql = "SELECT case_id, kind, severity, subject, facts, opened_at FROM cases \
               WHERE closed_at IS NULL ORDER BY case_id";
    rows(db, sql, &[]).await?.iter().map(open_case).collect()
}

/// A case as it was opened, of its first six columns.
pub(crate) fn open_case(row: &Row) -> Result<OpenCase, StoreError> {
    Ok(OpenCase {
        number: uint(row.try_get(0)?),
        kind: words(row, 1)?,
        severity: columns::read_severity(row.try_get(2)?)?,
        subject: columns::read_about(row.try_get(3)?)?,
        facts: words(row, 4)?,
        opened_at: uint(row.try_get(5)?),
    })
}

/// The columns that [`action`] reads.
pub(crate) const ACTION_COLUMNS: &str =
    "action_id, at, caller, idempotency_key, action, subject, value, reason, result";

pub(crate) fn action(row: &Row) -> Result<PastAction, StoreError> {
    Ok(PastAction {
        number: uint(row.try_get(0)?),
        at: uint(row.try_get(1)?),
        caller: words(row, 2)?,
        key: words(row, 3)?,
        kind: words(row, 4)?,
        subject: words(row, 5)?,
        value: words(row, 6)?,
        reason: words(row, 7)?,
        result: words(row, 8)?,
    })
}

/// The past action of (principal, key).
pub(crate) async fn past_action(
    db: &Pooled,
    caller: &str,
    key: &str,
) -> Result<Option<PastAction>, StoreError> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions WHERE caller = $1 AND idempotency_key = $2"
    );
    one(db, &sql, &[&caller, &key]).await?.map(|row| action(&row)).transpose()
}

/// Every action of a kind about a subject, newest first.
pub(crate) async fn actions_on(
    db: &Pooled,
    kind: &str,
    subject: &str,
) -> Result<Vec<PastAction>, StoreError> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions \
         WHERE subject = $1 AND action = $2 ORDER BY action_id DESC"
    );
    rows(db, &sql, &[&subject, &kind]).await?.iter().map(action).collect()
}

/// The actions that ended a HALT, oldest first.
pub(crate) async fn resumes(db: &Pooled) -> Result<Vec<PastAction>, StoreError> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions \
         WHERE result LIKE '%\"RESUMED\"%' ORDER BY action_id"
    );
    rows(db, &sql, &[]).await?.iter().map(action).collect()
}

/// Every approval as [`proposal`] reads it, with its status at the time `$1`; NULL: now.
/// One whose end is more than [`kernel::operators::LONGEST_APPROVAL`] away has lapsed too.
pub(crate) const APPROVAL: &str = "SELECT * FROM (SELECT approval_id, action, subject, value, \
    reason, requested_by, requested_at, CASE WHEN status = 'PENDING' \
      AND expires_at - coalesce($1::bigint, portage_now()) NOT BETWEEN 1 AND 31536000000 \
      THEN 'LAPSED' ELSE status END AS status, \
    decided_by, decided_at, expires_at FROM approvals) a";

pub(crate) fn proposal(row: &Row) -> Result<Approval, StoreError> {
    let who = maybe(row, 8)?;
    let when: Option<i64> = row.try_get(9)?;
    Ok(Approval {
        id: columns::id(row.try_get(0)?),
        kind: words(row, 1)?,
        subject: words(row, 2)?,
        value: words(row, 3)?,
        reason: words(row, 4)?,
        caller: words(row, 5)?,
        at: uint(row.try_get(6)?),
        stand: columns::read_stand(row.try_get(7)?)?,
        decided: who.zip(when.map(uint)),
        expires_at: uint(row.try_get(10)?),
    })
}

/// An approval with its present status.
pub(crate) async fn approval(
    db: &Pooled,
    id: Id,
    now: Option<i64>,
) -> Result<Option<Approval>, StoreError> {
    let sql = format!("{APPROVAL} WHERE approval_id = $2");
    one(db, &sql, &[&now, &columns::uuid(id)]).await?.map(|row| proposal(&row)).transpose()
}

/// The approvals that wait, oldest first.
pub(crate) async fn pending_approvals(
    db: &Pooled,
    now: Option<i64>,
) -> Result<Vec<Approval>, StoreError> {
    let sql = format!("{APPROVAL} WHERE status = 'PENDING' ORDER BY approval_id LIMIT $2");
    let rows =
        db.query(&db.prepared(&sql).await?, &[&now, &columns::most(PENDING_APPROVALS)]).await?;
    rows.iter().map(proposal).collect()
}

/// Reads a halt from (halt, reason, at, lifted_at).
pub(crate) fn halt(row: &Row) -> Result<Halt, StoreError> {
    Ok(Halt {
        number: uint(row.try_get(0)?),
        reason: words(row, 1)?,
        at: uint(row.try_get(2)?),
        resumed_at: row.try_get::<_, Option<i64>>(3)?.map(uint),
    })
}
