//! Writes the attempts of a batch: reads them under their locks, keeps what one unit decides on each,
//! and writes them in arrays.

use super::read::purpose;
use crate::postgres::columns::{count, int, small};
use crate::postgres::error::StoreError;
use crate::postgres::write::connection::WriteConnection;
use crate::postgres::write::read_rows::{LockMode, Query, locking};
use crate::postgres::write::row_set::RowSet;
use crate::postgres::write::statement::{Statements, params};
use crate::postgres::write::workspace::{BatchWorkspace, Undecided};
use crate::postgres::write::write_rows::{RowTimes, column};
use kernel::attempt::{Attempt, AttemptId, Form};
use kernel::flow::table::Flows;
use kernel::ids::Millis;
use kernel::rules::{AttemptChange, AttemptHead, LockKey, StoredAttempt};
use kernel::unit::Hold;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// An attempt in a write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptRow {
    Absent,
    /// It is ours for this write.
    Owned(StoredAttempt),
    /// Another transaction holds it.
    Locked,
}

/// The change that one unit makes to one attempt, kept until the write.
#[derive(Debug)]
pub(crate) struct ChangedAttempt {
    id: AttemptId,
    stored: Option<StoredAttempt>,
    opened: Option<(Attempt, Vec<i64>)>,
    forms: Vec<Form>,
    head: Option<AttemptHead>,
    version: u32,
}

/// An attempt that a unit opens: its change, itself with the numbers of its members, and its head.
type OpenedRow<'a> = (&'a ChangedAttempt, &'a (Attempt, Vec<i64>), AttemptHead);

impl ChangedAttempt {
    /// When it is due, where the write says so.
    pub(crate) fn due_at(&mut self) -> Option<&mut Millis> {
        self.head.as_mut()?.due_at.as_mut()
    }

    pub(crate) fn of(change: AttemptChange<'_>) -> Self {
        let AttemptChange { id, stored, opened, members, forms, head, version } = change;
        let opened = opened.map(|attempt| (attempt.clone(), members));
        let forms = forms.into_iter().cloned().collect();
        Self { id, stored, opened, forms, head, version }
    }
}

const READ: &str = "SELECT a.attempt_id, a.version, a.closed_at IS NOT NULL, \
    (SELECT count(*) FROM attempt_forms f WHERE f.attempt_id = a.attempt_id)::int \
    FROM attempts a WHERE a.attempt_id = ANY($1) ORDER BY a.attempt_id FOR NO KEY UPDATE OF a";

const TAKEN: &str = "SELECT n.place FROM unnest($1::smallint[], $2::text[], $3::text[]) \
    WITH ORDINALITY AS n(chain, lane, lock, place) JOIN attempts a USING (chain, lane, lock)";

const OPENED: &str = include_str!("opened.sql");
const MEMBERS: &str = "INSERT INTO attempt_members (transfer_id, attempt_id, n) \
    SELECT unnest($1::bigint[]), unnest($2::uuid[]), unnest($3::int[])";
const FORMS: &str = include_str!("forms.sql");
const MOVED: &str = include_str!("moved.sql");
/// The version alone: a form was added.
const RAISED: &str = "UPDATE attempts a SET version = n.version \
    FROM (SELECT unnest($1::uuid[]) AS attempt_id, unnest($2::int[]) AS was, \
      unnest($3::int[]) AS version) n \
    WHERE a.attempt_id = n.attempt_id AND a.version = n.was AND a.closed_at IS NULL RETURNING 1";

fn uuids<'i>(ids: impl Iterator<Item = &'i AttemptId>) -> Vec<Uuid> {
    ids.map(|id| Uuid::from_u128(id.0)).collect()
}

/// The query for the attempts that items name; it takes their locks in one order.
pub(crate) fn query(row_set: &RowSet, wait: LockMode) -> Option<Query> {
    let ids = uuids(row_set.attempts.iter());
    (!ids.is_empty()).then(|| -> Query { (locking(READ, wait), params![ids]) })
}

/// The query for the chains' locks that were ever taken.
pub(crate) fn lock_query(row_set: &RowSet) -> Option<Query> {
    let locks = &row_set.locks;
    (!locks.is_empty()).then(|| -> Query {
        let chain = column(locks, |(chain, ..)| i16::from(chain.0));
        let lane = column(locks, |(_, lane, _)| lane.to_string());
        (TAKEN.to_owned(), params![chain, lane, column(locks, |(.., lock)| lock.0.to_string())])
    })
}

