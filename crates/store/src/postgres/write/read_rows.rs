//! Runs the first round trip of a write: it begins the transaction, and reads the time, the flags, and
//! every row that the items name, under their locks.

use super::client_keys;
use super::connection::WriteConnection;
use super::row_set::RowSet;
use super::statement::{Params, borrowed, params};
use super::workspace::{
    BalanceChange, BalanceRow, BatchWorkspace, ServiceFlags, TransferRow, UsageRow, WriteNumbers,
};
use crate::postgres::columns::{self, count, int, small, uint};
use crate::postgres::error::StoreError;
use crate::postgres::rows::{ledger, operation};
use crate::postgres::{attempts, inbox, named_values, number_blocks, numbered_accounts};
use futures_util::future::join_all;
use kernel::audit::Hash;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, Id, UserId};
use kernel::limits::DailyUsage;
use kernel::operation::{Identity, Incarnation, Known};
use kernel::rules::{StoredBalance, StoredTransfer, UsageKey};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// Every write holds this advisory lock, shared; a write that changes flags or systems holds it
/// alone, so that every later write sees the change and no earlier one is still under way.
pub(crate) const SERVICE_STATE_LOCK: i64 = 0x506f_7274_0002;
/// Held, alone, by a write that adds to an audit chain.
pub(crate) const AUDIT_CHAIN_LOCK: i64 = 0x506f_7274_0003;

/// What a transaction holds from its beginning to its end, beside rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransactionLocks {
    /// It changes flags or systems: no other write is under way.
    pub(crate) exclusive: bool,
    /// It adds to an audit chain.
    pub(crate) audit_chain: bool,
}

impl TransactionLocks {
    /// Begins it; `opens`: it takes numbers for transfers, which others may commit before.
    fn begin(self, opens: bool) -> String {
        let mut sql = "BEGIN".to_owned();
        if self.exclusive {
            // later writes wait behind this one: not for long, if a transaction stands still
            sql += &format!(
                "; SET LOCAL lock_timeout = 100; SELECT pg_advisory_xact_lock({SERVICE_STATE_LOCK})"
            );
        } else {
            sql += &format!("; SELECT pg_advisory_xact_lock_shared({SERVICE_STATE_LOCK})");
        }
        if self.audit_chain {
            sql += &format!("; SELECT pg_advisory_xact_lock({AUDIT_CHAIN_LOCK})");
        }
        if opens {
            sql += &format!("; {}", number_blocks::announce());
        }
        sql
    }
}

/// How a write meets rows that another transaction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// It leaves them out.
    Skip,
    /// It waits, as long as the session allows.
    Wait,
}

const FLAGS: &str = "SELECT portage_now(), \
    (SELECT value FROM service_state WHERE name = 'halted') IS NOT NULL, \
    (SELECT value FROM service_state WHERE name = 'horizon'), \
    CASE WHEN $1 THEN nextval('transfer_blocks') ELSE 0 END, \
    CASE WHEN $2 THEN nextval('operation_blocks') ELSE 0 END, \
    ARRAY(SELECT asset_id FROM assets_tb), \
    ARRAY(SELECT ledger FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT identity FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT incarnation FROM ledgers_tb WHERE current ORDER BY ledger), \
    ARRAY(SELECT ledger FROM ledger_owners ORDER BY ledger), \
    ARRAY(SELECT epoch FROM ledger_owners ORDER BY ledger), \
    (pg_current_wal_flush_lsn() - '0/0')::bigint, \
    (SELECT coalesce(max(halt), 0) FROM halts), \
    current_setting('synchronous_standby_names') <> ''";

const TRANSFERS: &str = "SELECT t.req_id, t.transfer_id, t.flow, t.state, t.version, t.batch, t.events, \
    t.chain, EXISTS (SELECT 1 FROM due d WHERE d.transfer_id = t.transfer_id), t.agreed IS NOT NULL \
    FROM transfers t WHERE t.req_id = ANY($1) ORDER BY t.req_id FOR NO KEY UPDATE OF t";

