//! Answers the rules' questions (`StateReader`) from SQLite, at the moment of the question, for the
//! writer. The answer includes what earlier units of the same write did, whether it is written or still
//! buffered.

use super::batch::WriteBatch;
use crate::sqlite::funding::operations;
use crate::sqlite::read::{named_values, transfers};
use crate::sqlite::{columns, ledger_owners};
use kernel::accounts::NumberedAccount;
use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId};
use kernel::limits::DailyUsage;
use kernel::operation::{Known, Operation};
use kernel::operators::ApprovalStatus;
use kernel::rules::{LockKey, StateReader, StoredAttempt, StoredBalance, StoredTransfer, UsageKey};
use rusqlite::{OptionalExtension, Row, params};
use std::sync::Arc;

impl StateReader for WriteBatch<'_> {
    type Error = rusqlite::Error;

    fn at(&self) -> Millis {
        self.at
    }

    fn clock(&self) -> Millis {
        self.at
    }

    fn halted(&self) -> bool {
        self.state.halted
    }

    fn halts(&self) -> u64 {
        self.state.halts
    }

    fn horizon(&self) -> Option<Id> {
        self.state.horizon
    }

    fn number(&self) -> u64 {
        self.state.seq.saturating_add(1)
    }

    fn transfer(&mut self, id: Id) -> rusqlite::Result<Option<StoredTransfer>> {
        if self.state.opened.is_none_or(|highest| id > highest) {
            return Ok(None);
        }
        let sql = "SELECT transfer_id, flow, state, version, batch, events, chain, due_at, \
                   agreed IS NOT NULL \
                   FROM transfers WHERE req_id = ?";
        let read = |row: &Row<'_>| {
            let flow = self.flows.named(row.get_ref(1)?.as_str()?);
            Ok(StoredTransfer {
                transfer: row.get(0)?,
                flow: flow.ok_or_else(|| columns::damaged(1, "not a flow of ours"))?,
                code: row.get(2)?,
                version: row.get(3)?,
                batch: row.get(4)?,
                events: row.get(5)?,
                chain: row.get(6)?,
                due: row.get::<_, Option<i64>>(7)?.is_some(),
                agreed: row.get(8)?,
            })
        };
        self.db.prepare_cached(sql)?.query_row([id.to_string()], read).optional()
    }

    fn find_by_idempotency_key(
        &mut self,
        flow: FlowId,
        scope: &Arc<str>,
        key: &Arc<str>,
    ) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM keys WHERE flow = ? AND scope = ? AND cid = ?";
        self.db.prepare_cached(sql)?.exists([self.flows.table(flow).flow, &**scope, &**key])
    }

    fn current(&mut self, ledger: LedgerId) -> rusqlite::Result<Option<Known>> {
        transfers::current(self.db, ledger)
    }

    fn epoch(&mut self, ledger: LedgerId) -> rusqlite::Result<u64> {
        Ok(self.value(&ledger_owners::name(ledger))?.map_or(0, |(_, version)| version))
    }

    fn legs(&mut self, id: Id) -> rusqlite::Result<&[(LedgerId, Operation)]> {
        if self.legs.as_ref().is_none_or(|(of, _)| *of != id) {
            let none = self.state.operated.is_none_or(|highest| id > highest);
            let stored = if none { Vec::new() } else { operations::of(self.db, id)? };
            self.legs = Some((id, stored));
        }
        Ok(self.legs.as_ref().map_or(&[], |(_, stored)| stored.as_slice()))
    }

    fn knows(&mut self, asset: AssetId) -> rusqlite::Result<bool> {
        if self.assets.is_none() {
            let mut ask = self.db.prepare_cached("SELECT asset_id FROM assets_tb")?;
            let read = |row: &Row<'_>| row.get(0).map(AssetId);
            self.assets = Some(ask.query_map([], read)?.collect::<rusqlite::Result<_>>()?);
        }
        Ok(self.assets.as_ref().is_some_and(|assets| assets.contains(&asset)))
    }

    fn balance(&mut self, user: UserId, asset: AssetId) -> rusqlite::Result<Option<StoredBalance>> {
        self.balances.balance(self.db, user, asset)
    }

    fn numbered_account(&mut self, number: &Arc<str>) -> rusqlite::Result<Option<NumberedAccount>> {
        self.accounts.account(self.db, number)
    }

    fn daily_usage(&mut self, spend: UsageKey) -> rusqlite::Result<DailyUsage> {
        self.days.daily_usage(self.db, spend)
    }

    fn attempt(&mut self, id: AttemptId) -> rusqlite::Result<Option<StoredAttempt>> {
        self.stored_attempt(id)
    }

    fn lock_taken(&mut self, lock: &LockKey) -> rusqlite::Result<bool> {
        self.is_lock_taken(lock)
    }

    fn resource(&mut self, name: &Arc<str>) -> rusqlite::Result<u64> {
        Ok(self.value(&format!("resource/{name}"))?.map_or(0, |(_, version)| version))
    }

    fn counter(&mut self, name: &Arc<str>) -> rusqlite::Result<u128> {
        named_values::counter(self.db, name)
    }

    fn seen(&mut self, consumer: &'static str, event: u128) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM inbox WHERE consumer = ? AND event_id = ?";
        self.db.prepare_cached(sql)?.exists(params![consumer, format!("{event:032x}")])
    }

    fn past_action(&mut self, caller: &Arc<str>, key: &Arc<str>) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM operator_actions WHERE caller = ? AND idempotency_key = ?";
        self.db.prepare_cached(sql)?.exists([&**caller, &**key])
    }

    fn approval_status(&mut self, id: Id) -> rusqlite::Result<Option<(ApprovalStatus, Millis)>> {
        let sql = "SELECT status, expires_at FROM approvals WHERE approval_id = ?";
        let read = |row: &Row<'_>| {
            let stand = columns::read_stand(0, row.get_ref(0)?.as_str()?)?;
            Ok((stand, columns::uint(row.get(1)?)))
        };
        self.db.prepare_cached(sql)?.query_row([id.to_string()], read).optional()
    }

    fn superseded(&mut self, ledger: LedgerId, known: &Known) -> rusqlite::Result<bool> {
        let sql = "SELECT current FROM ledgers_tb WHERE ledger = ? AND incarnation = ?";
        let key = params![ledger.0, format!("{:032x}", known.incarnation.0)];
        let current: Option<bool> =
            self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        Ok(current == Some(false))
    }
}
