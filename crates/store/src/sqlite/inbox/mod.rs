//! Writes the inbox: which messages a consumer group has consumed, and which messages wait under their
//! keys.

mod port;
mod rows;

use super::columns::int;
use super::write::batch::WriteBatch;
use kernel::ports::bus::BusDelivery;
use kernel::ports::inbox::{NextTry, ParkedName};
use rows::uuid_text;
use rusqlite::params;
use std::sync::Arc;

/// A change to the inbox, for the writer.
#[derive(Debug)]
pub(crate) enum InboxWrite {
    /// Messages of a group wait from now on.
    Park(Arc<str>, Vec<BusDelivery>, NextTry),
    /// A key is tried again at another time.
    TryAgain(ParkedName, NextTry),
    /// Messages of a key were consumed.
    Unpark { name: ParkedName, consumed: Vec<u128>, upto: u64 },
}

impl WriteBatch<'_> {
    pub(crate) fn inbox(&mut self, write: &InboxWrite) -> rusqlite::Result<()> {
        match write {
            InboxWrite::Park(group, messages, next) => self.park(group, messages, next),
            InboxWrite::TryAgain(name, next) => {
                let sql = "UPDATE parked_keys SET failures = ?4, cause = ?5, due_at = ?6 \
                           WHERE consumer = ?1 AND topic = ?2 AND partition_key = ?3";
                let (group, topic, key) = texts(name);
                let row = params![group, topic, key, next.failures, &*next.cause, int(next.due)];
                self.db.prepare_cached(sql)?.execute(row).map(|_| ())
            }
            InboxWrite::Unpark { name, consumed, upto } => self.unpark(name, consumed, *upto),
        }
    }

    fn park(&self, group: &str, messages: &[BusDelivery], next: &NextTry) -> rusqlite::Result<()> {
        let key = "INSERT INTO parked_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) \
                   ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last";
        let add =
            "INSERT INTO parked VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        for BusDelivery { partition, offset, message } in messages {
            let (topic, number) = (&*partition.topic, partition.number);
            let (at, due) = (int(self.at), int(next.due));
            let row =
                params![group, topic, &*message.key, number, next.failures, &*next.cause, at, due];
            let n: i64 = self.db.prepare_cached(key)?.query_row(row, |row| row.get(0))?;
            let row = params![
                group,
                topic,
                &*message.key,
                n,
                uuid_text(message.number),
                number,
                int(*offset),
                &*message.payload,
                &*message.headers,
                &*next.cause,
                at
            ];
            self.db.prepare_cached(add)?.execute(row)?;
        }
        Ok(())
    }

    fn unpark(&self, name: &ParkedName, consumed: &[u128], upto: u64) -> rusqlite::Result<()> {
        let (group, topic, key) = texts(name);
        let gone = "DELETE FROM parked \
                    WHERE consumer = ? AND topic = ? AND partition_key = ? AND id = ?";
        for number in consumed {
            let row = params![group, topic, key, uuid_text(*number)];
            self.db.prepare_cached(gone)?.execute(row)?;
        }
        let free = "DELETE FROM parked_keys \
                    WHERE consumer = ?1 AND topic = ?2 AND partition_key = ?3 AND last <= ?4 \
                      AND NOT EXISTS (SELECT 1 FROM parked \
                        WHERE consumer = ?1 AND topic = ?2 AND partition_key = ?3)";
        self.db.prepare_cached(free)?.execute(params![group, topic, key, int(upto)]).map(|_| ())
    }
}

fn texts(name: &ParkedName) -> (&str, &str, &str) {
    (&name.group, &name.topic, &name.key)
}
