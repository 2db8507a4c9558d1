//! Stores numbered accounts, which are rows of `accounts_tb`: a write reads them under their locks in
//! the order of their numbers, and writes them in one statement; a query lists them.

use super::columns::{self, count, int, most, small, uint};
use super::error::StoreError;
use super::read::read_pool::{ReadPool, rows};
use super::write::connection::WriteConnection;
use super::write::read_rows::{LockMode, Query, locking};
use super::write::row_set::RowSet;
use super::write::statement::{Statements, params};
use super::write::workspace::BatchWorkspace;
use super::write::write_rows::column;
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::answer::Cause;
use kernel::ids::{AssetId, UserId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;

/// A numbered account in a write.
#[derive(Debug, Clone)]
pub(crate) enum NumberedRow {
    Absent,
    /// It is ours for this write.
    Owned(OwnedAccount),
    /// Another transaction holds it.
    Locked,
}

/// A numbered account that is decided on.
#[derive(Debug, Clone)]
pub(crate) struct OwnedAccount {
    pub(crate) now: NumberedAccount,
    /// The version of its row; 0: it has none yet.
    was: u64,
}

impl NumberedRow {
    /// The account that is to be written.
    fn changed(&self) -> Option<&OwnedAccount> {
        match self {
            Self::Owned(owned) => Some(owned).filter(|owned| owned.now.version != owned.was),
            Self::Absent | Self::Locked => None,
        }
    }
}

const COLUMNS: &str = "account_number, owner_id, asset_id, balance::text, status, version";

const READ: &str = "SELECT account_number, owner_id, asset_id, balance::text, status, version \
    FROM accounts_tb WHERE account_number = ANY($1) ORDER BY account_number FOR NO KEY UPDATE";

const CHANGED: &str = "UPDATE accounts_tb a \
    SET balance = n.balance::numeric, status = n.status, version = n.version \
    FROM (SELECT unnest($1::text[]) AS number, unnest($2::text[]) AS balance, \
      unnest($3::text[]) AS status, unnest($4::bigint[]) AS version, unnest($5::bigint[]) AS was) n \
    WHERE a.account_number = n.number AND a.version = n.was RETURNING 1";

const OPENED: &str = "INSERT INTO accounts_tb \
    (account_number, owner_id, currency, balance, status, asset_id, version) \
    SELECT n.number, n.owner, a.symbol, n.balance::numeric, n.status, n.asset, n.version \
    FROM (SELECT unnest($1::text[]) AS number, unnest($2::text[]) AS balance, \
      unnest($3::text[]) AS status, unnest($4::bigint[]) AS version, unnest($5::bigint[]) AS owner, \
      unnest($6::int[]) AS asset) n JOIN assets_tb a ON a.asset_id = n.asset RETURNING 1";

fn account(row: &Row) -> Result<NumberedAccount, StoreError> {
    let status = NumberedStatus::parse(row.try_get(4)?);
    Ok(NumberedAccount {
        number: row.try_get::<_, &str>(0)?.into(),
        owner: UserId(uint(row.try_get(1)?)),
        asset: AssetId(count(row.try_get(2)?)),
        balance: columns::read_amount(row.try_get(3)?)?,
        status: status.ok_or(StoreError::Damaged("not a status of an account"))?,
        version: uint(row.try_get(5)?),
    })
}

fn texts<'n>(numbers: impl Iterator<Item = &'n Arc<str>>) -> Vec<String> {
    numbers.map(|number| number.to_string()).collect()
}

/// The query for the accounts that items name; it takes their locks in one order.
pub(crate) fn query(row_set: &RowSet, wait: LockMode) -> Option<Query> {
    let numbers = texts(row_set.accounts.iter());
    (!numbers.is_empty()).then(|| -> Query { (locking(READ, wait), params![numbers]) })
}

pub(crate) fn take(workspace: &mut BatchWorkspace, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        let now = account(row)?;
        let was = now.version;
        let row = NumberedRow::Owned(OwnedAccount { was, now });
        if let NumberedRow::Owned(owned) = &row {
            workspace.accounts.insert(owned.now.number.clone(), row);
        }
    }
    Ok(())
}

