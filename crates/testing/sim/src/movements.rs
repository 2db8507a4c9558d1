//! The external movements that a ledger booked, each once for its direction and reference.

use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::ports::ledger::{BookedMovement, Direction, External, Moved};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The direction of a movement (true: in), and its reference.
type Key = (bool, Arc<str>);

/// Booked movements, by direction and reference.
#[derive(Debug, Clone, Default)]
pub(crate) struct Movements(BTreeMap<Key, Arc<BookedMovement>>);

fn key(movement: &External) -> Key {
    (movement.direction == Direction::In, movement.reference.clone())
}

impl Movements {
    /// Number of movements that are booked.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &External> {
        self.0.values().map(|booked| &booked.movement)
    }

    /// What the reference of a movement was booked for before.
    pub(crate) fn booked(&self, movement: &External) -> Option<Moved> {
        self.0.get(&key(movement)).map(|booked| booked.answer(movement))
    }

    /// Stores a movement that was booked.
    pub(crate) fn add(&mut self, movement: &External, available: Amount, at: Millis) -> Moved {
        let operation = u64::try_from(self.len()).unwrap_or(u64::MAX).saturating_add(1);
        let booked = BookedMovement { operation, movement: movement.clone(), available, at };
        self.0.insert(key(movement), Arc::new(booked));
        Moved::Done { operation, available, at, replayed: false }
    }
}
