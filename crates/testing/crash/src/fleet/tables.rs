//! Reads the tables of the database with PostgreSQL's own client, beside all processes.

use crate::Outcome;
use crate::store::{Books, Row, Store, body, state};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use testbed::{Copied, Database};

const ROWS: &str = "SELECT portage_ulid(req_id), cid, user_id, source_type, amount, state \
    FROM transfers ORDER BY transfer_id";
const EXTERNALS: &str = "SELECT reference, operation_id, user_id, amount FROM externals";
/// What is true of a transfer that has not ended.
pub(super) const OPEN: &str = "state NOT IN (40, -10, -30)";

/// A database that answers SQL as `psql` prints it.
pub(super) trait Sql: std::fmt::Debug {
    /// Runs it on a connection of its own.
    ///
    /// # Errors
    /// The server's.
    fn sql(&self, text: &str) -> Outcome<String>;
}

impl Sql for Database {
    fn sql(&self, text: &str) -> Outcome<String> {
        Self::sql(self, text)
    }
}

impl Sql for Copied {
    fn sql(&self, text: &str) -> Outcome<String> {
        Self::sql(self, text)
    }
}

/// Transfers and external bookings are read once, when one of them is first asked for.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    database: &'a dyn Sql,
    read: OnceCell<Read>,
}

/// What has not ended at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    /// How many transfers were open.
    pub(super) count: u64,
    /// When, by the database's clock.
    pub(super) at: u64,
}

#[derive(Debug)]
struct Read {
    /// By the client's key.
    rows: BTreeMap<String, Row>,
    externals: BTreeMap<String, (i64, u64, i64)>,
}

impl<'a> Tables<'a> {
    /// A view of the tables that reads each at most once.
    pub(super) fn of(database: &'a dyn Sql) -> Self {
        Self { database, read: OnceCell::new() }
    }

    /// How many transfers have not ended, and the database's time.
    ///
    /// # Errors
    /// The server's.
    pub(super) fn open_now(&self) -> Outcome<Open> {
        let sql = format!("SELECT count(*), portage_now() FROM transfers WHERE {OPEN}");
        let told = self.database.sql(&sql)?;
        let [count, at] = fields(told.trim()).try_into().map_err(|_| format!("not two: {told}"))?;
        Ok(Open { count: number(count)?, at: number(at)? })
    }

    fn read(&self) -> Outcome<&Read> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let rows = self.database.sql(ROWS)?;
        let rows = rows.lines().map(|line| row(&fields(line)).map(|row| (row.key.clone(), row)));
        let externals = self.database.sql(EXTERNALS)?;
        let externals = externals.lines().map(|line| {
            let odd = || format!("no external booking: {line}");
            let [reference, id, user, amount] = fields(line).try_into().map_err(|_| odd())?;
            Ok((reference.to_owned(), (number(id)?, number(user)?, number(amount)?)))
        });
        let read = Read {
            rows: rows.collect::<Outcome<_>>()?,
            externals: externals.collect::<Outcome<_>>()?,
        };
        Ok(self.read.get_or_init(|| read))
    }
}

/// Takes a transfer out of it: a wrong build, made on purpose.
///
/// # Errors
/// The server's.
pub(super) fn lose(database: &Database, key: &str) -> Outcome {
    let of = format!("(SELECT transfer_id FROM keys WHERE cid = '{key}')");
    let lost = format!(
        "DELETE FROM transfers WHERE transfer_id = {of}; DELETE FROM keys WHERE cid = '{key}'"
    );
    database.sql(&lost).map(drop)
}

fn fields(line: &str) -> Vec<&str> {
    line.split('|').collect()
}

pub(super) fn number<T: std::str::FromStr>(text: &str) -> Outcome<T> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn row(fields: &[&str]) -> Outcome<Row> {
    let [id, key, user, source, amount, at] = fields else {
        return Err(format!("no transfer: {fields:?}"));
    };
    let (user, units) = (number(user)?, number(amount)?);
    let in_to_spot = *source == "1";
    let (id, key) = ((*id).to_owned(), (*key).to_owned());
    let (body, state) = (body(user, in_to_spot, units), state(number(at)?));
    Ok(Row { id, key, body, state, user, in_to_spot, units })
}

impl Store for Tables<'_> {
    fn open_transfers(&self) -> Outcome<u64> {
        number(&self.database.sql(&format!("SELECT count(*) FROM transfers WHERE {OPEN}"))?)
    }

    fn bound(&self, key: &str) -> Outcome<Option<Row>> {
        Ok(self.read()?.rows.get(key).cloned())
    }

    fn all(&self) -> Outcome<Vec<Row>> {
        Ok(self.read()?.rows.values().cloned().collect())
    }

    fn external(&self, reference: &str) -> Outcome<Option<(i64, u64, i64)>> {
        Ok(self.read()?.externals.get(reference).copied())
    }

    fn books(&self, asset: u32) -> Outcome<Books> {
        // one statement sees one instant
        let told = self.database.sql(&format!(
            "SELECT 'user', user_id::text, available::text, frozen::text FROM balances_tb \
               WHERE account_type = 'FUNDING' AND asset_id = {asset} \
             UNION ALL SELECT 'book', book, amount::text, '0' FROM books \
               WHERE account_type = 'FUNDING' AND asset_id = {asset}"
        ))?;
        let mut books = Books::default();
        for line in told.lines() {
            match fields(line).as_slice() {
                ["user", user, available, frozen] => {
                    books.users.push((number(user)?, (number(available)?, number(frozen)?)));
                }
                ["book", name, units, _] => books.add(name, number(units)?)?,
                _ => return Err(format!("neither a user nor a book: {line}")),
            }
        }
        Ok(books)
    }
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_line_is_read_and_a_part_of_one_is_not() {
        let line = ["01J", "key", "4001", "2", "1500000", "-20"];
        let found = row(&line).unwrap();
        assert_eq!(
            (found.body.as_str(), found.state.as_str()),
            ("4001 SPOT>FUNDING 1500000", "COMPENSATING")
        );
        assert!(row(&line[..5]).is_err());
        assert!(row(&["01J", "key", "x", "2", "1", "0"]).is_err());
    }
}
