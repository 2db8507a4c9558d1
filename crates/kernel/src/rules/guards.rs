//! What must hold before anything of a unit is written.

use super::unit::UnitDecision;
use super::{ALL_ASSETS, StateReader, Stopped};
use crate::ids::Id;
use crate::operation::Known;
use crate::operators::ApprovalStatus;
use crate::unit::{Guard, Wrote};
use std::sync::Arc;

impl<'u, S: StateReader> UnitDecision<'_, 'u, S> {
    /// True where the guard holds, over what the unit's guards before it take.
    pub(super) fn holds(&mut self, guard: &'u Guard) -> Result<bool, Stopped<Wrote, S::Error>> {
        Ok(match guard {
            Guard::NotHalted => !self.state.halted(),
            Guard::Halt(number) => self.state.halted() && self.state.halts() == *number,
            Guard::Fresh(id) => {
                let below = self.state.horizon().is_some_and(|horizon| *id <= horizon);
                !below && self.transfer(*id)?.is_none()
            }
            Guard::Unbound { flow, scope, key } => {
                !self.state.find_by_idempotency_key(*flow, scope, key)?
            }
            Guard::Transfer { id, state, version } => self.transfer(*id)?.is_some_and(|row| {
                let code = self.flows.table(row.flow).state(*state).code;
                (row.code, row.version) == (code, *version)
            }),
            Guard::Attempt { id, version } => self.attempt_version(*id)? == *version,
            Guard::LockFree { chain, lane, lock } => {
                self.lock_is_free(&(*chain, lane.clone(), lock.clone()))?
            }
            Guard::Resource { name, version } => self.state.resource(name)? == u64::from(*version),
            Guard::Inbox { consumer, event } => {
                let seen = (*consumer, *event);
                let twice = self.plan.inbox.contains(&seen);
                self.plan.inbox.push(seen);
                !twice && !self.state.seen(consumer, *event)?
            }
            Guard::Incarnation { ledger, known } => {
                let who = |known: &Known| (known.identity, known.incarnation);
                self.state.current(*ledger)?.as_ref().map(who) == known.as_ref().map(who)
            }
            Guard::Owner { ledger, epoch } => self.state.epoch(*ledger)? == *epoch,
            Guard::Account { number, version } => {
                let stored = self.state.numbered_account(number)?;
                stored.map_or(0, |account| account.version) == *version
            }
            Guard::AtMost { name, n, limit } => {
                let sum = self.counter(name)?.checked_add(*n).filter(|sum| sum <= limit);
                sum.map(|sum| self.plan.counters.push((name, sum))).is_some()
            }
            Guard::AtLeast { name, n } => self.counter(name)? >= *n,
            Guard::DayCount { user, day, most } => {
                let spent = self.state.daily_usage((*day, *user, ALL_ASSETS))?;
                spent.transfers.checked_add(1).is_some_and(|transfers| transfers <= *most)
            }
            Guard::DayAmount { count, most } => {
                let spent = self.state.daily_usage((count.day, count.user, count.asset))?;
                spent.amount.plus(count.amount).is_some_and(|amount| amount <= *most)
            }
            Guard::NoPastAction { caller, key } => !self.state.past_action(caller, key)?,
            Guard::Pending(id) => self.pending(*id)?,
        })
    }

    /// True where an approval may be decided: it is undecided, and its time has not passed.
    pub(super) fn pending(&mut self, id: Id) -> Result<bool, S::Error> {
        let now = self.state.clock();
        let stored = self.state.approval_status(id)?;
        Ok(stored.is_some_and(|(stand, expires_at)| {
            stand.at(now, expires_at) == ApprovalStatus::Pending
        }))
    }

    /// A counter with what the unit did to it so far.
    pub(super) fn counter(&mut self, name: &'u Arc<str>) -> Result<u128, Stopped<Wrote, S::Error>> {
        match self.plan.counters.iter().rev().find(|(other, _)| *other == name) {
            Some((_, sum)) => Ok(*sum),
            None => Ok(self.state.counter(name)?),
        }
    }
}
