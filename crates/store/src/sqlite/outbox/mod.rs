//! Writes the outbox: units add rows; the bus publisher has rows marked as published, sent again and
//! expired.

mod port;
mod rows;

use super::columns::{int, uint};
use super::write::batch::WriteBatch;
use crate::columns::most;
use kernel::ids::Day;
use kernel::message::{self, Emitted};
use kernel::ports::outbox::PublishedRange;
use rows::{COLUMNS, uuid_text};
use rusqlite::{Connection, OptionalExtension, params};

/// The name of the last place in `service_state`.
const PLACES: &str = "outbox";

/// The names of all groups that consumed anything, each found by one look into the inbox.
const GROUPS: &str = "groups (name) AS (SELECT min(consumer) FROM inbox UNION ALL \
    SELECT (SELECT min(consumer) FROM inbox WHERE consumer > name) FROM groups WHERE name IS NOT NULL)";

/// A published message that nothing needs any more.
struct NeedlessMessage {
    /// Its day, bucket and place.
    place: (u32, u16, i64),
    id: String,
}

/// A change to the outbox, for the writer, which answers with the number of rows.
#[derive(Debug)]
pub(crate) enum OutboxWrite {
    /// These (bucket, place) are published.
    Mark(Vec<(u16, u64)>),
    /// Sends again what was published; the number is the maximum of messages.
    EmitAgain(PublishedRange, usize),
    /// Adds the messages of stored events that do not wait yet.
    Emit(Vec<Emitted>),
    /// Forgets what was published before a day; the number is the maximum of messages.
    Expire(Day, usize),
}

