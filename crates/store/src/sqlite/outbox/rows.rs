//! Reads the rows of the outbox for its port.

use crate::sqlite::columns::{self, int, uint};
use kernel::message::{Emitted, bucket};
use kernel::ports::outbox::{Backlog, Queued, UnpublishedQuery};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// The columns of a message in both tables, in their order.
pub(super) const COLUMNS: &str =
    "id, req_id, n, topic, partition_key, type, payload, headers, created_at";

/// A message's number as it is written.
pub(super) fn uuid_text(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

/// The rows that are not marked as published.
pub(super) fn unpublished(
    db: &Connection,
    query: &UnpublishedQuery,
) -> rusqlite::Result<Vec<Queued>> {
    let sql = format!(
        "SELECT {COLUMNS}, bucket, place FROM outbox_queue WHERE bucket = ? AND partition_key \
         NOT IN (SELECT value FROM json_each(?)) ORDER BY place LIMIT ?"
    );
    let most = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut without: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for key in &query.without {
        without.entry(bucket(key)).or_default().push(key);
    }
    let mut found = Vec::new();
    let mut asked = db.prepare_cached(&sql)?;
    for lease in &query.leases {
        let without = without.remove(&lease.bucket).unwrap_or_default();
        let without = serde_json::Value::from(without).to_string();
        for row in asked.query_map(params![lease.bucket, without, most], queued)? {
            found.push(row?);
        }
    }
    Ok(found)
}

/// Those of these messages that are not marked as published.
pub(super) fn queued_among(
    db: &Connection,
    messages: &[(u16, u128)],
) -> rusqlite::Result<Vec<u128>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM outbox_queue WHERE bucket = ? AND id = ?)";
    let mut ask = db.prepare_cached(sql)?;
    let mut found = Vec::new();
    for (bucket, number) in messages {
        if ask.query_row(params![bucket, uuid_text(*number)], |row| row.get(0))? {
            found.push(*number);
        }
    }
    Ok(found)
}

fn queued(row: &Row<'_>) -> rusqlite::Result<Queued> {
    let (bucket, place) = (row.get(9)?, uint(row.get(10)?));
    Ok(Queued { bucket, place, emitted: emitted(row)? })
}

fn emitted(row: &Row<'_>) -> rusqlite::Result<Emitted> {
    let text =
        |n: usize| row.get_ref(n)?.as_str().map(Arc::<str>::from).map_err(rusqlite::Error::from);
    let number = Uuid::parse_str(row.get_ref(0)?.as_str()?)
        .map_err(|_| columns::damaged(0, "not a UUID"))?;
    Ok(Emitted {
        number: number.as_u128(),
        id: columns::read_id(1, row.get_ref(1)?.as_str()?)?,
        n: row.get(2)?,
        topic: text(3)?,
        key: text(4)?,
        kind: text(5)?,
        payload: text(6)?,
        headers: text(7)?,
        at: uint(row.get(8)?),
    })
}

/// What is still to be published. The oldest row is among the first of each bucket, so that a long
/// queue is counted and not read.
pub(super) fn backlog(db: &Connection) -> rusqlite::Result<Backlog> {
    let sql = "SELECT count(*) FROM outbox_queue";
    let messages: i64 = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let sql = "SELECT created_at FROM outbox_queue WHERE bucket = ? ORDER BY place LIMIT 1";
    let mut oldest = None;
    let mut asked = db.prepare_cached(sql)?;
    for bucket in 0..kernel::message::BUCKETS {
        for at in asked.query_map([int(u64::from(bucket))], |row| row.get(0).map(uint))? {
            let at = at?;
            oldest = Some(oldest.map_or(at, |known: u64| if at < known { at } else { known }));
        }
    }
    Ok(Backlog { messages: uint(messages), oldest })
}
