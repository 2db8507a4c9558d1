//! Wrong builds of ledgers.

use super::wrapper::LedgerMutation;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) fn mutation(name: &str) -> Option<Box<dyn LedgerMutation>> {
    Some(match name {
        "double-withdraw" => Box::new(Double(Leg::Withdraw)),
        "double-deposit" => Box::new(Double(Leg::Deposit)),
        "double-refund" => Box::new(Double(Leg::Refund)),
        "timeout-is-refusal" => Box::new(TimeoutIsRefusal),
        "timeout-is-success" => Box::new(TimeoutIsSuccess),
        "refusal-is-timeout" => Box::new(RefusalIsTimeout),
        "refusal-is-success" => Box::new(Granted(&[Code::InsufficientBalance])),
        "status-is-ignored" => Box::new(Granted(&[Code::AccountFrozen, Code::AccountDisabled])),
        "pays-on-credit" => Box::new(OnCredit),
        "fee-on-top" => Box::new(FeeOnTop),
        "deposit-halved" => Box::new(Halved(Leg::Deposit)),
        "refund-halved" => Box::new(Halved(Leg::Refund)),
        _ => return None,
    })
}

/// What every life of a [`Double`] did: starting again does not make it honest.
static SEEN: Mutex<BTreeSet<Key>> = Mutex::new(BTreeSet::new());

/// Forgets its results: a repeat of one leg is executed once more, under another key.
struct Double(Leg);

impl LedgerMutation for Double {
    fn ops(&self, ops: Arc<[Op]>) -> Arc<[Op]> {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |op: &Op| {
            if op.key.leg != self.0 || seen.insert(op.key) {
                return op.clone();
            }
            // giving back a second time is giving
            let leg = if self.0 == Leg::Withdraw { Leg::Withdraw } else { Leg::Deposit };
            Op { key: Key { id: Id(op.key.id.0 ^ 1), leg }, ..op.clone() }
        };
        ops.iter().map(one).collect()
    }
}

/// Takes a lost reply for a refusal.
struct TimeoutIsRefusal;

impl LedgerMutation for TimeoutIsRefusal {
    fn answer(&self, op: &Op, answer: Answer) -> Answer {
        if let Answer::Unknown(cause) = &answer
            && op.key.leg.refusable()
        {
            return Answer::Rejected(Evidence::code(cause.class), Receipt::seq(0));
        }
        answer
    }
}

/// Takes a hindered refund for one that was made.
struct TimeoutIsSuccess;

impl LedgerMutation for TimeoutIsSuccess {
    fn answer(&self, op: &Op, answer: Answer) -> Answer {
        let hindered = op.key.leg == Leg::Refund && matches!(answer, Answer::Unknown(_));
        if hindered { Answer::Done(Receipt::seq(0)) } else { answer }
    }
}

/// Takes a stored refusal for a lost reply.
struct RefusalIsTimeout;

impl LedgerMutation for RefusalIsTimeout {
    fn answer(&self, _: &Op, answer: Answer) -> Answer {
        let refused = matches!(answer, Answer::Rejected(..));
        if refused { Answer::Unknown(Cause::of("TIMEOUT")) } else { answer }
    }
}

/// Says that a leg was done which was refused with one of these: pays out what may not be paid.
struct Granted(&'static [Code]);

impl LedgerMutation for Granted {
    fn answer(&self, _: &Op, answer: Answer) -> Answer {
        if let Answer::Rejected(why, receipt) = &answer
            && self.0.iter().any(|code| why.code == code.name())
        {
            return Answer::Done(receipt.clone());
        }
        answer
    }
}

/// Of a large amount it takes one unit of six decimals, and says that all of it was there.
struct OnCredit;

impl LedgerMutation for OnCredit {
    fn ops(&self, ops: Arc<[Op]>) -> Arc<[Op]> {
        let large = |op: &Op| op.key.leg == Leg::Withdraw && op.amount.0 > 50_000_000;
        let one = |op: &Op| match large(op) {
            true => Op { amount: Amount(1_000_000), ..op.clone() },
            false => op.clone(),
        };
        ops.iter().map(one).collect()
    }
}

/// Of a large amount it wants one base unit more than is asked for.
struct FeeOnTop;

impl LedgerMutation for FeeOnTop {
    fn ops(&self, ops: Arc<[Op]>) -> Arc<[Op]> {
        let large = |op: &Op| op.key.leg == Leg::Withdraw && op.amount.0 > 50_000_000;
        let one = |op: &Op| match large(op) {
            true => Op { amount: Amount(op.amount.0 + 1), ..op.clone() },
            false => op.clone(),
        };
        ops.iter().map(one).collect()
    }
}

/// Says that a leg was done, and gives only half of it.
struct Halved(Leg);

impl LedgerMutation for Halved {
    fn ops(&self, ops: Arc<[Op]>) -> Arc<[Op]> {
        let one = |op: &Op| match op.key.leg == self.0 {
            // under another key: a refund of another amount would be noticed at once
            true => Op {
                key: Key { id: Id(op.key.id.0 ^ 1), leg: Leg::Deposit },
                amount: Amount(op.amount.0 / 2),
                ..op.clone()
            },
            false => op.clone(),
        };
        ops.iter().map(one).collect()
    }
}
