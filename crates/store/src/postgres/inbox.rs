//! Reads and writes, with a batch, the events that consumers have consumed. Where two transactions take
//! the same event at once, they meet at the row's key: the later one writes nothing and reads again.

use super::error::StoreError;
use super::write::read_rows::Query;
use super::write::row_set::RowSet;
use super::write::statement::{Statements, params};
use super::write::workspace::BatchWorkspace;
use super::write::write_rows::column;
use tokio_postgres::Row;
use uuid::Uuid;

/// A consumer, and the number of a message that it is given.
pub(crate) type InboxKey = (&'static str, u128);

const SEEN: &str = "SELECT n.place FROM unnest($1::text[], $2::uuid[]) \
    WITH ORDINALITY AS n(consumer, event_id, place) JOIN inbox i USING (consumer, event_id)";

const TAKE: &str = "INSERT INTO inbox (consumer, event_id, at) \
    SELECT unnest($1::text[]), unnest($2::uuid[]), $3 ON CONFLICT DO NOTHING RETURNING 1";

/// The query for the messages that were consumed before.
pub(crate) fn query(row_set: &RowSet) -> Option<Query> {
    (!row_set.inbox.is_empty()).then(|| {
        let consumers = column(&row_set.inbox, |(consumer, _)| *consumer);
        let events = column(&row_set.inbox, |(_, event)| Uuid::from_u128(*event));
        (SEEN.to_owned(), params![consumers, events])
    })
}

pub(crate) fn read(
    workspace: &mut BatchWorkspace,
    row_set: &RowSet,
    rows: &[Row],
) -> Result<(), StoreError> {
    let places: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    for (place, key) in (1..).zip(&row_set.inbox) {
        workspace.rare.seen.insert(*key, places.contains(&place));
    }
    Ok(())
}

impl Statements {
    /// The rows of what the batch took, sorted: those who wait for each other wait in one order.
    pub(crate) fn inbox(&mut self, workspace: &BatchWorkspace, at: i64) {
        let rows = &workspace.changes.inbox;
        if rows.is_empty() {
            return;
        }
        let consumers = column(rows, |(consumer, _)| *consumer);
        let events = column(rows, |(_, event)| Uuid::from_u128(*event));
        self.exactly(rows.len(), TAKE, params![consumers, events, at]);
    }
}
