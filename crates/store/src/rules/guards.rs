//! What must hold before anything of a unit is written.

use super::unit::Weighing;
use super::{ALL, No, Sight};
use kernel::ids::Id;
use kernel::people::Stand;
use kernel::ports::ledger::Known;
use kernel::unit::{Guard, Wrote};
use std::sync::Arc;

impl<'u, S: Sight> Weighing<'_, 'u, S> {
    /// True where the guard holds, over what the unit's guards before it take.
    pub(super) fn holds(&mut self, guard: &'u Guard) -> Result<bool, No<Wrote, S::Stop>> {
        Ok(match guard {
            Guard::NotHalted => !self.sight.halted(),
            Guard::Halt(number) => self.sight.halted() && self.sight.halts() == *number,
            Guard::Fresh(id) => {
                let below = self.sight.horizon().is_some_and(|horizon| *id <= horizon);
                !below && self.standing(*id)?.is_none()
            }
            Guard::Unbound { flow, scope, key } => !self.sight.bound((*flow, scope, key))?,
            Guard::Transfer { id, state, version } => self.standing(*id)?.is_some_and(|row| {
                let code = self.flows.table(row.flow).state(*state).code;
                (row.code, row.version) == (code, *version)
            }),
            Guard::Attempt { id, version } => self.sight.attempt(*id)? == *version,
            Guard::Resource { name, version } => self.sight.resource(name)? == u64::from(*version),
            Guard::Inbox { consumer, event } => {
                let event = (*consumer, *event);
                let twice = self.plan.inbox.contains(&event);
                self.plan.inbox.push(event);
                !twice && !self.sight.seen(event)?
            }
            Guard::Incarnation { ledger, known } => {
                let who = |known: &Known| (known.identity, known.incarnation);
                self.sight.current(*ledger)?.as_ref().map(who) == known.as_ref().map(who)
            }
            Guard::Owner { ledger, epoch } => self.sight.epoch(*ledger)? == *epoch,
            Guard::AtMost { name, n, limit } => {
                let sum = self.counter(name)?.checked_add(*n).filter(|sum| sum <= limit);
                sum.map(|sum| self.plan.counters.push((name, sum))).is_some()
            }
            Guard::DayCount { user, day, most } => {
                let spent = self.sight.spent((*day, *user, ALL))?;
                spent.transfers.checked_add(1).is_some_and(|transfers| transfers <= *most)
            }
            Guard::DayAmount { count, most } => {
                let spent = self.sight.spent((count.day, count.user, count.asset))?;
                spent.amount.plus(count.amount).is_some_and(|amount| amount <= *most)
            }
            Guard::Unacted { caller, key } => !self.sight.acted((caller, key))?,
            Guard::Pending(id) => self.pending(*id)?,
        })
    }

    /// True where an approval may be decided: nobody did, and its time has not passed.
    pub(super) fn pending(&mut self, id: Id) -> Result<bool, S::Stop> {
        let now = self.sight.at();
        let stored = self.sight.stand(id)?;
        Ok(stored.is_some_and(|(stand, expires_at)| stand.at(now, expires_at) == Stand::Pending))
    }

    /// A counter with what the unit adds to it so far.
    fn counter(&mut self, name: &'u Arc<str>) -> Result<u128, No<Wrote, S::Stop>> {
        match self.plan.counters.iter().rev().find(|(other, _)| *other == name) {
            Some((_, sum)) => Ok(*sum),
            None => Ok(self.sight.counter(name)?),
        }
    }
}