const BALANCES: &str = "SELECT b.user_id, b.asset_id, b.available::text, b.frozen::text, b.status \
    FROM unnest($1::bigint[], $2::int[]) AS n(user_id, asset_id) JOIN balances_tb b \
    ON b.user_id = n.user_id AND b.account_type = 'FUNDING' AND b.asset_id = n.asset_id \
    ORDER BY b.user_id, b.asset_id FOR NO KEY UPDATE OF b";

const USAGE: &str = "SELECT l.day, l.user_id, l.asset_id, l.transfers, l.amount::text \
    FROM unnest($1::int[], $2::bigint[], $3::int[]) AS n(day, user_id, asset_id) JOIN limits_tb l \
    ON l.day = n.day AND l.user_id = n.user_id AND l.asset_id = n.asset_id \
    ORDER BY l.day, l.user_id, l.asset_id FOR NO KEY UPDATE OF l";

const OPERATIONS: &str = "SELECT req_id, leg, result, code, seq, asset_id, amount::text, account, ledger, other_account \
    FROM operations WHERE req_id = ANY($1)";

pub(crate) fn locking(sql: &str, wait: LockMode) -> String {
    match wait {
        LockMode::Skip => format!("{sql} SKIP LOCKED"),
        LockMode::Wait => sql.to_owned(),
    }
}

/// A query of the first round trip.
pub(crate) type Query = (String, Params);

/// Rows as an account names them: locked for a moment, to see that no other transaction holds them.
const BALANCE: &str = "SELECT FROM balances_tb WHERE user_id = $1 AND account_type = 'FUNDING' \
    AND asset_id = $2 FOR NO KEY UPDATE";
const TRANSFER: &str = "SELECT FROM transfers WHERE req_id = $1 FOR NO KEY UPDATE";

impl WriteConnection {
    /// Waits until no other transaction holds a balance, at most for `limit`.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still does.
    pub(crate) async fn wait_for_balance(
        &self,
        user: UserId,
        asset: AssetId,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(BALANCE, &params![int(user.0), small(asset.0)], limit).await
    }

    /// Waits until no other transaction holds a transfer, at most for `limit`.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still does.
    pub(crate) async fn wait_for_transfer(
        &self,
        id: Id,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(TRANSFER, &params![columns::uuid(id)], limit).await
    }

    /// Runs a statement that may wait in a transaction of its own, which holds nothing else and
    /// changes nothing, at most for `limit`.
    pub(crate) async fn wait_for_lock(
        &self,
        sql: &str,
        params: &Params,
        limit: Duration,
    ) -> Result<(), StoreError> {
        let tried = self.prepared(sql).await?;
        let begin = format!("BEGIN; SET LOCAL lock_timeout = {}", limit.as_millis());
        self.client.batch(&begin).await?;
        let waited = self.client.execute(&tried, &borrowed(params)).await;
        self.rollback().await?;
        waited?;
        Ok(())
    }

