//! Reads operators' cases, pauses, actions and approvals for the journal's port.

use crate::sqlite::columns::{self, int, scope, uint};
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis};
use kernel::operators::{Accepted, Approval, Halt, OpenCase, PastAction, Paused};
use kernel::ports::journal::PENDING_APPROVALS;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

pub(crate) fn words(row: &Row<'_>, column: usize) -> rusqlite::Result<Arc<str>> {
    Ok(row.get_ref(column)?.as_str()?.into())
}

/// Every case that is open, the oldest first.
pub(crate) fn open_cases(db: &Connection) -> rusqlite::Result<Vec<OpenCase>> {
    let sql = "SELECT case_id, kind, severity, subject, facts, opened_at FROM cases \
               INDEXED BY cases_open WHERE closed_at IS NULL ORDER BY case_id";
    db.prepare_cached(sql)?.query_map([], open_case)?.collect()
}

/// A case as it was opened, of its first six columns.
pub(crate) fn open_case(row: &Row<'_>) -> rusqlite::Result<OpenCase> {
    Ok(OpenCase {
        number: uint(row.get(0)?),
        kind: words(row, 1)?,
        severity: columns::read_severity(2, row.get_ref(2)?.as_str()?)?,
        subject: columns::read_about(3, row.get_ref(3)?.as_str()?)?,
        facts: words(row, 4)?,
        opened_at: uint(row.get(5)?),
    })
}

/// The pauses in force, except those of flows that this build does not know.
pub(crate) fn paused(db: &Connection, flows: &Flows) -> rusqlite::Result<Vec<Paused>> {
    let sql = "SELECT pause_id, scope, subject, reason, caller, at FROM pauses ORDER BY pause_id";
    let read = |row: &Row<'_>| {
        let scope = scope(flows, row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        let Some(scope) = columns::at(2, scope)? else { return Ok(None) };
        Ok(Some(Paused {
            number: uint(row.get(0)?),
            scope,
            reason: words(row, 3)?,
            caller: words(row, 4)?,
            at: uint(row.get(5)?),
        }))
    };
    let mut ask = db.prepare_cached(sql)?;
    ask.query_map([], read)?.filter_map(Result::transpose).collect()
}

/// Breaks of conservation that were accepted.
pub(crate) fn accepted(db: &Connection) -> rusqlite::Result<Vec<Accepted>> {
    let sql = "SELECT key, amount FROM accepted_breaks ORDER BY at, key, amount";
    let read = |row: &Row<'_>| {
        let amount = columns::read_signed(1, row.get_ref(1)?.as_str()?)?;
        Ok(Accepted { key: words(row, 0)?, amount })
    };
    db.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// The columns that [`action`] reads.
pub(crate) const ACTION_COLUMNS: &str =
    "action_id, at, caller, idempotency_key, action, subject, value, reason, result";

pub(crate) fn action(row: &Row<'_>) -> rusqlite::Result<PastAction> {
    Ok(PastAction {
        number: uint(row.get(0)?),
        at: uint(row.get(1)?),
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
pub(crate) fn past_action(
    db: &Connection,
    caller: &str,
    key: &str,
) -> rusqlite::Result<Option<PastAction>> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions WHERE caller = ? AND idempotency_key = ?"
    );
    db.prepare_cached(&sql)?.query_row([caller, key], action).optional()
}

/// Every action of a kind about a subject, newest first.
pub(crate) fn actions_on(
    db: &Connection,
    kind: &str,
    subject: &str,
) -> rusqlite::Result<Vec<PastAction>> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions \
         WHERE subject = ? AND action = ? ORDER BY action_id DESC"
    );
    db.prepare_cached(&sql)?.query_map([subject, kind], action)?.collect()
}

/// The actions that ended a HALT, oldest first.
pub(crate) fn resumes(db: &Connection) -> rusqlite::Result<Vec<PastAction>> {
    let sql = format!(
        "SELECT {ACTION_COLUMNS} FROM operator_actions \
         WHERE result LIKE '%\"RESUMED\"%' ORDER BY action_id"
    );
    db.prepare_cached(&sql)?.query_map([], action)?.collect()
}

/// Every approval as [`proposal`] reads it, with its status at the time `?1`. One whose end is more than
/// [`kernel::operators::LONGEST_APPROVAL`] away has lapsed too.
pub(crate) const APPROVAL: &str = "SELECT * FROM (SELECT approval_id, action, subject, \
    value, reason, requested_by, requested_at, CASE WHEN status = 'PENDING' \
    AND expires_at - ?1 NOT BETWEEN 1 AND 31536000000 THEN 'LAPSED' ELSE status END AS status, \
    decided_by, decided_at, expires_at FROM approvals)";

pub(crate) fn proposal(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let who: Option<Arc<str>> = row.get(8)?;
    let when: Option<i64> = row.get(9)?;
    Ok(Approval {
        id: columns::read_id(0, row.get_ref(0)?.as_str()?)?,
        kind: words(row, 1)?,
        subject: words(row, 2)?,
        value: words(row, 3)?,
        reason: words(row, 4)?,
        caller: words(row, 5)?,
        at: uint(row.get(6)?),
        stand: columns::read_stand(7, row.get_ref(7)?.as_str()?)?,
        decided: who.zip(when.map(uint)),
        expires_at: uint(row.get(10)?),
    })
}

/// Reads a halt from (halt, reason, at, lifted_at).
pub(crate) fn halt(row: &Row<'_>) -> rusqlite::Result<Halt> {
    Ok(Halt {
        number: uint(row.get(0)?),
        reason: words(row, 1)?,
        at: uint(row.get(2)?),
        resumed_at: row.get::<_, Option<i64>>(3)?.map(uint),
    })
}

/// An approval with its present status.
pub(crate) fn approval(db: &Connection, id: Id, now: Millis) -> rusqlite::Result<Option<Approval>> {
    let sql = format!("{APPROVAL} WHERE approval_id = ?2");
    let row = params![int(now), id.to_string()];
    db.prepare_cached(&sql)?.query_row(row, proposal).optional()
}

/// The approvals that wait, oldest first.
pub(crate) fn pending_approvals(db: &Connection, now: Millis) -> rusqlite::Result<Vec<Approval>> {
    let sql = format!("{APPROVAL} WHERE status = 'PENDING' ORDER BY approval_id LIMIT ?2");
    let row = params![int(now), columns::most(PENDING_APPROVALS)];
    db.prepare_cached(&sql)?.query_map(row, proposal)?.collect()
}
