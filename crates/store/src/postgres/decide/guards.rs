//! What must hold before anything of a unit is written.

use crate::postgres::board::{Board, Seat, Standing, Stop};
use crate::postgres::fault::Fault;
use crate::postgres::needs::ALL;
use kernel::ids::Id;
use kernel::ports::ledger::Known;
use kernel::table::Flows;
use kernel::unit::Guard;

impl Board {
    /// Where a transfer stands; `None`: there is none.
    pub(super) fn standing(&self, id: Id) -> Result<Option<Standing>, Stop> {
        match self.seats.get(&id) {
            Some(Seat::Taken(standing)) => Ok(Some(*standing)),
            Some(Seat::Free) => Ok(None),
            Some(Seat::Locked) => Err(Stop::Locked),
            None => Err(Stop::Fault(Fault::Damaged("a transfer that was not asked for"))),
        }
    }

    /// True where the guard holds. Those of rare units were asked of the database before.
    pub(super) fn holds(&self, flows: &Flows, guard: &Guard) -> Result<bool, Stop> {
        Ok(match guard {
            Guard::NotHalted => !self.flags.halted,
            Guard::Fresh(id) => {
                let below = self.flags.horizon.is_some_and(|horizon| *id <= horizon);
                !below && self.standing(*id)?.is_none()
            }
            Guard::Unbound { flow, scope, key } => {
                let bound = (*flow, scope.clone(), key.clone());
                if self.changes.bound.contains(&bound) {
                    return Err(Stop::Again);
                }
                !self.bound.contains(&bound)
            }
            Guard::Transfer { id, state, version } => self.standing(*id)?.is_some_and(|row| {
                row.version == *version && row.code == flows.table(row.flow).state(*state).code
            }),
            Guard::Incarnation { ledger, known } => {
                let stored = self.flags.ledgers.iter().find(|(other, _)| other == ledger);
                let who = |known: &Known| (known.identity, known.incarnation);
                stored.map(|(_, known)| who(known)) == known.as_ref().map(who)
            }
            Guard::Owner { ledger, epoch } => {
                let stored = self.flags.epochs.iter().find(|(other, _)| other == ledger);
                stored.map_or(0, |(_, epoch)| *epoch) == *epoch
            }
            Guard::DayCount { user, day, most } => {
                let spent = self.spent((*day, *user, ALL))?;
                spent.transfers.checked_add(1).is_some_and(|transfers| transfers <= *most)
            }
            Guard::DayAmount { count, most } => {
                let spent = self.spent((count.day, count.user, count.asset))?;
                spent.amount.plus(count.amount).is_some_and(|amount| amount <= *most)
            }
            Guard::Attempt { .. }
            | Guard::Resource { .. }
            | Guard::Inbox { .. }
            | Guard::AtMost { .. }
            | Guard::Unacted { .. }
            | Guard::Pending(_) => true,
        })
    }
}
