//! Answers the rules' questions (`StateReader`) from the workspace, for the writer: the first round
//! trip has read every row already, under its lock.

use super::workspace::{BalanceRow, BatchWorkspace, TransferRow, Undecided, UsageRow};
use crate::postgres::error::StoreError;
use crate::postgres::numbered_accounts::NumberedRow;
use kernel::accounts::NumberedAccount;
use kernel::answer::Evidence;
use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId};
use kernel::limits::DailyUsage;
use kernel::operation::{Key, Known, Operation};
use kernel::operators::ApprovalStatus;
use kernel::rules::{LockKey, StateReader, StoredAttempt, StoredBalance, StoredTransfer, UsageKey};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The row as it was read. The first round trip reads every row that the rules ask for.
fn read<K: Eq + Hash, V: Copy>(rows: &HashMap<K, V>, key: &K) -> Result<V, Undecided> {
    rows.get(key)
        .copied()
        .ok_or(Undecided::Error(StoreError::Damaged("a row that was not asked for")))
}

impl StateReader for BatchWorkspace {
    type Error = Undecided;

    fn at(&self) -> Millis {
        self.at
    }

    fn clock(&self) -> Millis {
        self.put
    }

    fn halted(&self) -> bool {
        self.flags.halted
    }

    fn halts(&self) -> u64 {
        self.flags.halts
    }

    fn horizon(&self) -> Option<Id> {
        self.flags.horizon
    }

    fn number(&self) -> u64 {
        self.numbers.seq
    }

    fn transfer(&mut self, id: Id) -> Result<Option<StoredTransfer>, Undecided> {
        match read(&self.transfers, &id)? {
            TransferRow::Owned(stored) => Ok(Some(stored)),
            TransferRow::Absent => Ok(None),
            TransferRow::Locked => Err(Undecided::Locked),
        }
    }

    fn find_by_idempotency_key(
        &mut self,
        flow: FlowId,
        scope: &Arc<str>,
        key: &Arc<str>,
    ) -> Result<bool, Undecided> {
        let bound = (flow, scope.clone(), key.clone());
        if self.changes.bound_keys.contains(&bound) {
            return Err(Undecided::Again);
        }
        Ok(self.bound_keys.contains(&bound))
    }

    fn current(&mut self, ledger: LedgerId) -> Result<Option<Known>, Undecided> {
        let stored = self.flags.ledgers.iter().find(|(other, _)| *other == ledger);
        Ok(stored.map(|(_, known)| *known))
    }

    fn epoch(&mut self, ledger: LedgerId) -> Result<u64, Undecided> {
        let stored = self.flags.epochs.iter().find(|(other, _)| *other == ledger);
        Ok(stored.map_or(0, |(_, epoch)| *epoch))
    }

    fn legs(&mut self, id: Id) -> Result<&[(LedgerId, Operation)], Undecided> {
        Ok(self.legs.get(&id).map_or(&[], Vec::as_slice))
    }

    fn knows(&mut self, asset: AssetId) -> Result<bool, Undecided> {
        Ok(self.flags.assets.contains(&asset))
    }

    fn balance(
        &mut self,
        user: UserId,
        asset: AssetId,
    ) -> Result<Option<StoredBalance>, Undecided> {
        match read(&self.balances, &(user, asset))? {
            BalanceRow::Owned(change) => Ok(Some(change.now)),
            BalanceRow::Absent => Ok(None),
            BalanceRow::Locked => Err(Undecided::Locked),
        }
    }

    fn numbered_account(
        &mut self,
        number: &Arc<str>,
    ) -> Result<Option<NumberedAccount>, Undecided> {
        match self.accounts.get(number) {
            Some(NumberedRow::Owned(owned)) => Ok(Some(owned.now.clone())),
            Some(NumberedRow::Absent) => Ok(None),
            Some(NumberedRow::Locked) => Err(Undecided::Locked),
            None => Err(StoreError::Damaged("an account that was not asked for").into()),
        }
    }

    fn daily_usage(&mut self, spend: UsageKey) -> Result<DailyUsage, Undecided> {
        match read(&self.usage, &spend)? {
            UsageRow::Owned(_, now, _) => Ok(now),
            UsageRow::Locked => Err(Undecided::Locked),
        }
    }

    fn refused(&self, key: Key) -> Option<Evidence> {
        let refused = self.refused.as_ref().filter(|(refused, _)| *refused == key);
        refused.map(|(_, code)| Evidence::code(code.to_string()))
    }

    fn attempt(&mut self, id: AttemptId) -> Result<Option<StoredAttempt>, Undecided> {
        self.stored_attempt(id)
    }

    fn lock_taken(&mut self, lock: &LockKey) -> Result<bool, Undecided> {
        self.is_lock_taken(lock)
    }

    fn resource(&mut self, name: &Arc<str>) -> Result<u64, Undecided> {
        self.resource_version(name)
    }

    fn counter(&mut self, name: &Arc<str>) -> Result<u128, Undecided> {
        match self.rare.counters.get(name) {
            Some(counter) => Ok(*counter),
            None => self.counter_value(name),
        }
    }

    fn seen(&mut self, consumer: &'static str, event: u128) -> Result<bool, Undecided> {
        let event = (consumer, event);
        if self.changes.inbox.contains(&event) {
            return Err(Undecided::Again);
        }
        read(&self.rare.seen, &event)
    }

    fn past_action(&mut self, caller: &Arc<str>, key: &Arc<str>) -> Result<bool, Undecided> {
        read(&self.rare.actions, &(caller.clone(), key.clone()))
    }

    fn approval_status(&mut self, id: Id) -> Result<Option<(ApprovalStatus, Millis)>, Undecided> {
        read(&self.rare.approvals, &id)
    }

    fn superseded(&mut self, ledger: LedgerId, known: &Known) -> Result<bool, Undecided> {
        read(&self.rare.superseded, &(ledger, known.incarnation))
    }
}
