//! What the journal is asked about people's doings.

use super::ask::{one, rows};
use super::fault::Fault;
use super::session::Pooled;
use super::text::{self, uint};
use kernel::ids::Id;
use kernel::people::{Acted, Approval, Halt, OpenCase};
use std::sync::Arc;
use tokio_postgres::Row;

pub(super) fn words(row: &Row, column: usize) -> Result<Arc<str>, Fault> {
    Ok(row.try_get::<_, &str>(column)?.into())
}

/// Words, where there are any.
pub(super) fn maybe(row: &Row, column: usize) -> Result<Option<Arc<str>>, Fault> {
    Ok(row.try_get::<_, Option<&str>>(column)?.map(Into::into))
}

/// Every case that is open, the oldest first.
pub(super) async fn open_cases(db: &Pooled) -> Result<Vec<OpenCase>, Fault> {
    let sql = "SELECT case_id, kind, severity, subject, facts, opened_at FROM cases \
               WHERE closed_at IS NULL ORDER BY case_id";
    let read = |row: &Row| {
        Ok(OpenCase {
            number: uint(row.try_get(0)?),
            kind: words(row, 1)?,
            severity: text::read_severity(row.try_get(2)?)?,
            about: text::read_about(row.try_get(3)?)?,
            facts: words(row, 4)?,
            opened_at: uint(row.try_get(5)?),
        })
    };
    rows(db, sql, &[]).await?.iter().map(read).collect()
}

/// The columns that [`action`] reads.
pub(super) const ACTED: &str =
    "action_id, at, caller, idempotency_key, action, subject, value, reason, result";

/// Reads an action.
pub(super) fn action(row: &Row) -> Result<Acted, Fault> {
    Ok(Acted {
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

/// What (principal, key) did.
pub(super) async fn acted(db: &Pooled, caller: &str, key: &str) -> Result<Option<Acted>, Fault> {
    let sql =
        format!("SELECT {ACTED} FROM operator_actions WHERE caller = $1 AND idempotency_key = $2");
    one(db, &sql, &[&caller, &key]).await?.map(|row| action(&row)).transpose()
}

/// Every approval as [`proposal`] reads it, how it stands at the time `$1`; NULL: now.
pub(super) const APPROVAL: &str = "SELECT * FROM (SELECT approval_id, action, subject, value, \
    reason, requested_by, requested_at, CASE WHEN status = 'PENDING' \
      AND expires_at <= coalesce($1::bigint, portage_now()) THEN 'LAPSED' ELSE status END AS status, \
    decided_by, decided_at, expires_at FROM approvals) a";

/// Reads an approval.
pub(super) fn proposal(row: &Row) -> Result<Approval, Fault> {
    let who = maybe(row, 8)?;
    let when: Option<i64> = row.try_get(9)?;
    Ok(Approval {
        id: text::id(row.try_get(0)?),
        kind: words(row, 1)?,
        subject: words(row, 2)?,
        value: words(row, 3)?,
        reason: words(row, 4)?,
        caller: words(row, 5)?,
        at: uint(row.try_get(6)?),
        stand: text::read_stand(row.try_get(7)?)?,
        decided: who.zip(when.map(uint)),
        expires_at: uint(row.try_get(10)?),
    })
}

/// An approval as it stands now.
pub(super) async fn approval(
    db: &Pooled,
    id: Id,
    now: Option<i64>,
) -> Result<Option<Approval>, Fault> {
    let sql = format!("{APPROVAL} WHERE approval_id = $2");
    one(db, &sql, &[&now, &text::uuid(id)]).await?.map(|row| proposal(&row)).transpose()
}

/// Reads a halt from (halt, reason, at, lifted_at).
pub(super) fn halt(row: &Row) -> Result<Halt, Fault> {
    Ok(Halt {
        number: uint(row.try_get(0)?),
        reason: words(row, 1)?,
        at: uint(row.try_get(2)?),
        lifted_at: row.try_get::<_, Option<i64>>(3)?.map(uint),
    })
}
