//! Buffers balances and books (clearing, world) while the writer fills one journal write.
//!
//! The buffer reads a row once for each write and writes it once, so an account with many changes costs
//! less for each. It keeps nothing beyond the transaction, so an operator's plain SQL takes effect from
//! its commit.

use crate::sqlite::columns::{self, int};
use crate::sqlite::write::writer_state::LANE;
use kernel::ids::{AssetId, UserId};
use kernel::ports::ledger::AccountStatus;
use kernel::rules::{Book, StoredBalance};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, HashMap};

/// The books of one write.
#[derive(Debug, Default)]
pub(crate) struct BalanceBuffer {
    rows: HashMap<(UserId, AssetId), StoredBalance>,
    books: BTreeMap<Book, i128>,
}

impl BalanceBuffer {
    /// The balance of an account; `None` where there is no such account. An asset that the account
    /// does not hold yet takes the account's status.
    pub(crate) fn balance(
        &mut self,
        db: &Connection,
        user: UserId,
        asset: AssetId,
    ) -> rusqlite::Result<Option<StoredBalance>> {
        if let Some(balance) = self.rows.get(&(user, asset)) {
            return Ok(Some(*balance));
        }
        let sql = "SELECT available, frozen, status FROM balances_tb \
                   WHERE user_id = ? AND account_type = 'FUNDING' AND asset_id = ?";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoredBalance {
                available: columns::read_amount(0, row.get_ref(0)?.as_str()?)?,
                frozen: columns::read_amount(1, row.get_ref(1)?.as_str()?)?,
                status: columns::read_status(2, row.get_ref(2)?.as_str()?)?,
                changed: false,
                stored: true,
            })
        };
        let key = params![int(user.0), asset.0];
        let found = db.prepare_cached(sql)?.query_row(key, read).optional()?;
        let found = match found {
            Some(balance) => Some(balance),
            None => self.account(db, user)?.map(StoredBalance::empty),
        };
        if let Some(balance) = found {
            self.rows.insert((user, asset), balance);
        }
        Ok(found)
    }

    /// The status of an account; `None` where it does not exist.
    pub(crate) fn account(
        &self,
        db: &Connection,
        user: UserId,
    ) -> rusqlite::Result<Option<AccountStatus>> {
        // where rows of an older shape differ the strictest counts
        let sql = "SELECT status FROM balances_tb \
                   WHERE user_id = ? AND account_type = 'FUNDING' \
                   ORDER BY status <> 'DISABLED', status <> 'FROZEN' LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| columns::read_status(0, row.get_ref(0)?.as_str()?);
        let stored = db.prepare_cached(sql)?.query_row([int(user.0)], read).optional()?;
        let fresh = || self.rows.iter().find(|((owner, _), _)| *owner == user);
        Ok(stored.or_else(|| fresh().map(|(_, balance)| balance.status)))
    }

    /// Applies decided changes to the buffer.
    pub(crate) fn post(
        &mut self,
        balances: Vec<((UserId, AssetId), StoredBalance)>,
        books: Vec<(Book, i128)>,
    ) {
        self.rows.extend(balances);
        for (book, delta) in books {
            let sum = self.books.entry(book).or_default();
            *sum = sum.saturating_add(delta);
        }
    }

    /// Forgets what it read: a status was changed in the rows themselves.
    pub(crate) fn forget(&mut self, db: &Connection) -> rusqlite::Result<()> {
        self.write(db)?;
        self.rows.clear();
        Ok(())
    }

    /// Writes every changed row.
    pub(crate) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let sql = "UPDATE balances_tb SET available = ?3, frozen = ?4, version = version + 1 \
                   WHERE user_id = ?1 AND account_type = 'FUNDING' AND asset_id = ?2";
        let mut put = db.prepare_cached(sql)?;
        let sql = "INSERT INTO balances_tb \
                     (user_id, account_type, asset_id, available, frozen, status, version) \
                   VALUES (?1, 'FUNDING', ?2, ?3, ?4, ?5, 1)";
        let mut add = db.prepare_cached(sql)?;
        let mut changed: Vec<_> = self.rows.iter_mut().filter(|(_, row)| row.changed).collect();
        // neighbours share pages
        changed.sort_unstable_by_key(|(row, _)| **row);
        for ((user, asset), balance) in changed {
            balance.changed = false;
            let (user, available) = (int(user.0), columns::amount(balance.available));
            let frozen = columns::amount(balance.frozen);
            if std::mem::replace(&mut balance.stored, true) {
                put.execute(params![user, asset.0, available, frozen])?;
            } else {
                add.execute(params![user, asset.0, available, frozen, balance.status.name()])?;
            }
        }
        for (book, delta) in std::mem::take(&mut self.books) {
            if delta != 0 {
                shift(db, book, delta)?;
            }
        }
        Ok(())
    }
}

/// Adds to a stored book; the text of a sum is added up here, not by SQL.
fn shift(db: &Connection, of: Book, delta: i128) -> rusqlite::Result<()> {
    let Book { ledger, book, asset } = of;
    let key = params![ledger.name(), book.name(), int(LANE), asset.0];
    let sql = "SELECT amount FROM books WHERE account_type = ? \
               AND book = ? AND lane = ? AND asset_id = ?";
    let read = |row: &rusqlite::Row<'_>| columns::read_signed(0, row.get_ref(0)?.as_str()?);
    let before = db.prepare_cached(sql)?.query_row(key, read).optional()?.unwrap_or(0);
    let sum = before.checked_add(delta).ok_or_else(|| columns::damaged(0, "a sum too large"))?;
    let sql = "INSERT INTO books (account_type, book, lane, asset_id, amount) \
               VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (account_type, book, lane, asset_id) DO UPDATE SET amount = ?5";
    let row = params![ledger.name(), book.name(), int(LANE), asset.0, sum.to_string()];
    db.prepare_cached(sql)?.execute(row)?;
    Ok(())
}
