//! Reads the lists of the operators' routes: cases, approvals, actions, halts, movements, legs and counts.

use crate::sqlite::columns::{self, uint};
use crate::sqlite::funding::operations;
use crate::sqlite::funding::{BOOKED, booked_movement};
use crate::sqlite::read::{operators, transfers};
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operation::Operation;
use kernel::operators::{Approval, ApprovalStatus, Halt, Note, PastAction, Subject};
use kernel::ports::admin_queries::{CaseRow, MovementSearch, NoteRow, Stat};
use kernel::ports::ledger::BookedMovement;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

/// The operations that each ledger stored for a transfer.
pub(crate) fn legs(db: &Connection, id: Id) -> rusqlite::Result<Vec<(LedgerId, Operation)>> {
    let mut found = operations::of(db, id)?;
    found.sort_by_key(|(ledger, operation)| (*ledger, operation.seq));
    Ok(found)
}

/// The columns of a case as `c`, in the order of [`operators::open_case`] and then of [`case_row`].
pub(crate) const CASE: &str = "c.case_id, c.kind, c.severity, c.subject, c.facts, c.opened_at, \
    c.closed_by, c.closed_at, (SELECT n.text FROM case_notes n WHERE n.case_id = c.case_id \
    AND n.kind = 'ASSIGNED' ORDER BY n.note_id DESC LIMIT 1)";

pub(crate) fn case_row(row: &Row<'_>) -> rusqlite::Result<CaseRow> {
    let fact: Option<Arc<str>> = row.get(6)?;
    let when: Option<i64> = row.get(7)?;
    let opened = operators::open_case(row)?;
    Ok(CaseRow { opened, closed: fact.zip(when.map(uint)), assigned: row.get(8)? })
}

pub(crate) fn cases(
    db: &Connection,
    open: Option<bool>,
    subject: Option<Subject>,
    before: i64,
    limit: i64,
) -> rusqlite::Result<Vec<CaseRow>> {
    let stands = match open {
        Some(true) => "c.closed_at IS NULL",
        Some(false) => "c.closed_at IS NOT NULL",
        None => "1",
    };
    // said in the text, so that the index of subjects serves it
    let whose = if subject.is_some() { "c.subject = ?2" } else { "?2 IS NULL" };
    let sql = format!(
        "SELECT {CASE} FROM cases c WHERE c.case_id < ?1 AND {whose} AND {stands} \
         ORDER BY c.case_id DESC LIMIT ?3"
    );
    let subject = subject.map(|subject| subject.to_string());
    db.prepare_cached(&sql)?.query_map(params![before, subject, limit], case_row)?.collect()
}

/// A case with its notes, oldest first.
pub(crate) fn case(
    db: &Connection,
    number: i64,
) -> rusqlite::Result<Option<(CaseRow, Vec<NoteRow>)>> {
    let sql = format!("SELECT {CASE} FROM cases c WHERE c.case_id = ?");
    let Some(case) = db.prepare_cached(&sql)?.query_row([number], case_row).optional()? else {
        return Ok(None);
    };
    let sql = "SELECT at, caller, kind, text FROM case_notes WHERE case_id = ? ORDER BY note_id";
    let read = |row: &Row<'_>| {
        let words = row.get(3)?;
        let note = match row.get_ref(2)?.as_str()? {
            "ASSIGNED" => Note::Assigned(words),
            "COMMENT" => Note::Comment(words),
            _ => return Err(columns::damaged(2, "not a note")),
        };
        Ok(NoteRow { at: uint(row.get(0)?), caller: row.get(1)?, note })
    };
    let notes = db.prepare_cached(sql)?.query_map([number], read)?.collect::<Result<_, _>>()?;
    Ok(Some((case, notes)))
}

pub(crate) fn approvals(
    db: &Connection,
    stand: Option<ApprovalStatus>,
    before: Option<Id>,
    limit: i64,
    now: Millis,
) -> rusqlite::Result<Vec<Approval>> {
    let sql = format!(
        "{} WHERE (?2 IS NULL OR approval_id < ?2) \
         AND (?3 IS NULL OR status = ?3) ORDER BY approval_id DESC LIMIT ?4",
        operators::APPROVAL
    );
    let before = before.map(|id| id.to_string());
    let row = params![columns::int(now), before, stand.map(ApprovalStatus::name), limit];
    db.prepare_cached(&sql)?.query_map(row, operators::proposal)?.collect()
}

pub(crate) fn halts(db: &Connection, before: i64, limit: i64) -> rusqlite::Result<Vec<Halt>> {
    let sql = "SELECT halt, reason, at, lifted_at FROM halts WHERE halt < ? \
               ORDER BY halt DESC LIMIT ?";
    db.prepare_cached(sql)?.query_map([before, limit], operators::halt)?.collect()
}

pub(crate) fn actions(
    db: &Connection,
    subject: Option<&str>,
    before: i64,
    limit: i64,
) -> rusqlite::Result<Vec<PastAction>> {
    let whose = if subject.is_some() { "subject = ?2" } else { "?2 IS NULL" };
    let sql = format!(
        "SELECT {} FROM operator_actions WHERE action_id < ?1 AND {whose} \
         ORDER BY action_id DESC LIMIT ?3",
        operators::ACTION_COLUMNS
    );
    db.prepare_cached(&sql)?
        .query_map(params![before, subject, limit], operators::action)?
        .collect()
}

/// External movements, newest first.
pub(crate) fn movements(
    db: &Connection,
    search: &MovementSearch,
) -> rusqlite::Result<Vec<BookedMovement>> {
    let whose = match search.reference {
        // by the index of both directions
        Some(_) => "direction IN ('IN', 'OUT') AND reference = ?3",
        None => "?3 IS NULL",
    };
    let sql = format!(
        "{BOOKED} WHERE operation_id < ?1 AND (?2 IS NULL OR user_id = ?2) \
         AND {whose} ORDER BY operation_id DESC LIMIT ?4"
    );
    let user = search.user.map(|user| columns::int(user.0));
    let (before, limit) = (super::below(search.before), super::at_most(search.limit));
    let row = params![before, user, search.reference.as_deref(), limit];
    db.prepare_cached(&sql)?.query_map(row, booked_movement)?.collect()
}

/// How many transfers stand where: open ones are counted, ended ones were when they ended.
pub(crate) fn stats(db: &Connection, flows: &Flows) -> rusqlite::Result<Vec<Stat>> {
    let open = transfers::counts(db, flows)?.into_iter().map(|count| Stat {
        flow: count.flow,
        state: count.state,
        transfers: count.transfers,
        oldest: Some(count.oldest),
    });
    let mut stats: Vec<Stat> = open.collect();
    let mut ask = db.prepare_cached("SELECT flow, state, transfers FROM ended")?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        let flow = flows.named(row.get_ref(0)?.as_str()?);
        let flow = flow.ok_or_else(|| columns::damaged(0, "not a flow of ours"))?;
        let state = flows.table(flow).coded(row.get(1)?);
        let state = state.ok_or_else(|| columns::damaged(1, "not a state of the flow"))?;
        stats.push(Stat { flow, state, transfers: uint(row.get(2)?), oldest: None });
    }
    stats.sort_by_key(|stat| (stat.flow, stat.state));
    Ok(stats)
}
