//! Wrong builds of units: each splits a unit into two writes, or answers one wrongly.

use super::Lie;
use crate::world::Sim;
use kernel::answer::Cause;
use kernel::flow::life::{Leg, Via};
use kernel::ids::{FlowId, Millis};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::record::Record;
use kernel::unit::{Guard, Put, Then, Unit, Written, Wrote};
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, Wrapper};

/// How long a client's key lives in [`key_expires`]: a minute.
const LIVES: Millis = 60_000;
/// What a write takes in [`by_timer`], and after how long it is answered, in milliseconds.
const WRITE: Millis = 20;
const ANSWER: Millis = 10;

/// Puts another scope into a unit that binds a key, since the journal's index would refuse a second
/// row under the same one.
fn rescope(unit: &mut Unit, new: impl Fn(&str) -> Arc<str>) {
    for guard in &mut unit.guards {
        if let Guard::Unbound { scope, .. } = guard {
            *scope = new(scope);
        }
    }
    for put in &mut unit.then.puts {
        if let Put::Open(record) = put
            && let Some(binding) = &mut Arc::make_mut(&mut record.terms).binding
        {
            binding.scope = new(&binding.scope);
        }
    }
}

/// The key that a unit binds.
fn binds(unit: &Unit) -> Option<(FlowId, Arc<str>, Arc<str>)> {
    unit.guards.iter().find_map(|guard| {
        let Guard::Unbound { flow, scope, key } = guard else { return None };
        Some((*flow, scope.clone(), key.clone()))
    })
}

/// Whether a client's key is free is asked before the transaction, and not in it.
pub(super) fn check_beside() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(CheckBeside(inner))))
}

struct CheckBeside(Arc<dyn Journal>);

impl JournalWrapper for CheckBeside {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let (mut free, mut wrote) = (Vec::new(), Vec::new());
            for unit in &units {
                let Some((flow, scope, key)) = binds(unit) else { continue };
                if matches!(
                    self.0.find_by_idempotency_key(flow, scope, key.clone()).await,
                    Ok(None)
                ) {
                    free.push(key);
                }
            }
            for mut unit in units {
                let mut one = self.0.write(vec![unit.clone()]).await;
                if let [Wrote::Lost(Guard::Unbound { key, .. })] = one.as_slice()
                    && free.contains(key)
                {
                    rescope(&mut unit, |scope| format!("{scope} again").into());
                    one = self.0.write(vec![unit]).await;
                }
                wrote.extend(one);
            }
            wrote
        })
    }
}

/// A client's key is forgotten after a while, and opens another transfer then.
pub(super) fn key_expires() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(KeyExpires(inner))))
}

struct KeyExpires(Arc<dyn Journal>);

impl KeyExpires {
    fn with_age(&self, scope: &str) -> Arc<str> {
        let age = self.0.now().checked_div(LIVES).unwrap_or(0);
        format!("{scope} {age}").into()
    }
}

impl JournalWrapper for KeyExpires {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        units.iter_mut().for_each(|unit| rescope(unit, |scope| self.with_age(scope)));
        self.0.write(units)
    }
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.0.find_by_idempotency_key(flow, self.with_age(&scope), key)
    }
}

/// The history is written behind the transfers, in a transaction of its own.
pub(super) fn audit_beside() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(AuditBeside(inner))))
}

struct AuditBeside(Arc<dyn Journal>);

impl JournalWrapper for AuditBeside {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let mut history = Vec::new();
        for unit in &mut units {
            let events = std::mem::take(&mut unit.then.events);
            history.push(Unit { guards: vec![], then: Then { events, ..Then::default() } });
        }
        Box::pin(async move {
            let wrote = self.0.write(units).await;
            let pairs = wrote.iter().zip(history);
            let late = pairs.filter(|(wrote, _)| matches!(wrote, Wrote::Written(_)));
            self.0.write(late.map(|(_, history)| history).collect()).await;
            wrote
        })
    }
}

/// A create is answered by a timer, whether or not its row is durable by then.
pub(super) fn by_timer() -> Lie {
    Lie::journal(|sim, inner| Arc::new(Wrapper(ByTimer { inner, sim: sim.clone() })))
}

struct ByTimer {
    inner: Arc<dyn Journal>,
    sim: Sim,
}

impl JournalWrapper for ByTimer {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let opens = |unit: &Unit| binds(unit).is_some() && unit.then.fork.is_none();
        if !units.iter().all(opens) {
            return self.inner.write(units);
        }
        let written = Written { at: self.inner.now(), serial: None, fork: None };
        let wrote = units.iter().map(|_| Wrote::Written(written.clone())).collect();
        let (inner, sim) = (self.inner.clone(), self.sim.clone());
        self.sim.start(async move {
            sim.sleep(WRITE).await;
            inner.write(units).await;
        });
        let answer = self.sim.sleep(ANSWER);
        Box::pin(async move {
            answer.await;
            wrote
        })
    }
}

/// What keeps the unit that writes COMMITTED from being written is taken for the target's refusal.
pub(super) fn settle_refused() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(SettleRefused(inner))))
}

struct SettleRefused(Arc<dyn Journal>);

impl JournalWrapper for SettleRefused {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut wrote = self.0.write(units.clone()).await;
            for (unit, wrote) in units.into_iter().zip(&mut wrote) {
                let settles = unit.then.ops.iter().any(|(_, op)| op.key.leg == Leg::Settle);
                if settles && matches!(wrote, Wrote::Unknown(_) | Wrote::Full) {
                    let mut again = self.0.write(refused(unit).into_iter().collect()).await;
                    again.pop().into_iter().for_each(|again| *wrote = again);
                }
            }
            wrote
        })
    }
}

/// The unit that takes the other edge: to COMPENSATING.
fn refused(mut unit: Unit) -> Option<Unit> {
    let flows = flows::registry();
    let table = flows.0.first()?;
    let to = table.named("COMPENSATING")?;
    unit.then.ops.clear();
    unit.then.puts.retain(|put| matches!(put, Put::Head { .. }));
    for put in &mut unit.then.puts {
        if let Put::Head { head, .. } = put {
            head.state = to;
        }
    }
    for event in &mut unit.then.events {
        event.to = to;
        event.what = (table.event)(event.from?, Via::Rejected);
    }
    Some(unit)
}
