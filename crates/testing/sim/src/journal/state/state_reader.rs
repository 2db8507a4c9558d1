//! Reads the simulated journal's state for the product's rules.

use super::State;
use super::put::higher;
use kernel::accounts::NumberedAccount;
use kernel::attempt::AttemptId;
use kernel::audit::birth;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId};
use kernel::limits::DailyUsage;
use kernel::operation::{Known, Operation};
use kernel::operators::ApprovalStatus;
use kernel::rules::{LockKey, StateReader, StoredAttempt, StoredBalance, StoredTransfer, UsageKey};
use std::convert::Infallible;
use std::sync::Arc;

/// The state before a write, at the time of that write.
pub(super) struct Reader<'s> {
    state: &'s State,
    at: Millis,
    halted: bool,
    /// What the ledgers stored for the transfer that was asked about last.
    legs: Vec<(LedgerId, Operation)>,
}

impl<'s> Reader<'s> {
    pub(super) fn of(state: &'s State, at: Millis) -> Self {
        Self { state, at, halted: state.halted.is_some(), legs: Vec::new() }
    }

    /// One that sees no HALT: for a wrong build.
    pub(super) fn seeing_no_halt(self) -> Self {
        Self { halted: false, ..self }
    }
}

impl StateReader for Reader<'_> {
    type Error = Infallible;

    fn at(&self) -> Millis {
        self.at
    }

    fn clock(&self) -> Millis {
        self.at
    }

    fn halted(&self) -> bool {
        self.halted
    }

    fn halts(&self) -> u64 {
        self.state.halts()
    }

    fn horizon(&self) -> Option<Id> {
        self.state.horizon
    }

    fn number(&self) -> u64 {
        higher(self.state.books.highest(), self.state.accounts.highest()) + 1
    }

    fn transfer(&mut self, id: Id) -> Result<Option<StoredTransfer>, Infallible> {
        let State { transfers, flows, due, .. } = self.state;
        let stored = transfers.get(&id).map(|record| {
            let (table, history) = (flows.table(record.flow), self.state.entries(id));
            let birth = || birth(id, table.flow, &record.terms);
            StoredTransfer {
                transfer: record.serial.map_or(0, |serial| serial.0.cast_signed()),
                flow: record.flow,
                code: table.state(record.head.state).code,
                version: record.head.version,
                batch: 0,
                events: u32::try_from(history.len()).unwrap_or(u32::MAX),
                chain: history.last().map_or_else(birth, |linked| linked.hash),
                due: due.contains_key(&id),
                agreed: record.agreed.is_some(),
            }
        });
        Ok(stored)
    }

    fn find_by_idempotency_key(
        &mut self,
        flow: FlowId,
        scope: &Arc<str>,
        key: &Arc<str>,
    ) -> Result<bool, Infallible> {
        Ok(self.state.bindings.contains_key(&(flow, scope.clone(), key.clone())))
    }

    fn current(&mut self, ledger: LedgerId) -> Result<Option<Known>, Infallible> {
        Ok(self.state.ledgers.get(&ledger).map(|(known, _)| *known))
    }

    fn epoch(&mut self, ledger: LedgerId) -> Result<u64, Infallible> {
        Ok(self.state.epoch(ledger))
    }

    fn legs(&mut self, id: Id) -> Result<&[(LedgerId, Operation)], Infallible> {
        self.legs = self.state.legs(id);
        Ok(&self.legs)
    }

    fn knows(&mut self, asset: AssetId) -> Result<bool, Infallible> {
        Ok(self.state.operators.assets.contains_key(&asset))
    }

    fn balance(
        &mut self,
        user: UserId,
        asset: AssetId,
    ) -> Result<Option<StoredBalance>, Infallible> {
        Ok(self.state.books.balance(user, asset))
    }

    fn numbered_account(
        &mut self,
        number: &Arc<str>,
    ) -> Result<Option<NumberedAccount>, Infallible> {
        Ok(self.state.accounts.account(number).cloned())
    }

    fn daily_usage(&mut self, spend: UsageKey) -> Result<DailyUsage, Infallible> {
        Ok(self.state.operators.usage(spend))
    }

    fn attempt(&mut self, id: AttemptId) -> Result<Option<StoredAttempt>, Infallible> {
        Ok(self.state.attempts.stored(id))
    }

    fn lock_taken(&mut self, lock: &LockKey) -> Result<bool, Infallible> {
        Ok(self.state.attempts.lock_taken(lock))
    }

    fn resource(&mut self, name: &Arc<str>) -> Result<u64, Infallible> {
        Ok(self.state.resources.get(name).map_or(0, |(version, _)| u64::from(*version)))
    }

    fn counter(&mut self, name: &Arc<str>) -> Result<u128, Infallible> {
        Ok(self.state.counter(name))
    }

    fn seen(&mut self, consumer: &'static str, event: u128) -> Result<bool, Infallible> {
        Ok(self.state.had(consumer, event))
    }

    fn past_action(&mut self, caller: &Arc<str>, key: &Arc<str>) -> Result<bool, Infallible> {
        Ok(self.state.operators.did(caller, key))
    }

    fn approval_status(&mut self, id: Id) -> Result<Option<(ApprovalStatus, Millis)>, Infallible> {
        Ok(self.state.operators.approval_status(id))
    }

    fn superseded(&mut self, ledger: LedgerId, known: &Known) -> Result<bool, Infallible> {
        let found = self.state.ledgers.get(&ledger);
        Ok(found.is_some_and(|(now, all)| {
            now.incarnation != known.incarnation && all.contains(&known.incarnation)
        }))
    }
}