    /// Begins a transaction and reads what the items need; everything that it names is ours until
    /// the transaction ends, or marked as another transaction's.
    pub(crate) async fn read_rows(
        &self,
        flows: &Flows,
        row_set: &RowSet,
        wait: LockMode,
        locks: TransactionLocks,
    ) -> Result<BatchWorkspace, StoreError> {
        // a fence looks for an operation, and becomes one
        let looks = !row_set.legs.is_empty() || locks != TransactionLocks::default();
        let operates = row_set.operates || looks;
        let flags: Query =
            (FLAGS.to_owned(), vec![Box::new(row_set.opens > 0), Box::new(operates)]);
        let mut queries = vec![flags];
        queries.extend(self.balance_query(row_set, wait));
        queries.extend(numbered_accounts::query(row_set, wait));
        queries.extend(transfer_query(&row_set.transfers, wait));
        queries.extend(usage_query(&row_set.days, wait));
        queries.extend(operation_query(&row_set.legs));
        queries.extend(client_keys::query(flows, row_set));
        queries.extend(inbox::query(row_set));
        queries.extend(named_values::query(row_set, wait));
        queries.extend(attempts::write::query(row_set, wait));
        queries.extend(attempts::write::lock_query(row_set));
        let mut answers = self.all(queries, &locks.begin(row_set.opens > 0)).await?.into_iter();
        let mut workspace = BatchWorkspace { numbers: self.numbers(), ..BatchWorkspace::default() };
        for id in &row_set.fresh {
            workspace.transfers.insert(*id, TransferRow::Absent);
        }
        if let Some(rows) = answers.next() {
            self.flags(&mut workspace, rows.first().ok_or(StoreError::Damaged("no flags"))?)?;
        }
        if !row_set.balances.is_empty() {
            take_balances(&mut workspace, answers.next().unwrap_or_default())?;
        }
        if !row_set.accounts.is_empty() {
            numbered_accounts::take(&mut workspace, &answers.next().unwrap_or_default())?;
        }
        if !row_set.transfers.is_empty() {
            take_transfers(&mut workspace, flows, answers.next().unwrap_or_default())?;
        }
        if !row_set.days.is_empty() {
            take_usage(&mut workspace, answers.next().unwrap_or_default())?;
        }
        if !row_set.legs.is_empty() {
            for row in answers.next().unwrap_or_default() {
                let (ledger, operation) = operation(&row)?;
                workspace.legs.entry(operation.op.key.id).or_default().push((ledger, operation));
            }
        }
        if !row_set.keys.is_empty() {
            client_keys::read(&mut workspace, row_set, answers.next().unwrap_or_default())?;
        }
        if !row_set.inbox.is_empty() {
            inbox::read(&mut workspace, row_set, &answers.next().unwrap_or_default())?;
        }
        if !row_set.named.is_empty() {
            named_values::take(&mut workspace, &answers.next().unwrap_or_default())?;
        }
        if !row_set.attempts.is_empty() {
            attempts::write::take(&mut workspace, &answers.next().unwrap_or_default())?;
        }
        if !row_set.locks.is_empty() {
            let found = answers.next().unwrap_or_default();
            attempts::write::take_locks(&mut workspace, row_set, &found)?;
        }
        self.missing(&mut workspace, row_set).await?;
        Ok(workspace)
    }

