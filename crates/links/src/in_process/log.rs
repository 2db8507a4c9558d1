//! Stores the bus in a file of SQLite: messages by partition and offset, and the committed offsets of
//! each group.

use super::{PARTITIONS, failed};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::message::partition;
use kernel::ports::bus::{BusDelivery, BusMessage, Partition, PartitionLag};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS messages (
  topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
  id TEXT NOT NULL, key TEXT NOT NULL, payload TEXT NOT NULL, headers TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (topic, partition, offset)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (
  topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offsets (
  consumers TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL,
  PRIMARY KEY (consumers, topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log_name (n INTEGER PRIMARY KEY CHECK (n = 1), name TEXT NOT NULL);
INSERT OR IGNORE INTO log_name VALUES (1, lower(hex(randomblob(16))))";

/// The file that holds them, open.
pub(super) struct Log {
    db: Connection,
    /// The offset that the next message of a partition gets, as the file has it: most looks find nothing
    /// new, and need not read.
    ends: BTreeMap<Partition, u64>,
    /// SQLite's number of the file's state: another one where another program has written.
    version: i64,
}

impl Log {
    /// Opens the file, or makes one that this user alone reads: SQLite gives its log and its index the
    /// same mode.
    pub(super) fn open(file: &Path) -> Result<Self, Cause> {
        let made = File::options().create(true).truncate(false).write(true).mode(0o600).open(file);
        made.map_err(|fault| Cause::because("BUS_FAILED", fault.to_string()))?;
        Self::over(file).map_err(|fault| failed(&fault))
    }

    fn over(file: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(file)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch(TABLES)?;
        let (version, ends) = (version(&db)?, ends(&db)?);
        Ok(Self { db, ends, version })
    }

    /// The name that was drawn when the file was made.
    pub(super) fn name(&self) -> rusqlite::Result<Arc<str>> {
        self.db.query_row("SELECT name FROM log_name", [], |row| row.get(0))
    }

    /// Reads the ends again where another program has written the file.
    pub(super) fn refresh_ends(&mut self) -> rusqlite::Result<()> {
        let version = version(&self.db)?;
        if version != self.version {
            self.ends = ends(&self.db)?;
            self.version = version;
        }
        Ok(())
    }

    /// Adds messages at the ends of their partitions: all of them or none.
    pub(super) fn append(&mut self, messages: &[BusMessage], at: Millis) -> rusqlite::Result<()> {
        self.refresh_ends()?;
        match self.add(messages, at) {
            Ok(moved) => {
                self.ends.extend(moved);
                Ok(())
            }
            Err(error) => {
                // what the file says counts, should it have taken them after all
                self.ends = ends(&self.db)?;
                Err(error)
            }
        }
    }

    /// Writes them; the new ends of their partitions.
    fn add(
        &self,
        messages: &[BusMessage],
        at: Millis,
    ) -> rusqlite::Result<BTreeMap<Partition, u64>> {
        let all = self.db.unchecked_transaction()?;
        let add = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let mut moved = BTreeMap::new();
        for message in messages {
            let number = partition(&message.key, PARTITIONS);
            let of = Partition { topic: message.topic.clone(), number };
            let end = self.end(&of);
            let offset = moved.entry(of).or_insert(end);
            let id = Uuid::from_u128(message.number).to_string();
            let row = params![
                &*message.topic,
                number,
                signed(*offset),
                id,
                &*message.key,
                &*message.payload,
                &*message.headers,
                signed(at)
            ];
            all.prepare_cached(add)?.execute(row)?;
            *offset = offset.saturating_add(1);
        }
        let end =
            "INSERT INTO ends VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next";
        for (of, next) in &moved {
            all.prepare_cached(end)?.execute(params![&*of.topic, of.number, signed(*next)])?;
        }
        all.commit()?;
        Ok(moved)
    }

    /// Messages of a partition from an offset on.
    pub(super) fn read(
        &self,
        of: &Partition,
        from: u64,
        limit: usize,
    ) -> rusqlite::Result<Vec<BusDelivery>> {
        if from >= self.end(of) {
            return Ok(Vec::new());
        }
        let sql = "SELECT offset, id, key, payload, headers FROM messages \
                   WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset LIMIT ?";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let bounds = params![&*of.topic, of.number, signed(from), most];
        self.db.prepare_cached(sql)?.query_map(bounds, |row| delivery(of, row))?.collect()
    }

    /// The offset at which a group goes on in a partition; 0 where it never committed.
    pub(super) fn committed(&self, group: &str, of: &Partition) -> rusqlite::Result<u64> {
        let sql = "SELECT next FROM offsets WHERE consumers = ? AND topic = ? AND partition = ?";
        let place = params![group, &*of.topic, of.number];
        let next =
            self.db.prepare_cached(sql)?.query_row(place, |row| unsigned(row, 0)).optional()?;
        Ok(next.unwrap_or(0))
    }

    /// A group goes on from there, also backwards.
    pub(super) fn seek(&self, group: &str, to: &[(Partition, u64)]) -> rusqlite::Result<()> {
        self.put(group, to, "?4")
    }

    /// A group has come so far; where it is further, it stays.
    pub(super) fn advance(&self, group: &str, next: &[(Partition, u64)]) -> rusqlite::Result<()> {
        self.put(group, next, "max(next, ?4)")
    }

    fn put(
        &self,
        group: &str,
        next: &[(Partition, u64)],
        value: &'static str,
    ) -> rusqlite::Result<()> {
        let all = self.db.unchecked_transaction()?;
        let sql = &format!(
            "INSERT INTO offsets VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET next = {value}"
        );
        for (of, next) in next {
            let row = params![group, &*of.topic, of.number, signed(*next)];
            all.prepare_cached(sql)?.execute(row)?;
        }
        all.commit()
    }

    /// How far a group is in a partition. Messages that were forgotten are not ahead of it.
    pub(super) fn lag(&self, group: &str, of: &Partition) -> rusqlite::Result<PartitionLag> {
        let (end, committed) = (self.end(of), self.committed(group, of)?);
        let sql = "SELECT offset, at FROM messages \
                   WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset LIMIT 1";
        let place = params![&*of.topic, of.number, signed(committed)];
        let first = |row: &Row<'_>| Ok((unsigned(row, 0)?, unsigned(row, 1)?));
        let first = self.db.prepare_cached(sql)?.query_row(place, first).optional()?;
        let (next, oldest) = match first {
            Some((offset, at)) => (offset, Some(at)),
            None if committed > end => (committed, None),
            None => (end, None),
        };
        Ok(PartitionLag { partition: of.clone(), next, end, oldest })
    }

    /// The offset of the first message that was published at a time or later; else the end.
    pub(super) fn since(&self, of: &Partition, time: Millis) -> rusqlite::Result<u64> {
        let sql = "SELECT MIN(offset) FROM messages WHERE topic = ? AND partition = ? AND at >= ?";
        let place = params![&*of.topic, of.number, signed(time)];
        let found: Option<i64> = self.db.query_row(sql, place, |row| row.get(0))?;
        Ok(found.map_or_else(|| self.end(of), |offset| u64::try_from(offset).unwrap_or(0)))
    }

    /// The last messages of a partition, in their order.
    pub(super) fn newest(
        &self,
        of: &Partition,
        limit: usize,
    ) -> rusqlite::Result<Vec<BusDelivery>> {
        let before = u64::try_from(limit).unwrap_or(u64::MAX);
        self.read(of, self.end(of).saturating_sub(before), limit)
    }

    /// The offset that the next message of a partition gets.
    fn end(&self, of: &Partition) -> u64 {
        self.ends.get(of).copied().unwrap_or(0)
    }

    pub(super) fn forget(&self, before: Millis) -> rusqlite::Result<u64> {
        let gone = self.db.execute("DELETE FROM messages WHERE at < ?", [signed(before)])?;
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// The end of each partition that has one.
fn ends(db: &Connection) -> rusqlite::Result<BTreeMap<Partition, u64>> {
    let end = |row: &Row<'_>| {
        let topic = row.get_ref(0)?.as_str().map(Arc::<str>::from)?;
        Ok((Partition { topic, number: row.get(1)? }, unsigned(row, 2)?))
    };
    db.prepare("SELECT topic, partition, next FROM ends")?.query_map([], end)?.collect()
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, n: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(n)?).unwrap_or(0))
}

fn delivery(of: &Partition, row: &Row<'_>) -> rusqlite::Result<BusDelivery> {
    let text =
        |n: usize| row.get_ref(n)?.as_str().map(Arc::<str>::from).map_err(rusqlite::Error::from);
    let number = Uuid::parse_str(&text(1)?).unwrap_or_default().as_u128();
    let (topic, key, payload, headers) = (of.topic.clone(), text(2)?, text(3)?, text(4)?);
    Ok(BusDelivery {
        partition: of.clone(),
        offset: unsigned(row, 0)?,
        message: BusMessage { topic, key, number, payload, headers },
    })
}