pub(crate) fn take(workspace: &mut BatchWorkspace, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        let id: Uuid = row.try_get(0)?;
        let (version, forms) = (count(row.try_get(1)?), count(row.try_get(3)?));
        let stored = StoredAttempt { version, forms, closed: row.try_get(2)? };
        workspace.attempts.insert(AttemptId(id.as_u128()), AttemptRow::Owned(stored));
    }
    Ok(())
}

pub(crate) fn take_locks(
    workspace: &mut BatchWorkspace,
    row_set: &RowSet,
    rows: &[Row],
) -> Result<(), StoreError> {
    let places: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    for (place, lock) in (1..).zip(&row_set.locks) {
        workspace.locks.insert(lock.clone(), places.contains(&place));
    }
    Ok(())
}

impl WriteConnection {
    /// What was not found under its lock: it is not there, or another transaction holds it.
    pub(crate) async fn missing_attempts(
        &self,
        workspace: &mut BatchWorkspace,
        row_set: &RowSet,
    ) -> Result<(), StoreError> {
        let found = &workspace.attempts;
        let ids = uuids(row_set.attempts.iter().filter(|id| !found.contains_key(*id)));
        if ids.is_empty() {
            return Ok(());
        }
        let sql = "SELECT attempt_id FROM attempts WHERE attempt_id = ANY($1)";
        for row in self.client.query(&self.prepared(sql).await?, &[&ids]).await? {
            let id: Uuid = row.try_get(0)?;
            workspace.attempts.insert(AttemptId(id.as_u128()), AttemptRow::Locked);
        }
        for id in ids {
            workspace.attempts.entry(AttemptId(id.as_u128())).or_insert(AttemptRow::Absent);
        }
        Ok(())
    }

    /// Waits until no other transaction holds any of these, at most for `limit`.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still does.
    pub(crate) async fn wait_for_attempts(
        &self,
        ids: &BTreeSet<AttemptId>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(READ, &params![uuids(ids.iter())], limit).await
    }
}

impl BatchWorkspace {
    /// The stored state of an attempt that no item before has changed.
    pub(crate) fn stored_attempt(&self, id: AttemptId) -> Result<Option<StoredAttempt>, Undecided> {
        if self.changes.attempts.iter().any(|change| change.id == id) {
            return Err(Undecided::Again);
        }
        match self.attempts.get(&id) {
            Some(AttemptRow::Owned(stored)) => Ok(Some(*stored)),
            Some(AttemptRow::Absent) => Ok(None),
            Some(AttemptRow::Locked) => Err(Undecided::Locked),
            None => Err(StoreError::Damaged("an attempt that was not asked for").into()),
        }
    }

    /// True where an attempt was ever made under the lock, none of them by an item before.
    pub(crate) fn is_lock_taken(&self, lock: &LockKey) -> Result<bool, Undecided> {
        let (chain, lane, of) = lock;
        let own = |(made, _): &(Attempt, Vec<i64>)| {
            (made.chain, &made.lane, &made.lock) == (*chain, lane, of)
        };
        if self.changes.attempts.iter().filter_map(|change| change.opened.as_ref()).any(own) {
            return Err(Undecided::Again);
        }
        let taken = self.locks.get(lock).copied();
        taken.ok_or_else(|| StoreError::Damaged("a lock that was not asked for").into())
    }
}

