//! Keeps which receivers a token's contract refused, and what it did for others since. A receiver is to blame only
//! where the contract paid another one after it refused this one, and refused this one again. Several receivers that
//! are refused in a row are the contract's trouble. Where neither is known, since no other is paid, a receiver waits:
//! it is tried again after longer and longer pauses.
//!
//! It is in RAM and is advice: losing it costs transactions that fail, and condemns no receiver. Both facts that
//! condemn are read from the journal too, since another process may have seen them: the refusal from the evidence that
//! the transfer keeps of its last attempt, the payment of another from the rows of lanes (`Chain::note_carried_out`).

use flows::relay::Act;
use kernel::answer::Evidence;
use kernel::flow::life::Word as _;
use kernel::ids::Millis;
use kernel::ports::clock::TICKS;
use serde_json::{Value, json};
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

/// The field of an attempt's document with the member that the contract refused, in circumstances that do not explain it.
const REFUSED: &str = "refused";

/// The value of that field.
pub(super) fn refused_member(act: Act, receiver: &str) -> (&'static str, Value) {
    (REFUSED, json!({ "act": act.name(), "receiver": receiver }))
}

/// The height at which the contract refused this act for a receiver, by the evidence of a transfer's last attempt.
pub(super) fn refused_at(act: Act, receiver: &str, error: &Evidence) -> Option<u64> {
    let document: Value = serde_json::from_str(error.doc.as_ref()?).ok()?;
    let (field, member) = refused_member(act, receiver);
    (document.get(field) == Some(&member)).then(|| document.get("height")?.as_u64())?
}

/// What a refusal is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The receiver: the contract refused it at the block `first`, and carried out the act for another one at the later
    /// block `other`.
    Receiver { first: u64, other: u64 },
    /// The contract: it refused several receivers, and paid none since.
    Contract,
    /// Neither, yet: the receiver is tried again after a pause.
    Open,
}

/// A receiver that was refused.
#[derive(Debug)]
struct RefusedReceiver {
    /// The block of its first refusal since it was paid, or since the contract's trouble; `None`: there is none.
    first: Option<u64>,
    /// The block of its last refusal.
    last: u64,
    /// Its last pause, in milliseconds; 0: it was not refused alone yet.
    pause: Millis,
    /// When its pause is over, in the clock's ticks.
    until: u64,
}

impl RefusedReceiver {
    /// It was refused at that block.
    fn again(&mut self, height: u64) {
        self.first.get_or_insert(height);
        if self.last < height {
            self.last = height;
        }
    }

    /// No refusal before now is held against it.
    fn forgive(&mut self) {
        (self.first, self.pause, self.until) = (None, 0, 0);
    }
}

#[derive(Debug, Default)]
struct Memory {
    refused: BTreeMap<Arc<str>, RefusedReceiver>,
    /// The highest block with a transaction that the contract carried out.
    carried_out: u64,
    /// The contract refused several receivers in a row, and carried out nothing since.
    troubled: bool,
}

impl Memory {
    /// A receiver's refusals, the one at that block among them.
    fn refused(&mut self, receiver: &Arc<str>, height: u64) -> &mut RefusedReceiver {
        if self.refused.len() >= MOST {
            self.refused.clear();
        }
        let none = RefusedReceiver { first: None, last: 0, pause: 0, until: 0 };
        let refused = self.refused.entry(receiver.clone()).or_insert(none);
        refused.again(height);
        refused
    }
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
        self.memory().refused(receiver, height);
    }

    /// Notes a refusal by the evidence that a transfer has of it: another process may have seen it, or this one before
    /// it was started. One that was noted before changes nothing, as the receiver may have been paid since.
    pub(super) fn note_evidence(&self, receiver: &Arc<str>, height: u64) {
        let mut memory = self.memory();
        if memory.refused.get(receiver).is_none_or(|refused| refused.last < height) {
            memory.refused(receiver, height);
        }
    }

    /// Notes that the contract refused a receiver that was alone, and says what that is taken for.
    pub(super) fn alone(&self, receiver: &Arc<str>, height: u64, now: u64) -> Blame {
        let mut memory = self.memory();
        let other = memory.carried_out;
        let refused = memory.refused(receiver, height);
        // it has to repeat behind what the contract did for another one: between the two the contract may be mended
        if let Some(first) = refused.first.filter(|first| *first < other && other < height) {
            refused.forgive();
            return Blame::Receiver { first, other };
        }
        let twice = refused.pause.saturating_mul(2);
        refused.pause = twice.clamp(FIRST, LONGEST);
        refused.until = now.saturating_add(refused.pause.saturating_mul(TICKS));
        let since =
            |one: &&RefusedReceiver| one.first.is_some_and(|first| first >= other) && one.pause > 0;
        memory.troubled = memory.refused.values().filter(since).count() >= IN_A_ROW;
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
                memory.refused.values_mut().for_each(RefusedReceiver::forgive);
            }
        }
        for receiver in receivers {
            // one that is told late says nothing of a later refusal
            if let Some(refused) = memory.refused.get_mut(receiver)
                && refused.last < height
            {
                refused.forgive();
            }
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
        assert_eq!(refusals.alone(&one, 12, 0), Blame::Receiver { first: 10, other: 11 });
        // first in company, and its company was paid
        refusals.in_company(&third, 20);
        refusals.carried_out([&other], 21);
        assert_eq!(refusals.alone(&third, 22, 0), Blame::Receiver { first: 20, other: 21 });
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
        assert_eq!(refusals.alone(&one, 31, 0), Blame::Receiver { first: 10, other: 30 });
        assert_eq!(refusals.alone(&other, 31, 0), Blame::Open, "it was paid since");
    }

    /// Turns red where a process knows only the refusals that it saw itself, where it takes one for new that it noted
    /// before its receiver was paid, and where a payment that it is told of late hides a later refusal.
    #[test]
    fn what_another_process_saw_counts() {
        let [one, other, third] = names();
        let document = |at: u64, receiver: &str| {
            let (field, member) = refused_member(Act::Pay, receiver);
            let document = json!({ field: member, "height": at }).to_string();
            Evidence { code: "RECEIVER_REFUSED".into(), doc: Some(document.into()) }
        };
        assert_eq!(refused_at(Act::Pay, &one, &document(10, &one)), Some(10));
        assert_eq!(refused_at(Act::Pay, &other, &document(10, &one)), None, "it is another member");
        assert_eq!(refused_at(Act::Register, &one, &document(10, &one)), None, "it is another act");
        let refusals = Refusals::default();
        refusals.note_evidence(&one, 10);
        refusals.carried_out([&other], 11);
        assert_eq!(refusals.alone(&one, 12, 0), Blame::Receiver { first: 10, other: 11 });
        refusals.note_evidence(&third, 20);
        refusals.carried_out([&third, &other], 21);
        refusals.note_evidence(&third, 20);
        assert_eq!(refusals.alone(&third, 22, 0), Blame::Open, "it was paid since");
        refusals.carried_out([&third], 19);
        refusals.carried_out([&other], 23);
        assert_eq!(refusals.alone(&third, 24, 0), Blame::Receiver { first: 22, other: 23 });
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
