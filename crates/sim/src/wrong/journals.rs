//! Lies about journals.

use super::shell::JournalTwist;
use kernel::ports::Fut;
use kernel::ports::journal::{Due, Journal};
use kernel::unit::{Guard, Put, Then, Unit, Written, Wrote};
use std::sync::{Mutex, PoisonError};

pub(super) fn twist(name: &str) -> Option<Box<dyn JournalTwist>> {
    Some(match name {
        "no-swap" => Box::new(NoSwap),
        "torn-unit" => Box::new(TornUnit),
        "early-answer" => Box::new(EarlyAnswer::default()),
        "no-recovery" => Box::new(NoRecovery),
        "same-amount-same-transfer" => Box::new(SameAmount::default()),
        _ => return None,
    })
}

/// Writes without comparing: every worker believes that it moved the transfer.
struct NoSwap;

impl JournalTwist for NoSwap {
    fn write<'a>(&'a self, inner: &'a dyn Journal, mut units: Vec<Unit>) -> Fut<'a, Vec<Wrote>> {
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::Transfer { .. }));
        }
        inner.write(units)
    }
}

/// Writes the transfer's row and, in a second write, the money that belongs to it.
struct TornUnit;

impl JournalTwist for TornUnit {
    fn write<'a>(&'a self, inner: &'a dyn Journal, units: Vec<Unit>) -> Fut<'a, Vec<Wrote>> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for mut unit in units {
            let ops = std::mem::take(&mut unit.then.ops);
            first.push(unit);
            second.push(Unit { guards: vec![], then: Then { ops, ..Then::default() } });
        }
        Box::pin(async move {
            let wrote = inner.write(first).await;
            second.retain(|unit| !unit.then.ops.is_empty());
            inner.write(second).await;
            wrote
        })
    }
}

/// Answers that a transfer is open, and writes it with whatever comes next.
#[derive(Default)]
struct EarlyAnswer {
    waiting: Mutex<Vec<Unit>>,
}

impl JournalTwist for EarlyAnswer {
    fn write<'a>(&'a self, inner: &'a dyn Journal, units: Vec<Unit>) -> Fut<'a, Vec<Wrote>> {
        let opens = |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Open(_)));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = units.iter().all(|unit| opens(unit) && unit.then.fork.is_none());
        if plain && !units.is_empty() {
            let written = Written { at: inner.now(), serial: None, fork: None };
            let wrote = units.iter().map(|_| Wrote::Written(written.clone())).collect();
            waiting.extend(units);
            return Box::pin(async move { wrote });
        }
        let late = std::mem::take(&mut *waiting);
        let before = late.len();
        let all = late.into_iter().chain(units).collect();
        Box::pin(async move { inner.write(all).await.split_off(before) })
    }
}

/// Brings nothing that a worker left behind.
struct NoRecovery;

impl JournalTwist for NoRecovery {
    fn due(&self, _: Vec<Due>) -> Vec<Due> {
        Vec::new()
    }
}

/// Takes two transfers of one user and amount for one.
#[derive(Default)]
struct SameAmount {
    seen: Mutex<Vec<(u64, u128)>>,
}

impl JournalTwist for SameAmount {
    fn write<'a>(&'a self, inner: &'a dyn Journal, mut units: Vec<Unit>) -> Fut<'a, Vec<Wrote>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for unit in &mut units {
            for put in &unit.then.puts {
                let Put::Open(record) = put else { continue };
                let same = (record.terms.user.0, record.terms.amount.0);
                if seen.contains(&same) {
                    unit.guards.push(Guard::AtMost { name: "same".into(), n: 1, limit: 0 });
                }
                seen.push(same);
            }
        }
        drop(seen);
        inner.write(units)
    }
}
