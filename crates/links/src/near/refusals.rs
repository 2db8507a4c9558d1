//! Keeps which receivers a token's contract refused, and what it did for others since. A receiver is to blame only
//! where the contract paid another one after it refused this one, and refused this one again. Several receivers that
//! are refused in a row are the contract's trouble. Where neither is known, since no other is paid, a receiver waits:
//! it is tried again after longer and longer pauses. It is in RAM and is advice: losing it costs transactions that
//! fail, and condemns no receiver.

use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// This number of receivers in a row is the contract's trouble.
const IN_A_ROW: usize = 3;
/// The first pause of a receiver that was refused alone, in milliseconds; each is twice as long as the one before.
const FIRST: Millis = 10_000;
/// The longest pause, in milliseconds.
const LONGEST: Millis = 600_000;
/// The most receivers that are remembered; beyond it the memory begins anew.
const MOST: usize = 10_000;

/// What a refusal is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The receiver: the contract paid another one since it refused this one first.
    Receiver,
    /// The contract: it refused several receivers, and paid none since.
    Contract,
    /// Neither, yet: the receiver is tried again after a pause.
    Open,
}

/// A receiver that was refused and not paid since.
#[derive(Debug)]
struct RefusedReceiver {
    /// The block of its first refusal.
    height: u64,
    /// Its last pause, in milliseconds; 0: it was not refused alone yet.
    pause: Millis,
    /// When its pause is over, in the clock's ticks.
    until: u64,
}

#[derive(Debug, Default)]
struct Memory {
    refused: BTreeMap<Arc<str>, RefusedReceiver>,
    /// The highest block with a transaction that the contract carried out.
    carried_out: u64,
    /// The contract refused several receivers in a row, and carried out nothing since.
    troubled: bool,
}

/// The refusals of one act by one contract.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Memory>);

impl Refusals {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the contract refused a receiver in the company of others.
    pub(super) fn in_company(&self, receiver: &Arc<str>, height: u64) {
        let mut memory = self.memory();
        if memory.refused.len() >= MOST {
            memory.refused.clear();
        }
        let first = RefusedReceiver { height, pause: 0, until: 0 };
        memory.refused.entry(receiver.clone()).or_insert(first);
    }

    /// Notes that the contract refused a receiver that was alone, and says what that is taken for.
    pub(super) fn alone(&self, receiver: &Arc<str>, height: u64, now: u64) -> Blame {
        self.in_company(receiver, height);
        let mut memory = self.memory();
        let carried_out = memory.carried_out;
        let Some(refused) = memory.refused.get_mut(receiver) else { return Blame::Open };
        // it has to repeat behind what the contract did for another one: between the two the contract may be mended
        if refused.height < carried_out && carried_out < height {
            memory.refused.remove(receiver);
            return Blame::Receiver;
        }
        let twice = refused.pause.saturating_mul(2);
        refused.pause = twice.clamp(FIRST, LONGEST);
        refused.until = now.saturating_add(refused.pause.saturating_mul(TICKS));
        let since =
            memory.refused.values().filter(|one| one.height >= carried_out && one.pause > 0);
        memory.troubled = since.count() >= IN_A_ROW;
        if memory.troubled { Blame::Contract } else { Blame::Open }
    }

    /// Notes that the contract carried out a transaction for these receivers.
    pub(super) fn carried_out<'a>(
        &self,
        receivers: impl IntoIterator<Item = &'a Arc<str>>,
        height: u64,
    ) {
        let mut memory = self.memory();
        if memory.carried_out < height {
            memory.carried_out = height;
            if std::mem::take(&mut memory.troubled) {
                // what it refused in its trouble says nothing of receivers
                memory.refused.clear();
            }
        }
        for receiver in receivers {
            memory.refused.remove(receiver);
        }
    }

    /// For how many milliseconds nothing is signed for a receiver; `None`: it may be now.
    pub(super) fn left(&self, receiver: &str, now: u64) -> Option<Millis> {
        let memory = self.memory();
        let until = memory.refused.get(receiver)?.until;
        (now < until).then(|| until.saturating_sub(now).div_ceil(TICKS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [Arc<str>; 3] {
        ["a", "b", "c"].map(Into::into)
    }

    /// Turns red where an older payment counts, where one of the same block does, and where the refusal does not repeat
    /// behind it.
    #[test]
    fn a_receiver_is_to_blame_beside_a_later_payment() {
        let [one, other, third] = names();
        let refusals = Refusals::default();
        refusals.carried_out([&other], 10);
        assert_eq!(refusals.alone(&one, 10, 0), Blame::Open, "it is of the same block");
        refusals.carried_out([&other], 11);
        assert_eq!(refusals.alone(&one, 11, 0), Blame::Open, "it is not behind it");
        assert_eq!(refusals.alone(&one, 12, 0), Blame::Receiver);
        // first in company, and its company was paid
        refusals.in_company(&third, 20);
        refusals.carried_out([&other], 21);
        assert_eq!(refusals.alone(&third, 22, 0), Blame::Receiver);
    }

    /// Turns red where a receiver is condemned though no other is paid, as by a contract in trouble that hardly anything
    /// is asked of.
    #[test]
    fn no_number_of_refusals_condemns_a_receiver_that_no_other_is_paid_beside() {
        let [one, other, third] = names();
        let refusals = Refusals::default();
        for receiver in [&one, &other] {
            for height in 10..30 {
                assert_eq!(refusals.alone(receiver, height, 0), Blame::Open, "{receiver} {height}");
            }
        }
        // another payment shows which of them the contract refuses
        refusals.carried_out([&third, &other], 30);
        assert_eq!(refusals.alone(&one, 31, 0), Blame::Receiver);
        assert_eq!(refusals.alone(&other, 31, 0), Blame::Open, "it was paid since");
    }

    /// Turns red where a contract that refuses every receiver has them condemned one by one.
    #[test]
    fn three_in_a_row_are_the_contracts_trouble() {
        let [one, other, third] = names();
        let refusals = Refusals::default();
        assert_eq!(refusals.alone(&one, 10, 0), Blame::Open);
        assert_eq!(refusals.alone(&one, 11, 0), Blame::Open, "it is one receiver");
        assert_eq!(refusals.alone(&other, 12, 0), Blame::Open);
        assert_eq!(refusals.alone(&third, 13, 0), Blame::Contract);
        assert_eq!(refusals.alone(&one, 14, 0), Blame::Contract);
        // it is mended, and has trouble again: what it refused before is not held against a receiver
        refusals.carried_out([&other], 15);
        assert_eq!(refusals.left(&one, 0), None, "all are tried again at once");
        assert_eq!(refusals.alone(&one, 16, 0), Blame::Open);
    }

    /// Turns red where a receiver that is refused burns a transaction each time that a lane is free.
    #[test]
    fn each_refusal_makes_the_pause_longer() {
        let [one, ..] = names();
        let refusals = Refusals::default();
        refusals.in_company(&one, 9);
        assert_eq!(refusals.left(&one, 0), None, "it is tried alone at once");
        assert_eq!(refusals.alone(&one, 10, 0), Blame::Open);
        assert_eq!(refusals.left(&one, 0), Some(FIRST));
        assert_eq!(refusals.alone(&one, 11, 0), Blame::Open);
        assert_eq!(refusals.left(&one, 0), Some(2 * FIRST));
        for _ in 0..20 {
            refusals.alone(&one, 12, 0);
        }
        assert_eq!(refusals.left(&one, 0), Some(LONGEST));
        assert_eq!(refusals.left(&one, LONGEST * TICKS), None);
    }
}
