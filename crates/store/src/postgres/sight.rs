//! What the rules ask, answered from the board: everything was read before, under its locks.

use super::board::{Board, Moves, Purse, Seat, Stop};
use super::fault::Fault;
use crate::rules::{Balance, Sight, Spend, Standing};
use kernel::answer::Evidence;
use kernel::attempt::AttemptId;
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId};
use kernel::people::{Spent, Stand};
use kernel::ports::ledger::Known;
use kernel::unit::{Key, Operation};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// What was read of a row. Whatever the rules ask for is read before.
fn read<K: Eq + Hash, V: Copy>(rows: &HashMap<K, V>, key: &K) -> Result<V, Stop> {
    rows.get(key).copied().ok_or(Stop::Fault(Fault::Damaged("a row that was not asked for")))
}

impl Sight for Board {
    type Stop = Stop;

    fn at(&self) -> Millis {
        self.at
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

    fn standing(&mut self, id: Id) -> Result<Option<Standing>, Stop> {
        match read(&self.seats, &id)? {
            Seat::Taken(standing) => Ok(Some(standing)),
            Seat::Free => Ok(None),
            Seat::Locked => Err(Stop::Locked),
        }
    }

    fn bound(&mut self, (flow, scope, key): (FlowId, &Arc<str>, &Arc<str>)) -> Result<bool, Stop> {
        let bound = (flow, scope.clone(), key.clone());
        if self.changes.bound.contains(&bound) {
            return Err(Stop::Again);
        }
        Ok(self.bound.contains(&bound))
    }

    fn current(&mut self, ledger: LedgerId) -> Result<Option<Known>, Stop> {
        let stored = self.flags.ledgers.iter().find(|(other, _)| *other == ledger);
        Ok(stored.map(|(_, known)| *known))
    }

    fn epoch(&mut self, ledger: LedgerId) -> Result<u64, Stop> {
        let stored = self.flags.epochs.iter().find(|(other, _)| *other == ledger);
        Ok(stored.map_or(0, |(_, epoch)| *epoch))
    }

    fn legs(&mut self, id: Id) -> Result<&[(LedgerId, Operation)], Stop> {
        Ok(self.legs.get(&id).map_or(&[], Vec::as_slice))
    }

    fn knows(&mut self, asset: AssetId) -> Result<bool, Stop> {
        Ok(self.flags.assets.contains(&asset))
    }

    fn balance(&mut self, key: (UserId, AssetId)) -> Result<Option<Balance>, Stop> {
        match read(&self.purses, &key)? {
            Purse::Open(held) => Ok(Some(held.now)),
            Purse::Nobody => Ok(None),
            Purse::Locked => Err(Stop::Locked),
        }
    }

    fn spent(&mut self, spend: Spend) -> Result<Spent, Stop> {
        match read(&self.moves, &spend)? {
            Moves::Open(_, now, _) => Ok(now),
            Moves::Locked => Err(Stop::Locked),
        }
    }

    fn refused(&self, key: Key) -> Option<Evidence> {
        let refused = self.refused.as_ref().filter(|(refused, _)| *refused == key);
        refused.map(|(_, code)| Evidence::code(code.to_string()))
    }

    fn attempt(&mut self, id: AttemptId) -> Result<u32, Stop> {
        read(&self.rare.attempts, &id)
    }

    fn resource(&mut self, name: &Arc<str>) -> Result<u64, Stop> {
        read(&self.rare.resources, name)
    }

    fn counter(&mut self, name: &Arc<str>) -> Result<u128, Stop> {
        read(&self.rare.counters, name)
    }

    fn seen(&mut self, event: (&'static str, u128)) -> Result<bool, Stop> {
        read(&self.rare.seen, &event)
    }

    fn acted(&mut self, (caller, key): (&Arc<str>, &Arc<str>)) -> Result<bool, Stop> {
        read(&self.rare.acted, &(caller.clone(), key.clone()))
    }

    fn stand(&mut self, id: Id) -> Result<Option<(Stand, Millis)>, Stop> {
        read(&self.rare.stands, &id)
    }

    fn superseded(&mut self, ledger: LedgerId, known: &Known) -> Result<bool, Stop> {
        read(&self.rare.superseded, &(ledger, known.incarnation))
    }
}
