//! Writes attempts on chains as rows, and reads what the rules check of them.

use super::batch::WriteBatch;
use crate::sqlite::columns::{int, most};
use crate::sqlite::read::attempts::{name, purpose};
use kernel::attempt::{Attempt, AttemptId, Form};
use kernel::rules::{AttemptChange, AttemptHead, LockKey, StoredAttempt};
use kernel::unit::Hold;
use rusqlite::{OptionalExtension, params};

impl WriteBatch<'_> {
    /// The stored state of an attempt.
    pub(crate) fn stored_attempt(&self, id: AttemptId) -> rusqlite::Result<Option<StoredAttempt>> {
        let sql = "SELECT version, closed_at IS NOT NULL, \
                   (SELECT count(*) FROM attempt_forms f WHERE f.attempt_id = a.attempt_id) \
                   FROM attempts a WHERE attempt_id = ?";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoredAttempt { version: row.get(0)?, closed: row.get(1)?, forms: row.get(2)? })
        };
        self.db.prepare_cached(sql)?.query_row([name(id)], read).optional()
    }

    /// True where any attempt has ever used the lock.
    pub(crate) fn is_lock_taken(&self, (chain, lane, lock): &LockKey) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM attempts WHERE chain = ? AND lane = ? AND lock = ?";
        self.db.prepare_cached(sql)?.exists(params![chain.0, &**lane, &*lock.0])
    }

    /// Writes what a unit does to one attempt.
    pub(crate) fn change_attempt(&self, change: &AttemptChange<'_>) -> rusqlite::Result<()> {
        let head = change.head.filter(|_| change.is_changed());
        match (change.opened, head) {
            (Some(attempt), Some(head)) => self.insert_attempt(attempt, change, head)?,
            (None, Some(head)) => {
                let sql = "UPDATE attempts SET version = ?2, sent = ?3, due_at = ?4, \
                           leased_by = ?5, closed_at = ?6 WHERE attempt_id = ?1";
                let row = params![
                    name(change.id),
                    change.version,
                    head.sent,
                    head.due_at.map(int),
                    holder(head),
                    head.closed.map(int),
                ];
                self.db.prepare_cached(sql)?.execute(row)?;
            }
            (_, None) if change.is_changed() => {
                let sql = "UPDATE attempts SET version = ?2 WHERE attempt_id = ?1";
                let row = params![name(change.id), change.version];
                self.db.prepare_cached(sql)?.execute(row)?;
            }
            (_, None) => {}
        }
        let before = change.stored.map_or(0, |stored| stored.forms);
        for (n, form) in (before..).zip(&change.forms) {
            self.insert_form(change.id, n, form)?;
        }
        Ok(())
    }

    fn insert_attempt(
        &self,
        attempt: &Attempt,
        change: &AttemptChange<'_>,
        head: AttemptHead,
    ) -> rusqlite::Result<()> {
        let (table, id) = (self.flows.table(attempt.flow), name(attempt.id));
        let sql = "INSERT INTO attempts (attempt_id, version, chain, flow, state, lane, lock, \
                   sent, due_at, leased_by, created_at, closed_at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            id,
            change.version,
            attempt.chain.0,
            table.flow,
            table.state(attempt.state).code,
            &*attempt.lane,
            &*attempt.lock.0,
            head.sent,
            head.due_at.map(int),
            holder(head),
            int(self.at),
            head.closed.map(int),
        ])?;
        let sql = "INSERT INTO attempt_members (transfer_id, attempt_id, n) VALUES (?, ?, ?)";
        let mut insert = self.db.prepare_cached(sql)?;
        for (n, member) in change.members.iter().enumerate() {
            insert.execute(params![member, id, most(n)])?;
        }
        Ok(())
    }

    fn insert_form(&self, id: AttemptId, n: u32, form: &Form) -> rusqlite::Result<()> {
        let sql = "INSERT INTO attempt_forms (attempt_id, n, purpose, name, bytes, repeatable, \
                   expires, anchor, reference) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            name(id),
            n,
            purpose(form.purpose),
            &*form.name,
            &*form.bytes,
            form.repeatable,
            form.expires.map(int),
            form.anchor.map(int),
            form.reference.as_deref(),
        ])?;
        Ok(())
    }
}

/// The worker of an attempt, as its column says: the one process or none.
fn holder(head: AttemptHead) -> Option<i64> {
    (head.hold == Hold::Mine).then_some(1)
}
