//! Reads which webhooks about cases are due, and stores the result of each try, for the delivery of
//! cases.

use super::lists::{CASE, case_row};
use crate::sqlite::columns::{self, int, uint};
use crate::sqlite::write::batch::WriteBatch;
use kernel::ids::Millis;
use kernel::ports::admin_queries::{Delivery, Tells};
use rusqlite::{Connection, Row, params};
use std::sync::Arc;

/// The result of one try.
#[derive(Debug)]
pub(crate) struct DeliveryAttempt {
    pub case: u64,
    pub tells: Tells,
    /// When it is tried next; `None`: it was delivered.
    pub due_at: Option<Millis>,
    pub error: Option<Arc<str>>,
}

/// What is to be tried now, or at a time further away than `longest`: such a time is a clock's
/// mistake. The end of an episode waits for its beginning.
pub(crate) fn due(
    db: &Connection,
    now: Millis,
    longest: Millis,
    limit: i64,
) -> rusqlite::Result<Vec<Delivery>> {
    let sql = format!(
        "SELECT {CASE}, d.tells, d.attempts, d.due_at, d.error FROM webhook_deliveries d \
         JOIN cases c USING (case_id) WHERE d.due_at IS NOT NULL \
         AND (d.due_at <= ?1 OR d.due_at > ?2) AND (d.tells = ?3 OR NOT EXISTS (SELECT 1 \
           FROM webhook_deliveries b WHERE b.case_id = d.case_id AND b.tells = ?3 \
           AND b.due_at IS NOT NULL)) ORDER BY d.due_at, d.at, d.case_id LIMIT ?4"
    );
    let read = |row: &Row<'_>| {
        Ok(Delivery {
            case: case_row(row)?,
            tells: tells(row.get_ref(9)?.as_str()?)?,
            attempts: row.get(10)?,
            due_at: row.get::<_, Option<i64>>(11)?.map(uint),
            error: row.get(12)?,
        })
    };
    let far = int(now.saturating_add(longest));
    let bounds = params![int(now), far, Tells::Opened.name(), limit];
    db.prepare_cached(&sql)?.query_map(bounds, read)?.collect()
}

/// How many are to be delivered, and since when the oldest of them is.
pub(crate) fn undelivered(db: &Connection) -> rusqlite::Result<(u64, Option<Millis>)> {
    let sql = "SELECT count(*), min(at) FROM webhook_deliveries WHERE due_at IS NOT NULL";
    let read = |row: &Row<'_>| Ok((uint(row.get(0)?), row.get::<_, Option<i64>>(1)?.map(uint)));
    db.prepare_cached(sql)?.query_row([], read)
}

fn tells(text: &str) -> rusqlite::Result<Tells> {
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    known.ok_or_else(|| columns::damaged(9, "not a half of an episode"))
}

/// The name of the value that marks that webhooks are posted.
const WEBHOOKS: &str = "webhooks";

impl WriteBatch<'_> {
    /// From now on webhooks are posted; what had ended before the first time is not posted.
    pub(crate) fn start_webhooks(&self) -> rusqlite::Result<()> {
        if self.value(WEBHOOKS)?.is_some() {
            return Ok(());
        }
        let sql = "UPDATE webhook_deliveries SET due_at = NULL, error = 'over before any was posted' \
                   WHERE attempts = 0 AND case_id IN \
                     (SELECT case_id FROM cases WHERE closed_at IS NOT NULL)";
        self.db.prepare_cached(sql)?.execute([])?;
        self.set(WEBHOOKS, "posted")
    }

    /// Notes one more try. A delivered webhook stays delivered.
    pub(crate) fn attempt(&self, attempt: &DeliveryAttempt) -> rusqlite::Result<()> {
        let sql = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = ?3, error = ?4 \
                   WHERE case_id = ?1 AND tells = ?2 AND due_at IS NOT NULL";
        let due_at = attempt.due_at.map(int);
        let row =
            params![int(attempt.case), attempt.tells.name(), due_at, attempt.error.as_deref()];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}
