//! The oracle of effects: each exists at most once, after its claim, for the right account, and the ledgers' books
//! agree with it.

use super::{Inner, LedgerView, Life, Oracles, Wrong, ledger_of, must, op_of};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, LedgerId};
use kernel::operation::{Key, Operation, StoredOutcome};
use kernel::ports::ledger::Totals;
use std::collections::BTreeSet;

/// When an effect was seen, beside what the journal says at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectSums {
    /// With the write that it is part of: the claim may be in it, and what follows too.
    InItsUnit,
    /// At a ledger of its own: its claim is durable, and its answer nowhere yet.
    Alone,
}

impl Oracles {
    /// The number of the last operation of an outside ledger that was looked at.
    pub fn cursor(&self, ledger: LedgerId) -> u64 {
        self.inner().ledgers.get(&ledger).map_or(0, |kept| kept.cursor)
    }

    /// A ledger that is not what the journal knows has this highest operation.
    pub fn highest_is(&self, highest: u64) {
        self.look(|inner| {
            must(inner.barred.is_none_or(|barred| barred == highest), || {
                format!("Spot is not the ledger that it was, and did something: {highest}")
            })
        });
    }

    /// An outside ledger stored these, and its books are now these.
    pub fn stored(&self, ledger: LedgerId, new: &[Operation], books: &[(AssetId, Totals)]) {
        self.look(|inner| {
            for operation in new {
                inner.effect(ledger, operation, EffectSums::Alone)?;
            }
            inner.books(ledger, books)
        });
    }

    /// An outside ledger is what it was up to a number: what came after it was undone with its
    /// folder.
    pub fn set_back(&self, ledger: LedgerId, to: u64) {
        let mut inner = self.inner();
        let Some(kept) = inner.ledgers.get_mut(&ledger) else { return };
        let gone: Vec<Operation> = kept.stored.values().filter(|o| o.seq > to).cloned().collect();
        kept.cursor = to;
        for operation in &gone {
            kept.stored.remove(&operation.op.key);
            kept.send(operation, false, true);
        }
        for operation in gone {
            let Key { id, leg } = operation.op.key;
            inner.answered.remove(&(ledger, operation.op.key));
            if let Some(life) = inner.lives.get_mut(&id) {
                life.effects.remove(&leg);
            }
        }
    }
}

impl LedgerView {
    /// What an operation does to clearing and frozen money, or its contrary.
    fn send(&mut self, operation: &Operation, holds: bool, back: bool) {
        let Operation { op, outcome, .. } = operation;
        if *outcome != StoredOutcome::Done {
            return;
        }
        let amount = op.amount.signed().unwrap_or(i128::MAX);
        let amount = if back { -amount } else { amount };
        let sums = self.sums.entry(op.asset).or_default();
        match (op.key.leg, holds) {
            (Leg::Withdraw, true) => sums.frozen += amount,
            (Leg::Withdraw, false) => sums.clearing += amount,
            (Leg::Refund, true) => sums.frozen -= amount,
            (Leg::Refund, false) | (Leg::Deposit, _) => sums.clearing -= amount,
            (Leg::Settle, _) => {
                sums.frozen -= amount;
                sums.clearing += amount;
            }
            (Leg::Move | Leg::Quarantine | Leg::Cost, _) => {}
        }
    }
}

impl Inner {
    /// A ledger stored something new.
    pub(super) fn effect(
        &mut self,
        ledger: LedgerId,
        operation: &Operation,
        seen: EffectSums,
    ) -> Wrong {
        let name = ledger.name();
        let Key { id, leg } = operation.op.key;
        let what = || format!("{name} stored {operation:?}");
        let Some(mut life) = self.lives.remove(&id) else {
            return Err(format!("{}, of no transfer that was opened", what()));
        };
        let kept = self.ledgers.entry(ledger).or_default();
        kept.cursor = if operation.seq > kept.cursor { operation.seq } else { kept.cursor };
        let first = kept.stored.insert(operation.op.key, operation.clone()).is_none();
        kept.send(operation, ledger == LedgerId::FUNDING, false);
        // a verdict is proposed by one person, and fences when another one approves
        let unasked = operation.outcome == StoredOutcome::Fenced && !self.fences.contains(&id);
        let judged = must(!unasked, || format!("{}, which no operator approved", what()))
            .and_then(|()| must(first, || format!("{} a second time", what())))
            .and_then(|()| self.claimed(ledger, operation, &life, seen))
            .and_then(|()| {
                if operation.outcome != StoredOutcome::Done {
                    return Ok(());
                }
                must(life.effects.insert(leg), || format!("{}, which was done before", what()))?;
                must(!excluded(&life), || format!("{} beside {:?}", what(), life.effects))
            });
        self.lives.insert(id, life);
        judged
    }

    /// It is an operation of that transfer at that ledger, and its claim is durable.
    fn claimed(
        &self,
        ledger: LedgerId,
        operation: &Operation,
        life: &Life,
        seen: EffectSums,
    ) -> Wrong {
        let Key { id, leg } = operation.op.key;
        let Some(table) = self.table() else { return Ok(()) };
        let stands = || {
            let state = table.state(life.state).name;
            format!("{} did {leg:?} of {id} while it stands {state}", ledger.name())
        };
        must(ledger_of(&life.terms, leg) == Some(ledger), stands)?;
        // a tombstone names nothing but its key
        let fenced = operation.outcome == StoredOutcome::Fenced;
        must(fenced || operation.op == op_of(&life.terms, operation.op.key), || {
            format!("{id} agreed on {:?}, and it was {:?}", life.terms, operation.op)
        })?;
        let calling = |state| table.makes(state).is_some_and(|act| table.act(act).leg == Some(leg));
        let claimed = match (seen, leg) {
            // it follows the target's deposit, and is written with it
            (_, Leg::Settle) => life.has(Leg::Withdraw),
            (EffectSums::Alone, _) => !life.ended && calling(life.state),
            // one after the end is met by the terminal truth
            (EffectSums::InItsUnit, _) => life.stood.iter().any(|s| calling(*s)),
        };
        must(claimed, stands)
    }

    /// Each system's total is constant, and what is between the systems is what the effects say.
    pub(super) fn books(&mut self, ledger: LedgerId, books: &[(AssetId, Totals)]) -> Wrong {
        let kept = self.ledgers.entry(ledger).or_default();
        for (asset, t) in books {
            let name = ledger.name();
            must(t.users + t.frozen + t.clearing + t.world == 0, || {
                format!("the books of {name} do not add up: asset {asset} {t:?}")
            })?;
            let sums = kept.sums.get(asset).copied().unwrap_or_default();
            must((t.frozen, t.clearing) == (sums.frozen, sums.clearing), || {
                format!("the books of {name} say {t:?} of asset {asset}, its operations {sums:?}")
            })?;
            must(t.users >= 0 && t.frozen >= 0, || format!("{name} is below zero: {t:?}"))?;
        }
        Ok(())
    }
}

/// Whether effects stand beside each other that may not.
fn excluded(life: &Life) -> bool {
    let Life { effects, .. } = life;
    let out = effects.contains(&Leg::Withdraw);
    let either: BTreeSet<Leg> = [Leg::Deposit, Leg::Refund].into();
    let back = effects.intersection(&either).count();
    back > 1 || (back == 1 && !out) || (life.has(Leg::Settle) && life.has(Leg::Refund))
}