/// The last place that was given, in all buckets.
pub(crate) fn last_place(db: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT value FROM service_state WHERE name = ?";
    let text: Option<String> = db.query_row(sql, [PLACES], |row| row.get(0)).optional()?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

impl WriteBatch<'_> {
    /// A new row at the end of its bucket.
    pub(crate) fn emit(&mut self, row: &Emitted) -> rusqlite::Result<()> {
        self.state.outbox = self.state.outbox.saturating_add(1);
        let sql = "INSERT INTO outbox_queue VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            message::bucket(&row.key),
            int(self.state.outbox),
            uuid_text(row.number),
            row.id.to_string(),
            row.n,
            &*row.topic,
            &*row.key,
            &*row.kind,
            &*row.payload,
            &*row.headers,
            int(row.at),
        ])?;
        Ok(())
    }

    /// The place of the last row, where this write added any.
    pub(crate) fn write_places(&self, before: u64) -> rusqlite::Result<()> {
        if self.state.outbox == before {
            return Ok(());
        }
        self.set(PLACES, &self.state.outbox.to_string())
    }

    pub(crate) fn outbox(&mut self, write: &OutboxWrite) -> rusqlite::Result<u64> {
        match write {
            OutboxWrite::Mark(rows) => self.mark_published(rows),
            OutboxWrite::EmitAgain(range, limit) => self.emit_again(*range, *limit),
            OutboxWrite::Emit(messages) => self.emit_missing(messages),
            OutboxWrite::Expire(day, limit) => self.expire(*day, *limit),
        }
    }

    fn expire(&self, day: Day, limit: usize) -> rusqlite::Result<u64> {
        let message = "DELETE FROM outbox_history WHERE day = ? AND bucket = ? AND place = ?";
        // a number has no dashes here
        let consumed = format!(
            "DELETE FROM inbox WHERE (consumer, event_id) IN \
               (WITH RECURSIVE {GROUPS} SELECT name, replace(?, '-', '') FROM groups)"
        );
        let old = self.needless(day, limit)?;
        for NeedlessMessage { place, id } in &old {
            self.db.prepare_cached(&consumed)?.execute([id])?;
            self.db.prepare_cached(message)?.execute(*place)?;
        }
        Ok(count(old.len()))
    }

    /// The oldest messages that were published before a day and whose transfers have ended.
    fn needless(&self, day: Day, limit: usize) -> rusqlite::Result<Vec<NeedlessMessage>> {
        let sql = "SELECT h.day, h.bucket, h.place, h.id, t.flow, t.state FROM outbox_history h \
                   LEFT JOIN transfers t ON t.req_id = h.req_id WHERE h.day < ? \
                   ORDER BY h.day, h.bucket, h.place LIMIT ?";
        let (mut found, mut ask) = (Vec::new(), self.db.prepare_cached(sql)?);
        // those of transfers that are open for days are read in vain: writes that move money wait for this writer
        let most = most(limit.saturating_mul(10));
        let mut rows = ask.query(params![day.0, most])?;
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            let flow: Option<String> = row.get(4)?;
            let flow = flow.map(|name| self.flows.named(&name).map(|flow| self.flows.table(flow)));
            let ended = match flow {
                None => true,
                // a flow that this program does not know
                Some(None) => false,
                Some(Some(table)) => {
                    table.coded(row.get(5)?).is_some_and(|state| table.ends(state))
                }
            };
            if ended {
                let place = (row.get(0)?, row.get(1)?, row.get(2)?);
                found.push(NeedlessMessage { place, id: row.get(3)? });
            }
        }
        Ok(found)
    }

    fn emit_missing(&mut self, messages: &[Emitted]) -> rusqlite::Result<u64> {
        let mut added = 0;
        for message in messages {
            let place = (message::bucket(&message.key), message.number);
            if rows::queued_among(self.db, &[place])?.is_empty() {
                self.emit(message)?;
                added += 1;
            }
        }
        Ok(added)
    }

    fn mark_published(&self, rows: &[(u16, u64)]) -> rusqlite::Result<u64> {
        let keep = format!(
            "INSERT INTO outbox_history SELECT ?3, bucket, place, {COLUMNS}, ?4 \
             FROM outbox_queue WHERE bucket = ?1 AND place = ?2"
        );
        let gone = "DELETE FROM outbox_queue WHERE bucket = ? AND place = ?";
        let (day, mut marked) = (Day::of(self.at).0, 0);
        for (bucket, place) in rows {
            let row = params![bucket, int(*place), day, int(self.at)];
            marked += count(self.db.prepare_cached(&keep)?.execute(row)?);
            self.db.prepare_cached(gone)?.execute(params![bucket, int(*place)])?;
        }
        Ok(marked)
    }

    fn emit_again(&mut self, range: PublishedRange, limit: usize) -> rusqlite::Result<u64> {
        let sql = "SELECT day, bucket, place FROM outbox_history WHERE day BETWEEN ? AND ? \
                   AND published_at >= ? AND published_at < ? \
                   ORDER BY day, bucket, place LIMIT ?";
        let days = (Day::of(range.from).0, Day::of(range.to).0);
        let bounds = params![days.0, days.1, int(range.from), int(range.to), most(limit)];
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Vec<(u32, u16, i64)> =
            self.db.prepare_cached(sql)?.query_map(bounds, read)?.collect::<Result<_, _>>()?;
        let again = format!(
            "INSERT INTO outbox_queue SELECT bucket, ?4, {COLUMNS} FROM outbox_history \
             WHERE day = ?1 AND bucket = ?2 AND place = ?3"
        );
        let gone = "DELETE FROM outbox_history WHERE day = ? AND bucket = ? AND place = ?";
        for (day, bucket, place) in &found {
            self.state.outbox = self.state.outbox.saturating_add(1);
            let row = params![day, bucket, place, int(self.state.outbox)];
            self.db.prepare_cached(&again)?.execute(row)?;
            self.db.prepare_cached(gone)?.execute(params![day, bucket, place])?;
        }
        Ok(count(found.len()))
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// How many rows were published in a range.
fn published(db: &Connection, range: PublishedRange) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM outbox_history WHERE day BETWEEN ? AND ? \
               AND published_at >= ? AND published_at < ?";
    let days = (Day::of(range.from).0, Day::of(range.to).0);
    let bounds = params![days.0, days.1, int(range.from), int(range.to)];
    db.prepare_cached(sql)?.query_row(bounds, |row| row.get(0).map(uint))
}
