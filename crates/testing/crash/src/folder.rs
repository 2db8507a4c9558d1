//! Reads the store of a data folder with the ordinary SQLite library, beside the server.

use crate::Outcome;
use crate::store::{Books, Row, Store, body, state};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::Path;

/// A connection that only reads.
#[derive(Debug)]
pub struct Folder(Connection);

impl Folder {
    /// Opens the store of a data folder. Nothing in it is changed.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(data: &Path) -> Outcome<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(data.join("portage.db"), flags).map_err(told)?;
        db.busy_timeout(std::time::Duration::from_secs(5)).map_err(told)?;
        Ok(Self(db))
    }

    /// The highest number of a transfer.
    ///
    /// # Errors
    /// The store's.
    pub fn last(&self) -> Outcome<i64> {
        let sql = "SELECT coalesce(max(transfer_id), 0) FROM transfers";
        self.0.query_row(sql, [], |row| row.get(0)).map_err(told)
    }

    /// Every transfer above a number.
    ///
    /// # Errors
    /// The store's.
    pub fn rows(&self, above: i64) -> Outcome<Vec<Row>> {
        let sql = format!("{ROWS} WHERE transfer_id > ? ORDER BY transfer_id");
        let mut ask = self.0.prepare_cached(&sql).map_err(told)?;
        let rows = ask.query_map([above], row).map_err(told)?;
        rows.collect::<Result<_, _>>().map_err(told)
    }

    /// The user and base units of an external booking.
    ///
    /// # Errors
    /// The store's.
    pub fn operation(&self, id: i64) -> Outcome<Option<(u64, i64)>> {
        let sql = "SELECT user_id, amount FROM externals WHERE operation_id = ?";
        let mut ask = self.0.prepare_cached(sql).map_err(told)?;
        let read = |row: &rusqlite::Row<'_>| Ok((user(row, 0)?, amount(&row.get::<_, String>(1)?)));
        ask.query_row([id], read).optional().map_err(told)
    }
}

impl Store for Folder {
    fn open_transfers(&self) -> Outcome<u64> {
        let sql = "SELECT coalesce(sum(open), 0) FROM open_batches";
        let open: i64 = self.0.query_row(sql, [], |row| row.get(0)).map_err(told)?;
        u64::try_from(open).map_err(|_| format!("{open} open transfers"))
    }

    fn bound(&self, key: &str) -> Outcome<Option<Row>> {
        let sql =
            format!("{ROWS} WHERE transfer_id = (SELECT transfer_id FROM keys WHERE cid = ?)");
        let mut ask = self.0.prepare_cached(&sql).map_err(told)?;
        ask.query_row([key], row).optional().map_err(told)
    }

    fn all(&self) -> Outcome<Vec<Row>> {
        self.rows(0)
    }

    fn external(&self, reference: &str) -> Outcome<Option<(i64, u64, i64)>> {
        let sql = "SELECT operation_id, user_id, amount FROM externals WHERE reference = ?";
        let mut ask = self.0.prepare_cached(sql).map_err(told)?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, user(row, 1)?, amount(&row.get::<_, String>(2)?)))
        };
        ask.query_row([reference], read).optional().map_err(told)
    }

    fn books(&self, asset: u32) -> Outcome<Books> {
        let instant = self.0.unchecked_transaction().map_err(told)?;
        let mut books = Books::default();
        let sql = "SELECT user_id, available, frozen FROM balances_tb WHERE asset_id = ?";
        let mut ask = instant.prepare_cached(sql).map_err(told)?;
        let read = |row: &rusqlite::Row<'_>| {
            let part = |n| row.get::<_, String>(n).map(|text| amount(&text));
            Ok((user(row, 0)?, (part(1)?, part(2)?)))
        };
        for user in ask.query_map([asset], read).map_err(told)? {
            books.users.push(user.map_err(told)?);
        }
        let sql = "SELECT book, amount FROM books WHERE account_type = 'FUNDING' AND asset_id = ?";
        let mut ask = instant.prepare_cached(sql).map_err(told)?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, amount(&row.get::<_, String>(1)?)))
        };
        for book in ask.query_map([asset], read).map_err(told)? {
            let (name, units) = book.map_err(told)?;
            books.add(&name, units)?;
        }
        Ok(books)
    }
}

/// Takes a transfer out of a store without a server: a wrong build, made on purpose.
///
/// # Errors
/// The store's.
pub fn lose(data: &Path, key: &str) -> Outcome {
    let db = Connection::open(data.join("portage.db")).map_err(told)?;
    let of = "(SELECT transfer_id FROM keys WHERE cid = ?)";
    db.execute(&format!("DELETE FROM transfers WHERE transfer_id = {of}"), [key]).map_err(told)?;
    db.execute("DELETE FROM keys WHERE cid = ?", [key]).map(drop).map_err(told)
}

const ROWS: &str = "SELECT req_id, coalesce(cid, ''), user_id, source_type, amount, state \
                    FROM transfers";

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let (user, units) = (user(row, 2)?, amount(&row.get::<_, String>(4)?));
    let in_to_spot = row.get::<_, i64>(3)? == 1;
    let state = state(row.get(5)?);
    let body = body(user, in_to_spot, units);
    Ok(Row { id: row.get(0)?, key: row.get(1)?, body, state, user, in_to_spot, units })
}

fn user(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// Padded base units; what is no number is one that nothing equals.
fn amount(text: &str) -> i64 {
    text.parse().unwrap_or(i64::MIN)
}

fn told(fault: rusqlite::Error) -> String {
    format!("the store cannot be read: {fault}")
}
