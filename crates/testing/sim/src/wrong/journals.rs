//! Wrong builds of a journal that moves transfers.

use super::operators;
use kernel::answer::Cause;
use kernel::attempt::Lock;
use kernel::ids::WorkerId;
use kernel::ports::Fut;
use kernel::ports::journal::{Due, DueQuery, Journal};
use kernel::unit::{Guard, Put, Then, Unit, Written, Wrote};
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{JournalWrapper, Wrapper};

pub(super) fn mutated(name: Option<&str>, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
    match name.unwrap_or_default() {
        "no-swap" => Arc::new(Wrapper(NoSwap(inner))),
        "torn-unit" => Arc::new(Wrapper(TornUnit(inner))),
        "early-answer" => Arc::new(Wrapper(EarlyAnswer { inner, waiting: Mutex::default() })),
        "no-recovery" => Arc::new(Wrapper(NoRecovery(inner))),
        "same-amount-same-transfer" => {
            Arc::new(Wrapper(SameAmount { inner, seen: Mutex::default() }))
        }
        "lock-reused" => Arc::new(Wrapper(LockReused { inner, used: Mutex::default() })),
        "members-alone" => Arc::new(Wrapper(MembersAlone(inner))),
        "attempts-forgotten" => Arc::new(Wrapper(AttemptsForgotten(inner))),
        _ => operators::mutated(name, inner),
    }
}

/// Does not look at how many rows its update changed: every worker believes that it moved the transfer.
struct NoSwap(Arc<dyn Journal>);

impl JournalWrapper for NoSwap {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut wrote = self.0.write(units).await;
            for wrote in &mut wrote {
                if matches!(wrote, Wrote::Lost(Guard::Transfer { .. })) {
                    let written = Written { at: self.0.now(), serial: None, fork: None };
                    *wrote = Wrote::Written(written);
                }
            }
            wrote
        })
    }
}

/// Writes the transfer's row and, in a second write, the money that belongs to it.
struct TornUnit(Arc<dyn Journal>);

impl JournalWrapper for TornUnit {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for mut unit in units {
            let ops = std::mem::take(&mut unit.then.ops);
            first.push(unit);
            second.push(Unit { guards: vec![], then: Then { ops, ..Then::default() } });
        }
        Box::pin(async move {
            let wrote = self.0.write(first).await;
            second.retain(|unit| !unit.then.ops.is_empty());
            self.0.write(second).await;
            wrote
        })
    }
}

/// Answers that a transfer is open, and writes it with whatever comes next.
struct EarlyAnswer {
    inner: Arc<dyn Journal>,
    waiting: Mutex<Vec<Unit>>,
}

impl JournalWrapper for EarlyAnswer {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let opens = |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Open(_)));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = units.iter().all(|unit| opens(unit) && unit.then.fork.is_none());
        if plain && !units.is_empty() {
            let written = Written { at: self.inner.now(), serial: None, fork: None };
            let wrote = units.iter().map(|_| Wrote::Written(written.clone())).collect();
            waiting.extend(units);
            return Box::pin(async move { wrote });
        }
        let late = std::mem::take(&mut *waiting);
        let before = late.len();
        let all = late.into_iter().chain(units).collect();
        Box::pin(async move { self.inner.write(all).await.split_off(before) })
    }
}

/// Brings nothing that a worker left behind.
struct NoRecovery(Arc<dyn Journal>);

impl JournalWrapper for NoRecovery {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn due(&self, _: WorkerId, _: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Takes two transfers of one user and amount for one.
struct SameAmount {
    inner: Arc<dyn Journal>,
    seen: Mutex<Vec<(u64, u128)>>,
}

impl JournalWrapper for SameAmount {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for unit in &mut units {
            for put in &unit.then.puts {
                let Put::Open(record) = put else { continue };
                let same = (record.terms.owner.number(), record.terms.source.amount.0);
                if seen.contains(&same) {
                    unit.guards.push(Guard::AtMost { name: "same".into(), n: 1, limit: 0 });
                }
                seen.push(same);
            }
        }
        drop(seen);
        self.inner.write(units)
    }
}

/// Lets any number of attempts take one lock: nothing is unique in the store.
struct LockReused {
    inner: Arc<dyn Journal>,
    used: Mutex<u64>,
}

impl JournalWrapper for LockReused {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::LockFree { .. }));
            for put in &mut unit.then.puts {
                let Put::Attempt(attempt) = put else { continue };
                *used += 1;
                attempt.lock = Lock(format!("{}#{used}", attempt.lock).into());
            }
        }
        drop(used);
        self.inner.write(units)
    }
}

/// Gives a dead worker's members beside their attempt.
struct MembersAlone(Arc<dyn Journal>);

impl JournalWrapper for MembersAlone {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            let mut due = self.0.due(worker, query).await?;
            let members = due.iter().filter_map(|due| match due {
                Due::Attempt(attempt) => Some(attempt.members.to_vec()),
                Due::Transfer(_) | Due::Orphan(_) => None,
            });
            let alone: Vec<_> = members.flatten().map(Due::Orphan).collect();
            due.extend(alone);
            Ok(due)
        })
    }
}

/// Brings every transfer that a worker left behind, and no attempt.
struct AttemptsForgotten(Arc<dyn Journal>);

impl JournalWrapper for AttemptsForgotten {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> {
        Box::pin(async move {
            let mut due = self.0.due(worker, query).await?;
            due.retain(|due| !matches!(due, Due::Attempt(_)));
            Ok(due)
        })
    }
}