impl WriteConnection {
    /// What was not found under its lock: it is not there, or another transaction holds it.
    pub(crate) async fn missing_accounts(
        &self,
        workspace: &mut BatchWorkspace,
        row_set: &RowSet,
    ) -> Result<(), StoreError> {
        let found = &workspace.accounts;
        let missing = row_set.accounts.iter().filter(|number| !found.contains_key(&***number));
        let numbers = texts(missing);
        if numbers.is_empty() {
            return Ok(());
        }
        let sql = "SELECT account_number FROM accounts_tb WHERE account_number = ANY($1)";
        for row in self.client.query(&self.prepared(sql).await?, &[&numbers]).await? {
            workspace.accounts.insert(row.try_get::<_, &str>(0)?.into(), NumberedRow::Locked);
        }
        for number in numbers {
            workspace.accounts.entry(number.into()).or_insert(NumberedRow::Absent);
        }
        Ok(())
    }

    /// Waits until no other transaction holds any of these accounts, at most for `limit`.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still does.
    pub(crate) async fn wait_for_accounts(
        &self,
        numbers: &BTreeSet<Arc<str>>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(READ, &params![texts(numbers.iter())], limit).await
    }
}

impl BatchWorkspace {
    /// Applies decided changes to the workspace; each is a version.
    pub(crate) fn post_accounts(&mut self, accounts: Vec<NumberedAccount>) {
        for mut now in accounts {
            let was = match self.accounts.get(&now.number) {
                Some(NumberedRow::Owned(owned)) => owned.was,
                // nothing is posted to what was not read
                Some(NumberedRow::Absent | NumberedRow::Locked) | None => 0,
            };
            now.version = now.version.saturating_add(1);
            let number = now.number.clone();
            self.accounts.insert(number, NumberedRow::Owned(OwnedAccount { now, was }));
        }
    }
}

impl Statements {
    /// Accounts that change, in the order of their numbers.
    pub(crate) fn accounts(&mut self, workspace: &BatchWorkspace) {
        let (new, old): (Vec<&OwnedAccount>, Vec<_>) = workspace
            .accounts
            .values()
            .filter_map(NumberedRow::changed)
            .partition(|owned| owned.was == 0);
        let shared = |rows: &[&OwnedAccount]| {
            params![
                column(rows, |owned| owned.now.number.to_string()),
                column(rows, |owned| owned.now.balance.0.to_string()),
                column(rows, |owned| owned.now.status.name()),
                column(rows, |owned| int(owned.now.version)),
            ]
        };
        if !old.is_empty() {
            let mut all = shared(&old);
            all.extend(params![column(&old, |owned| int(owned.was))]);
            self.exactly(old.len(), CHANGED, all);
        }
        if !new.is_empty() {
            let mut all = shared(&new);
            let owner = column(&new, |owned| int(owned.now.owner.0));
            all.extend(params![owner, column(&new, |owned| small(owned.now.asset.0))]);
            self.exactly(new.len(), OPENED, all);
        }
    }
}

impl ReadPool {
    /// Numbered accounts, in the order of their numbers.
    pub(crate) async fn numbered_accounts(
        &self,
        of: &AccountsOf,
    ) -> Result<Vec<NumberedAccount>, Cause> {
        let ask = |rule: &str| format!("SELECT {COLUMNS} FROM accounts_tb WHERE {rule}");
        let db = self.question().await?;
        let found = match of {
            AccountsOf::Numbers(numbers) => {
                let numbers = texts(numbers.iter());
                let sql = ask("account_number = ANY($1) ORDER BY account_number");
                rows(&db, &sql, &[&numbers]).await?
            }
            AccountsOf::Owner(owner) => {
                let sql = ask("owner_id = $1 ORDER BY account_number");
                rows(&db, &sql, &[&int(owner.0)]).await?
            }
            AccountsOf::After(number, limit) => {
                let sql = ask("account_number > $1 ORDER BY account_number LIMIT $2");
                rows(&db, &sql, &[&&**number, &most(*limit)]).await?
            }
        };
        Ok(found.iter().map(account).collect::<Result<_, _>>()?)
    }
}