impl Statements {
    /// Attempts that are made, that move, and their new forms. `worker` looks after them.
    pub(crate) fn attempts(
        &mut self,
        flows: &Flows,
        rows: &mut [ChangedAttempt],
        times: RowTimes,
        worker: i64,
    ) {
        // transactions that wait for each other's rows wait in one order
        rows.sort_unstable_by_key(|row| row.id);
        let made: Vec<_> =
            rows.iter().filter_map(|row| Some((row, row.opened.as_ref()?, row.head?))).collect();
        let moved: Vec<_> = rows
            .iter()
            .filter(|row| row.opened.is_none())
            .filter_map(|row| Some((row, row.head?, row.stored?)))
            .collect();
        let raised: Vec<_> = rows
            .iter()
            .filter(|row| row.head.is_none())
            .filter_map(|row| Some((row, row.stored?)))
            .collect();
        if !made.is_empty() {
            self.opened_attempts(flows, &made, times, worker);
        }
        if !moved.is_empty() {
            self.exactly(
                moved.len(),
                MOVED,
                params![
                    column(&moved, |(row, ..)| Uuid::from_u128(row.id.0)),
                    column(&moved, |(.., stored)| small(stored.version)),
                    column(&moved, |(row, ..)| small(row.version)),
                    column(&moved, |(_, head, _)| head.sent),
                    column(&moved, |(_, head, _)| head.due_at.map(int)),
                    column(&moved, |(_, head, _)| holder(*head, worker)),
                    column(&moved, |(_, head, _)| head.closed.map(int)),
                    times.put,
                ],
            );
        }
        if !raised.is_empty() {
            let id = column(&raised, |(row, _)| Uuid::from_u128(row.id.0));
            let was = column(&raised, |(_, stored)| small(stored.version));
            let version = column(&raised, |(row, _)| small(row.version));
            self.exactly(raised.len(), RAISED, params![id, was, version]);
        }
        self.forms(rows);
    }

    fn opened_attempts(
        &mut self,
        flows: &Flows,
        rows: &[OpenedRow<'_>],
        times: RowTimes,
        worker: i64,
    ) {
        let table = |attempt: &Attempt| flows.table(attempt.flow);
        self.exactly(
            rows.len(),
            OPENED,
            params![
                times.at,
                column(rows, |(row, ..)| Uuid::from_u128(row.id.0)),
                column(rows, |(row, ..)| small(row.version)),
                column(rows, |(_, (attempt, _), _)| i16::from(attempt.chain.0)),
                column(rows, |(_, (attempt, _), _)| table(attempt).flow),
                column(rows, |(_, (attempt, _), _)| table(attempt).state(attempt.state).code),
                column(rows, |(_, (attempt, _), _)| attempt.lane.to_string()),
                column(rows, |(_, (attempt, _), _)| attempt.lock.0.to_string()),
                column(rows, |(.., head)| head.sent),
                column(rows, |(.., head)| head.due_at.map(int)),
                column(rows, |(.., head)| holder(*head, worker)),
                column(rows, |(.., head)| head.closed.map(int)),
                times.put,
            ],
        );
        let members: Vec<(i64, Uuid, i32)> = rows
            .iter()
            .flat_map(|(row, (_, members), _)| {
                let id = Uuid::from_u128(row.id.0);
                members.iter().zip(0..).map(move |(member, n)| (*member, id, n))
            })
            .collect();
        if !members.is_empty() {
            let transfer = column(&members, |row| row.0);
            let attempt = column(&members, |row| row.1);
            self.add(MEMBERS, params![transfer, attempt, column(&members, |row| row.2)]);
        }
    }

    fn forms(&mut self, rows: &[ChangedAttempt]) {
        let forms: Vec<(&ChangedAttempt, u32, &Form)> = rows
            .iter()
            .flat_map(|row| {
                let before = row.stored.map_or(0, |stored| stored.forms);
                row.forms.iter().zip(before..).map(move |(form, n)| (row, n, form))
            })
            .collect();
        if forms.is_empty() {
            return;
        }
        self.add(
            FORMS,
            params![
                column(&forms, |(row, ..)| Uuid::from_u128(row.id.0)),
                column(&forms, |(_, n, _)| small(*n)),
                column(&forms, |(.., form)| purpose(form.purpose)),
                column(&forms, |(.., form)| form.name.to_vec()),
                column(&forms, |(.., form)| form.bytes.to_vec()),
                column(&forms, |(.., form)| form.repeatable),
                column(&forms, |(.., form)| form.expires.map(int)),
                column(&forms, |(.., form)| form.anchor.map(int)),
                column(&forms, |(.., form)| form.reference.as_deref().map(str::to_owned)),
            ],
        );
    }
}

/// The worker that looks after an attempt, as its column says.
fn holder(head: AttemptHead, worker: i64) -> Option<i64> {
    (head.hold == Hold::Mine).then_some(worker)
}
