//! Tracks what the relay's account had too little of when its balance was read last: payments above
//! that balance wait, and smaller ones go on. It is in RAM and is advice: the balance is read again
//! before anything is signed.

use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time, in milliseconds, after which a shortage is over that nothing shows again once its payments might be tried.
const FORGOTTEN: Millis = 120_000;

#[derive(Debug)]
struct Shortage {
    /// What the account had, in base units: payments above it wait.
    balance: u128,
    /// The facts, in words for operators.
    facts: Arc<str>,
    /// When payments above it are tried again, in ticks.
    until: u64,
}

/// The shortage of one token, where there is one.
#[derive(Debug, Default)]
pub(super) struct TokenShortage(Mutex<Option<Shortage>>);

impl TokenShortage {
    fn shortage(&self) -> MutexGuard<'_, Option<Shortage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account had no more than this: payments above it wait until then, in ticks.
    pub(super) fn seen(&self, balance: u128, facts: Arc<str>, until: u64) {
        *self.shortage() = Some(Shortage { balance, facts, until });
    }

    /// There is money enough for a payment: if it was held back, the shortage is over.
    pub(super) fn affords(&self, amount: u128) {
        let mut shortage = self.shortage();
        if shortage.as_ref().is_some_and(|shortage| amount > shortage.balance) {
            *shortage = None;
        }
    }

    /// For how many milliseconds a payment waits; `None`: it may be tried now.
    pub(super) fn left(&self, amount: u128, now: u64) -> Option<Millis> {
        let shortage = self.shortage();
        let until = shortage.as_ref().filter(|shortage| amount > shortage.balance)?.until;
        (now < until).then(|| until.saturating_sub(now).div_ceil(TICKS))
    }

    /// The facts of the shortage, as long as it is not known to be over.
    pub(super) fn facts_in_force(&self, now: u64) -> Option<Arc<str>> {
        let shortage = self.shortage();
        let over = |until: u64| until.saturating_add(FORGOTTEN.saturating_mul(TICKS)) <= now;
        shortage.as_ref().filter(|shortage| !over(shortage.until)).map(|found| found.facts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000 * TICKS;

    /// Turns red where one payment that is too large holds smaller ones back, and where one of them that is made
    /// ends the shortage of the large one.
    #[test]
    fn what_is_above_the_balance_waits_and_the_rest_goes_on() {
        let shortage = TokenShortage::default();
        assert_eq!((shortage.left(9, 0), shortage.facts_in_force(0)), (None, None));
        shortage.seen(5, "5 of 9".into(), 30 * SECOND);
        assert_eq!([5, 6].map(|amount| shortage.left(amount, 10 * SECOND)), [None, Some(20_000)]);
        shortage.affords(5);
        assert_eq!(shortage.left(6, 30 * SECOND), None, "it is tried again");
        assert_eq!(shortage.facts_in_force(149 * SECOND).as_deref(), Some("5 of 9"));
        assert_eq!(shortage.facts_in_force(150 * SECOND), None, "no payment waits for it");
        shortage.seen(5, "5 of 9".into(), 180 * SECOND);
        shortage.affords(6);
        assert_eq!((shortage.left(9, 0), shortage.facts_in_force(0)), (None, None));
    }
}
