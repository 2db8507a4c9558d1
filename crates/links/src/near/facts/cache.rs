//! Caches what this process saw of receivers lately: that they are registered, that they exist, or for
//! a moment that they are not registered. It may be wrong: a receiver can take its deposit back, and
//! its payment then fails and isolates it.

use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most receivers in the cache; beyond it the cache begins anew.
const MOST: usize = 200_000;

/// The contract and the receiver, with the ticks at which it was seen.
type SeenReceivers = BTreeMap<(Arc<str>, Arc<str>), u64>;

/// Receivers of each contract for which one fact is known for a while.
#[derive(Debug)]
pub(in crate::near) struct ReceiverCache {
    known_for: u64,
    seen: Mutex<SeenReceivers>,
}

impl ReceiverCache {
    pub(in crate::near) fn new(known_for: Millis) -> Self {
        Self { known_for: known_for.saturating_mul(TICKS), seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, SeenReceivers> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True where it was seen not long ago.
    pub(in crate::near) fn knows(
        &self,
        contract: &Arc<str>,
        receiver: &Arc<str>,
        now: u64,
    ) -> bool {
        let seen = self.seen().get(&(contract.clone(), receiver.clone())).copied();
        seen.is_some_and(|at| now.saturating_sub(at) < self.known_for)
    }

    /// Notes that it was seen at these ticks.
    pub(in crate::near) fn learn(&self, contract: &Arc<str>, receiver: &Arc<str>, now: u64) {
        let mut seen = self.seen();
        if seen.len() >= MOST {
            seen.clear();
        }
        seen.insert((contract.clone(), receiver.clone()), now);
    }

    /// Forgets a receiver, so that it is asked for again.
    pub(in crate::near) fn forget(&self, contract: &Arc<str>, receiver: &Arc<str>) {
        self.seen().remove(&(contract.clone(), receiver.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_known_for_a_while() {
        let cache = ReceiverCache::new(10);
        let (contract, receiver): (Arc<str>, Arc<str>) = ("usdc.near".into(), "a.near".into());
        cache.learn(&contract, &receiver, 5);
        assert!(cache.knows(&contract, &receiver, 5 + 9 * TICKS));
        assert!(!cache.knows(&contract, &receiver, 5 + 10 * TICKS));
        assert!(!cache.knows(&receiver, &contract, 5));
        cache.forget(&contract, &receiver);
        assert!(!cache.knows(&contract, &receiver, 5));
    }
}