    /// Sends all queries at once.
    async fn all(&self, queries: Vec<Query>, begin: &str) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut ready = Vec::with_capacity(queries.len());
        for (sql, params) in queries {
            ready.push((self.prepared(&sql).await?, params));
        }
        let begun = self.client.batch(begin);
        let asked = join_all(ready.iter().map(|(statement, params)| async move {
            self.client.query(statement, &borrowed(params)).await
        }));
        // the first is sent first, and nothing waits for its answer
        let (begun, asked) = futures_util::future::join(begun, asked).await;
        begun?;
        asked.into_iter().map(|rows| rows.map_err(StoreError::from)).collect()
    }

    fn balance_query(&self, row_set: &RowSet, wait: LockMode) -> Option<Query> {
        if row_set.balances.is_empty() {
            return None;
        }
        let users: Vec<i64> = row_set.balances.iter().map(|(user, _)| int(user.0)).collect();
        let assets: Vec<i32> = row_set.balances.iter().map(|(_, asset)| small(asset.0)).collect();
        Some((locking(BALANCES, wait), vec![Box::new(users), Box::new(assets)]))
    }

    fn flags(&self, workspace: &mut BatchWorkspace, row: &Row) -> Result<(), StoreError> {
        let time = self.time(uint(row.try_get(0)?));
        (workspace.at, workspace.put, workspace.ahead) = (time.at, time.put, time.ahead);
        let horizon: Option<&str> = row.try_get(2)?;
        let horizon = horizon.map(str::parse).transpose();
        let assets: Vec<i32> = row.try_get(5)?;
        let ledgers: Vec<i16> = row.try_get(6)?;
        let identities: Vec<Uuid> = row.try_get(7)?;
        let incarnations: Vec<Uuid> = row.try_get(8)?;
        let who = identities.iter().zip(&incarnations).map(|(identity, incarnation)| Known {
            identity: Identity(identity.as_u128()),
            incarnation: Incarnation(incarnation.as_u128()),
            highest: 0,
        });
        self.reached(uint(row.try_get(11)?));
        self.requires(row.try_get(13)?);
        let owned: Vec<i16> = row.try_get(9)?;
        let epochs: Vec<i64> = row.try_get(10)?;
        workspace.flags = ServiceFlags {
            halted: row.try_get(1)?,
            halts: uint(row.try_get(12)?),
            horizon: horizon.map_err(|_| StoreError::Damaged("not a horizon"))?,
            ledgers: ledgers.into_iter().map(ledger).zip(who).collect(),
            epochs: owned.into_iter().map(ledger).zip(epochs.into_iter().map(uint)).collect(),
            assets: assets.into_iter().map(|asset| AssetId(count(asset))).collect(),
        };
        let block: i64 = row.try_get(3)?;
        let seq: i64 = row.try_get(4)?;
        workspace.numbers =
            WriteNumbers { batch: block, serial: block, seq: uint(seq), ..workspace.numbers };
        Ok(())
    }

    /// What was not found under its lock: it is not there, or another transaction holds it. Only a
    /// plain read tells.
    async fn missing(
        &self,
        workspace: &mut BatchWorkspace,
        row_set: &RowSet,
    ) -> Result<(), StoreError> {
        let users: BTreeSet<i64> = row_set
            .balances
            .iter()
            .filter(|key| !workspace.balances.contains_key(key))
            .map(|(user, _)| int(user.0))
            .collect();
        if !users.is_empty() {
            self.missing_balances(workspace, row_set, users.into_iter().collect()).await?;
        }
        self.missing_accounts(workspace, row_set).await?;
        self.missing_named(workspace, row_set).await?;
        self.missing_attempts(workspace, row_set).await?;
        let transfers: Vec<Uuid> = row_set
            .transfers
            .iter()
            .filter(|id| !workspace.transfers.contains_key(id))
            .map(|id| columns::uuid(*id))
            .collect();
        if !transfers.is_empty() {
            let sql = "SELECT req_id FROM transfers WHERE req_id = ANY($1)";
            let rows = self.client.query(&self.prepared(sql).await?, &[&transfers]).await?;
            for row in rows {
                workspace.transfers.insert(columns::id(row.try_get(0)?), TransferRow::Locked);
            }
            for id in transfers.into_iter().map(columns::id) {
                workspace.transfers.entry(id).or_insert(TransferRow::Absent);
            }
        }
        let days: Vec<UsageKey> =
            row_set.days.iter().filter(|key| !workspace.usage.contains_key(key)).copied().collect();
        if !days.is_empty() {
            self.missing_usage(workspace, days).await?;
        }
        Ok(())
    }

    async fn missing_balances(
        &self,
        workspace: &mut BatchWorkspace,
        row_set: &RowSet,
        users: Vec<i64>,
    ) -> Result<(), StoreError> {
        // where rows of an older shape differ the strictest counts, which comes last
        let sql = "SELECT user_id, asset_id, status FROM balances_tb \
                   WHERE user_id = ANY($1) AND account_type = 'FUNDING' \
                   ORDER BY status = 'DISABLED', status = 'FROZEN'";
        let rows = self.client.query(&self.prepared(sql).await?, &[&users]).await?;
        let mut accounts = std::collections::BTreeMap::new();
        for row in rows {
            let user = UserId(uint(row.try_get(0)?));
            let asset = AssetId(count(row.try_get(1)?));
            if row_set.balances.contains(&(user, asset)) {
                workspace.balances.entry((user, asset)).or_insert(BalanceRow::Locked);
            }
            accounts.insert(user, columns::read_status(row.try_get(2)?)?);
        }
        for (user, asset) in &row_set.balances {
            // an asset that the account does not hold yet takes the account's status
            let empty =
                |status: &_| BalanceRow::Owned(BalanceChange::read(StoredBalance::empty(*status)));
            let fresh = accounts.get(user).map_or(BalanceRow::Absent, empty);
            workspace.balances.entry((*user, *asset)).or_insert(fresh);
        }
        Ok(())
    }

    async fn missing_usage(
        &self,
        workspace: &mut BatchWorkspace,
        days: Vec<UsageKey>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT l.day, l.user_id, l.asset_id \
                   FROM unnest($1::int[], $2::bigint[], $3::int[]) AS n(day, user_id, asset_id) \
                   JOIN limits_tb l USING (day, user_id, asset_id)";
        let (day, user, asset) = columns(days.iter());
        let rows = self.client.query(&self.prepared(sql).await?, &[&day, &user, &asset]).await?;
        for row in rows {
            workspace.usage.insert(spend(&row)?, UsageRow::Locked);
        }
        for key in days {
            let none = UsageRow::Owned(DailyUsage::default(), DailyUsage::default(), false);
            workspace.usage.entry(key).or_insert(none);
        }
        Ok(())
    }
}

