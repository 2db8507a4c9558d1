//! Webhooks: what is to be told of a case, and what became of the tries.

use super::super::group::Group;
use super::super::text::{self, int, uint};
use super::lists::{CASE, case_row};
use kernel::ids::Millis;
use kernel::ports::office::{Delivery, Tells};
use rusqlite::{Connection, Row, params};
use std::sync::Arc;

/// What one try came to.
#[derive(Debug)]
pub(crate) struct Try {
    pub case: u64,
    pub tells: Tells,
    /// When it is tried next; `None`: it was delivered.
    pub due_at: Option<Millis>,
    pub error: Option<Arc<str>>,
}

/// What is to be tried now, of what happened at or after `since`.
pub(super) fn due(
    db: &Connection,
    since: Millis,
    now: Millis,
    limit: i64,
) -> rusqlite::Result<Vec<Delivery>> {
    let sql = format!(
        "SELECT {CASE}, d.tells, d.attempts, d.due_at, d.error FROM webhook_deliveries d \
         JOIN cases c USING (case_id) WHERE d.due_at IS NOT NULL AND d.at >= ? AND d.due_at <= ? \
         ORDER BY d.due_at, d.at, d.case_id, d.tells DESC LIMIT ?"
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
    db.prepare_cached(&sql)?.query_map(params![int(since), int(now), limit], read)?.collect()
}

fn tells(text: &str) -> rusqlite::Result<Tells> {
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    known.ok_or_else(|| text::damaged(9, "not a half of an episode"))
}

impl Group<'_> {
    /// Notes one more try. What was delivered stays delivered.
    pub(crate) fn tried(&self, tried: &Try) -> rusqlite::Result<()> {
        let sql = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = ?3, error = ?4 \
                   WHERE case_id = ?1 AND tells = ?2 AND due_at IS NOT NULL";
        let due_at = tried.due_at.map(int);
        let row = params![int(tried.case), tried.tells.name(), due_at, tried.error.as_deref()];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}
