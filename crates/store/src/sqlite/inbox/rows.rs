//! Reads the rows of the inbox for its port.

use super::texts;
use crate::sqlite::columns::{self, most, uint};
use kernel::ports::bus::{BusDelivery, BusMessage, Partition};
use kernel::ports::inbox::{NextTry, ParkedKey, ParkedMessage, ParkedName};
use rusqlite::{Connection, Row, params};
use std::sync::Arc;
use uuid::Uuid;

/// A message's number as it is written.
pub(super) fn uuid_text(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

fn text(row: &Row<'_>, n: usize) -> rusqlite::Result<Arc<str>> {
    row.get_ref(n)?.as_str().map(Arc::<str>::from).map_err(rusqlite::Error::from)
}

/// The message numbers, among these, that a group has consumed.
pub(super) fn consumed(
    db: &Connection,
    group: &str,
    numbers: &[u128],
) -> rusqlite::Result<Vec<u128>> {
    let sql = "SELECT 1 FROM inbox WHERE consumer = ? AND event_id = ?";
    let mut asked = db.prepare_cached(sql)?;
    let mut found = Vec::new();
    for number in numbers {
        if asked.exists(params![group, format!("{number:032x}")])? {
            found.push(*number);
        }
    }
    Ok(found)
}

/// The keys that wait, in the order of their names.
pub(super) fn keys(
    db: &Connection,
    group: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<ParkedKey>> {
    let sql = "SELECT consumer, topic, partition_key, partition, failures, cause, parked_at, due_at, \
                 (SELECT count(*) FROM parked p WHERE (p.consumer, p.topic, p.partition_key) = \
                   (k.consumer, k.topic, k.partition_key)), last \
               FROM parked_keys k WHERE ?1 IS NULL OR consumer = ?1 ORDER BY 1, 2, 3 LIMIT ?2";
    let read = |row: &Row<'_>| {
        let name = ParkedName { group: text(row, 0)?, topic: text(row, 1)?, key: text(row, 2)? };
        let (failures, cause, due) = (row.get(4)?, text(row, 5)?, uint(row.get(7)?));
        Ok(ParkedKey {
            name,
            partition: row.get(3)?,
            messages: uint(row.get(8)?),
            last: uint(row.get(9)?),
            since: uint(row.get(6)?),
            next: NextTry { failures, cause, due },
        })
    };
    db.prepare_cached(sql)?.query_map(params![group, most(limit)], read)?.collect()
}

/// The first messages of a key.
pub(super) fn messages(
    db: &Connection,
    name: &ParkedName,
    limit: usize,
) -> rusqlite::Result<Vec<ParkedMessage>> {
    let sql = "SELECT n, id, partition, place, payload, headers FROM parked \
               WHERE consumer = ? AND topic = ? AND partition_key = ? ORDER BY n LIMIT ?";
    let (group, topic, key) = texts(name);
    let read = |row: &Row<'_>| {
        let number = Uuid::parse_str(row.get_ref(1)?.as_str()?)
            .map_err(|_| columns::damaged(1, "not a UUID"))?
            .as_u128();
        let (topic, key) = (name.topic.clone(), name.key.clone());
        let (payload, headers) = (text(row, 4)?, text(row, 5)?);
        let partition = Partition { topic: topic.clone(), number: row.get(2)? };
        let message = BusMessage { topic, key, number, payload, headers };
        let delivery = BusDelivery { partition, offset: uint(row.get(3)?), message };
        Ok(ParkedMessage { n: uint(row.get(0)?), delivery })
    };
    let bounds = params![group, topic, key, most(limit)];
    db.prepare_cached(sql)?.query_map(bounds, read)?.collect()
}