fn transfer_query(ids: &BTreeSet<Id>, wait: LockMode) -> Option<Query> {
    let ids: Vec<Uuid> = ids.iter().copied().map(columns::uuid).collect();
    (!ids.is_empty()).then(|| -> Query { (locking(TRANSFERS, wait), vec![Box::new(ids)]) })
}

fn operation_query(ids: &BTreeSet<Id>) -> Option<Query> {
    let ids: Vec<Uuid> = ids.iter().copied().map(columns::uuid).collect();
    (!ids.is_empty()).then(|| -> Query { (OPERATIONS.to_owned(), vec![Box::new(ids)]) })
}

fn columns<'s>(days: impl Iterator<Item = &'s UsageKey>) -> (Vec<i32>, Vec<i64>, Vec<i32>) {
    let (mut day, mut user, mut asset) = (Vec::new(), Vec::new(), Vec::new());
    for (of, whose, what) in days {
        day.push(small(of.0));
        user.push(int(whose.0));
        asset.push(small(what.0));
    }
    (day, user, asset)
}

fn usage_query(days: &BTreeSet<UsageKey>, wait: LockMode) -> Option<Query> {
    if days.is_empty() {
        return None;
    }
    let (day, user, asset) = columns(days.iter());
    Some((locking(USAGE, wait), vec![Box::new(day), Box::new(user), Box::new(asset)]))
}

fn take_balances(workspace: &mut BatchWorkspace, rows: Vec<Row>) -> Result<(), StoreError> {
    for row in rows {
        let key = (UserId(uint(row.try_get(0)?)), AssetId(count(row.try_get(1)?)));
        let balance = StoredBalance {
            available: columns::read_amount(row.try_get(2)?)?,
            frozen: columns::read_amount(row.try_get(3)?)?,
            status: columns::read_status(row.try_get(4)?)?,
            stored: true,
            changed: false,
        };
        workspace.balances.insert(key, BalanceRow::Owned(BalanceChange::read(balance)));
    }
    Ok(())
}

fn take_transfers(
    workspace: &mut BatchWorkspace,
    flows: &Flows,
    rows: Vec<Row>,
) -> Result<(), StoreError> {
    for row in rows {
        let chain: &[u8] = row.try_get(7)?;
        let flow = flows.named(row.try_get(2)?).ok_or(StoreError::Damaged("not a flow of ours"))?;
        let stored = StoredTransfer {
            transfer: row.try_get(1)?,
            flow,
            code: row.try_get(3)?,
            version: count(row.try_get(4)?),
            batch: row.try_get(5)?,
            events: count(row.try_get(6)?),
            chain: Hash::try_from(chain).map_err(|_| StoreError::Damaged("not a hash"))?,
            due: row.try_get(8)?,
            agreed: row.try_get(9)?,
        };
        workspace.transfers.insert(columns::id(row.try_get(0)?), TransferRow::Owned(stored));
    }
    Ok(())
}

fn spend(row: &Row) -> Result<UsageKey, StoreError> {
    let day = Day(count(row.try_get(0)?));
    Ok((day, UserId(uint(row.try_get(1)?)), AssetId(count(row.try_get(2)?))))
}

fn take_usage(workspace: &mut BatchWorkspace, rows: Vec<Row>) -> Result<(), StoreError> {
    for row in rows {
        let amount = columns::read_amount(row.try_get(4)?)?;
        let stored = DailyUsage { transfers: uint(row.try_get(3)?), amount };
        workspace.usage.insert(spend(&row)?, UsageRow::Owned(stored, stored, true));
    }
    Ok(())
}
