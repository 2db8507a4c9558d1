//! Buffers numbered accounts while the writer fills one journal write: it reads a row once for each
//! write and writes it once.

use crate::sqlite::columns::{self, int, most, uint};
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::ids::{AssetId, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row as the units so far left it.
#[derive(Debug)]
struct Buffered {
    account: NumberedAccount,
    stored: bool,
    changed: bool,
}

/// The accounts of one write, by number.
#[derive(Debug, Default)]
pub(crate) struct AccountBuffer(BTreeMap<Arc<str>, Buffered>);

impl AccountBuffer {
    pub(crate) fn account(
        &mut self,
        db: &Connection,
        number: &Arc<str>,
    ) -> rusqlite::Result<Option<NumberedAccount>> {
        if let Some(buffered) = self.0.get(number) {
            return Ok(Some(buffered.account.clone()));
        }
        let sql = format!("SELECT {COLUMNS} FROM accounts_tb WHERE account_number = ?");
        let found = db.prepare_cached(&sql)?.query_row([&**number], account).optional()?;
        if let Some(account) = &found {
            let buffered = Buffered { account: account.clone(), stored: true, changed: false };
            self.0.insert(number.clone(), buffered);
        }
        Ok(found)
    }

    /// Applies decided changes to the buffer; each is a version.
    pub(crate) fn post(&mut self, accounts: Vec<NumberedAccount>) {
        for mut now in accounts {
            let stored = now.version > 0;
            now.version = now.version.saturating_add(1);
            let stored = self.0.get(&now.number).map_or(stored, |before| before.stored);
            let buffered = Buffered { account: now, stored, changed: true };
            self.0.insert(buffered.account.number.clone(), buffered);
        }
    }

    /// Writes every changed row.
    pub(crate) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let changed = self.0.values_mut().filter(|buffered| buffered.changed);
        for Buffered { account, stored, changed } in changed {
            *changed = false;
            let balance = columns::amount(account.balance);
            let (status, version) = (account.status.name(), int(account.version));
            if std::mem::replace(stored, true) {
                let sql = "UPDATE accounts_tb SET balance = ?2, status = ?3, version = ?4 \
                           WHERE account_number = ?1";
                let row = params![&*account.number, balance, status, version];
                db.prepare_cached(sql)?.execute(row)?;
            } else {
                let sql = "INSERT INTO accounts_tb \
                             (account_number, owner_id, currency, balance, status, asset_id, version) \
                           SELECT ?1, ?2, symbol, ?4, ?5, asset_id, ?6 FROM assets_tb \
                           WHERE asset_id = ?3";
                let (owner, asset) = (int(account.owner.0), account.asset.0);
                let row = params![&*account.number, owner, asset, balance, status, version];
                db.prepare_cached(sql)?.execute(row)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &str = "account_number, owner_id, asset_id, balance, status, version";

fn account(row: &Row<'_>) -> rusqlite::Result<NumberedAccount> {
    let status = NumberedStatus::parse(row.get_ref(4)?.as_str()?);
    Ok(NumberedAccount {
        number: row.get_ref(0)?.as_str()?.into(),
        owner: UserId(uint(row.get(1)?)),
        asset: AssetId(row.get(2)?),
        balance: columns::read_amount(3, row.get_ref(3)?.as_str()?)?,
        status: status.ok_or_else(|| columns::damaged(4, "not a status"))?,
        version: uint(row.get(5)?),
    })
}

/// Numbered accounts, in the order of their numbers.
pub(crate) fn list(db: &Connection, of: &AccountsOf) -> rusqlite::Result<Vec<NumberedAccount>> {
    let ask = |rule: &str| format!("SELECT {COLUMNS} FROM accounts_tb {rule}");
    match of {
        AccountsOf::Numbers(numbers) => {
            let sql = ask("WHERE account_number IN (SELECT value FROM json_each(?)) ORDER BY 1");
            let numbers: Vec<&str> = numbers.iter().map(|number| &**number).collect();
            let json = serde_json::to_string(&numbers).unwrap_or_default();
            db.prepare_cached(&sql)?.query_map([json], account)?.collect()
        }
        AccountsOf::Owner(owner) => {
            let sql = ask("WHERE owner_id = ? ORDER BY 1");
            db.prepare_cached(&sql)?.query_map([int(owner.0)], account)?.collect()
        }
        AccountsOf::After(number, limit) => {
            let sql = ask("WHERE account_number > ? ORDER BY 1 LIMIT ?");
            let key = params![&**number, most(*limit)];
            db.prepare_cached(&sql)?.query_map(key, account)?.collect()
        }
    }
}
