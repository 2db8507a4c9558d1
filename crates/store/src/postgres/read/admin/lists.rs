//! Reads the lists of the operators' routes: cases, approvals, actions, halts, movements, legs and counts.

use crate::postgres::columns::{self, uint};
use crate::postgres::error::StoreError;
use crate::postgres::read::operators::{self, maybe, words};
use crate::postgres::read::read_pool::{one, rows};
use crate::postgres::read::sums::COLUMNS;
use crate::postgres::read::transfers;
use crate::postgres::rows::operation;
use crate::postgres::session::connect::Pooled;
use crate::postgres::single::{BOOKED, booked_movement};
use kernel::flow::table::Flows;
use kernel::ids::{Id, LedgerId};
use kernel::operation::Operation;
use kernel::operators::{Approval, ApprovalStatus, Halt, Note, PastAction, Subject};
use kernel::ports::admin_queries::{CaseRow, MovementSearch, NoteRow, Stat};
use kernel::ports::ledger::BookedMovement;
use tokio_postgres::Row;

/// The operations that each ledger stored for a transfer.
pub(crate) async fn legs(db: &Pooled, id: Id) -> Result<Vec<(LedgerId, Operation)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM operations WHERE req_id = $1 ORDER BY ledger, seq");
    rows(db, &sql, &[&columns::uuid(id)]).await?.iter().map(operation).collect()
}

/// The columns of a case as `c`, in the order of [`operators::open_case`] and then of [`case_row`].
pub(crate) const CASE: &str = "c.case_id, c.kind, c.severity, c.subject, c.facts, c.opened_at, \
    c.closed_by, c.closed_at, (SELECT n.text FROM case_notes n WHERE n.case_id = c.case_id \
    AND n.kind = 'ASSIGNED' ORDER BY n.note_id DESC LIMIT 1)";

pub(crate) fn case_row(row: &Row) -> Result<CaseRow, StoreError> {
    let fact = maybe(row, 6)?;
    let when: Option<i64> = row.try_get(7)?;
    let opened = operators::open_case(row)?;
    Ok(CaseRow { opened, closed: fact.zip(when.map(uint)), assigned: maybe(row, 8)? })
}

pub(crate) async fn cases(
    db: &Pooled,
    open: Option<bool>,
    subject: Option<Subject>,
    before: i64,
    limit: i64,
) -> Result<Vec<CaseRow>, StoreError> {
    let stands = match open {
        Some(true) => "c.closed_at IS NULL",
        Some(false) => "c.closed_at IS NOT NULL",
        None => "true",
    };
    // said in the text, so that the index of subjects serves it
    let whose = if subject.is_some() { "c.subject = $2" } else { "$2::text IS NULL" };
    let sql = format!(
        "SELECT {CASE} FROM cases c WHERE c.case_id < $1 AND {whose} AND {stands} \
         ORDER BY c.case_id DESC LIMIT $3"
    );
    let subject = subject.map(|subject| subject.to_string());
    rows(db, &sql, &[&before, &subject, &limit]).await?.iter().map(case_row).collect()
}

/// A case with its notes, oldest first.
pub(crate) async fn case(
    db: &Pooled,
    number: i64,
) -> Result<Option<(CaseRow, Vec<NoteRow>)>, StoreError> {
    let sql = format!("SELECT {CASE} FROM cases c WHERE c.case_id = $1");
    let Some(row) = one(db, &sql, &[&number]).await? else { return Ok(None) };
    let sql = "SELECT at, caller, kind, text FROM case_notes WHERE case_id = $1 ORDER BY note_id";
    let read = |row: &Row| {
        let text = words(row, 3)?;
        let note = match row.try_get(2)? {
            "ASSIGNED" => Note::Assigned(text),
            "COMMENT" => Note::Comment(text),
            _ => return Err(StoreError::Damaged("not a note")),
        };
        Ok(NoteRow { at: uint(row.try_get(0)?), caller: words(row, 1)?, note })
    };
    let notes = rows(db, sql, &[&number]).await?.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Some((case_row(&row)?, notes)))
}

pub(crate) async fn approvals(
    db: &Pooled,
    stand: Option<ApprovalStatus>,
    before: Option<Id>,
    limit: i64,
    now: Option<i64>,
) -> Result<Vec<Approval>, StoreError> {
    let sql = format!(
        "{} WHERE ($2::uuid IS NULL OR approval_id < $2) \
         AND ($3::text IS NULL OR status = $3) ORDER BY approval_id DESC LIMIT $4",
        operators::APPROVAL
    );
    let (before, stand) = (before.map(columns::uuid), stand.map(ApprovalStatus::name));
    rows(db, &sql, &[&now, &before, &stand, &limit])
        .await?
        .iter()
        .map(operators::proposal)
        .collect()
}

pub(crate) async fn halts(db: &Pooled, before: i64, limit: i64) -> Result<Vec<Halt>, StoreError> {
    let sql = "SELECT halt, reason, at, lifted_at FROM halts WHERE halt < $1 \
               ORDER BY halt DESC LIMIT $2";
    rows(db, sql, &[&before, &limit]).await?.iter().map(operators::halt).collect()
}

pub(crate) async fn actions(
    db: &Pooled,
    subject: Option<&str>,
    before: i64,
    limit: i64,
) -> Result<Vec<PastAction>, StoreError> {
    let whose = if subject.is_some() { "subject = $2" } else { "$2::text IS NULL" };
    let sql = format!(
        "SELECT {} FROM operator_actions WHERE action_id < $1 AND {whose} \
         ORDER BY action_id DESC LIMIT $3",
        operators::ACTION_COLUMNS
    );
    rows(db, &sql, &[&before, &subject, &limit]).await?.iter().map(operators::action).collect()
}

/// External movements, newest first.
pub(crate) async fn movements(
    db: &Pooled,
    search: &MovementSearch,
) -> Result<Vec<BookedMovement>, StoreError> {
    let whose = match search.reference {
        // by the index of both directions
        Some(_) => "direction IN ('IN', 'OUT') AND reference = $3",
        None => "$3::text IS NULL",
    };
    let sql = format!(
        "{BOOKED} WHERE operation_id < $1 AND ($2::bigint IS NULL OR user_id = $2) \
         AND {whose} ORDER BY operation_id DESC LIMIT $4"
    );
    let user = search.user.map(|user| columns::int(user.0));
    let (before, limit) = (super::below(search.before), super::at_most(search.limit));
    rows(db, &sql, &[&before, &user, &search.reference.as_deref(), &limit])
        .await?
        .iter()
        .map(booked_movement)
        .collect()
}

/// How many transfers stand where: open ones are counted, ended ones were when they ended; all of
/// one instant.
pub(crate) async fn stats(db: &Pooled, flows: &Flows) -> Result<Vec<Stat>, StoreError> {
    let sql = format!(
        "({}) UNION ALL SELECT flow, state, sum(transfers)::bigint, NULL FROM ended \
         GROUP BY flow, state",
        transfers::counting(flows)
    );
    let mut stats = Vec::new();
    for row in rows(db, &sql, &[]).await? {
        let (flow, state) = transfers::flow_and_state(flows, &row)?;
        let oldest = row.try_get::<_, Option<i64>>(3)?.map(uint);
        stats.push(Stat { flow, state, transfers: uint(row.try_get(2)?), oldest });
    }
    stats.sort_by_key(|stat| (stat.flow, stat.state));
    Ok(stats)
}
