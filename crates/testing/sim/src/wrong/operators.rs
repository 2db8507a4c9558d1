//! Wrong builds of a journal that stores operators' cases, actions, approvals and daily limits.

use kernel::answer::{Answer, Cause};
use kernel::ids::Id;
use kernel::operators::{Approval, PastAction};
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Then, Unit, Written, Wrote};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::wrapper::{JournalWrapper, Wrapper};

pub(super) fn mutated(name: Option<&str>, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
    match name.unwrap_or_default() {
        "close-forgotten" => {
            let forgets = |put: &Put| matches!(put, Put::Close { .. });
            Arc::new(Wrapper(Forgetful { inner, forgets }))
        }
        "uncount-forgotten" => {
            let forgets = |put: &Put| matches!(put, Put::Uncount(_));
            Arc::new(Wrapper(Forgetful { inner, forgets }))
        }
        "cases-unheard" => {
            let forgets = |put: &Put| matches!(put, Put::Case(_));
            Arc::new(Wrapper(Forgetful { inner, forgets }))
        }
        "halt-unheard" => {
            let forgets = |put: &Put| matches!(put, Put::Halt { .. });
            Arc::new(Wrapper(Forgetful { inner, forgets }))
        }
        "halt-unnumbered" => Arc::new(Wrapper(HaltUnnumbered(inner))),
        "limit-beside-the-unit" => Arc::new(Wrapper(LimitBeside(inner))),
        "action-repeats" => Arc::new(Wrapper(ActionRepeats(inner))),
        "proposer-forgotten" => Arc::new(Wrapper(ProposerForgotten(inner))),
        _ => inner,
    }
}

/// Leaves one kind of row unwritten.
struct Forgetful {
    inner: Arc<dyn Journal>,
    forgets: fn(&Put) -> bool,
}

impl JournalWrapper for Forgetful {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            unit.then.puts.retain(|put| !(self.forgets)(put));
            if let Some(fork) = &mut unit.then.fork {
                for way in std::iter::once(&mut fork.done).chain(&mut fork.rejected) {
                    way.puts.retain(|put| !(self.forgets)(put));
                }
            }
        }
        self.inner.write(units)
    }
}

/// Lifts whichever halt stands, also one that was raised after the proposal and its proof.
struct HaltUnnumbered(Arc<dyn Journal>);

impl JournalWrapper for HaltUnnumbered {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::Halt(_)));
        }
        self.0.write(units)
    }
}

/// Looks at a daily limit before its unit and counts behind it, each in a write of its own.
struct LimitBeside(Arc<dyn Journal>);

impl JournalWrapper for LimitBeside {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut counts = Vec::new();
            for unit in &mut units {
                let (guards, rest) = unit.guards.drain(..).partition(limits);
                let looks = Unit { guards, then: Then::default() };
                let looked = self.0.write(vec![looks.clone()]).await;
                unit.guards = rest;
                if !matches!(looked.as_slice(), [Wrote::Written(_)]) {
                    unit.guards.extend(looks.guards);
                }
                counts.push(uncounted(unit));
            }
            let wrote = self.0.write(units).await;
            let late = wrote.iter().zip(counts).filter(|(wrote, _)| counted(wrote));
            self.0.write(late.map(|(_, count)| Unit::puts(count)).collect()).await;
            wrote
        })
    }
}

/// Takes the counts out of a unit, and what its refusal would give back of them.
fn uncounted(unit: &mut Unit) -> Vec<Put> {
    let puts = std::mem::take(&mut unit.then.puts).into_iter();
    let (count, rest) = puts.partition(|put| matches!(put, Put::Count(_)));
    unit.then.puts = rest;
    let refused = unit.then.fork.iter_mut().find_map(|fork| fork.rejected.as_mut());
    if let Some(way) = refused.filter(|_| !count.is_empty()) {
        way.puts.retain(|put| !matches!(put, Put::Uncount(_)));
    }
    count
}

const fn limits(guard: &Guard) -> bool {
    matches!(guard, Guard::DayCount { .. } | Guard::DayAmount { .. })
}

/// Whether it was written, and not refused.
const fn counted(wrote: &Wrote) -> bool {
    matches!(wrote, Wrote::Written(Written { fork: None | Some(Answer::Done(_)), .. }))
}

/// Number of actions that were written.
static ACTIONS: AtomicU64 = AtomicU64::new(0);

/// Takes a repeated action for another one.
struct ActionRepeats(Arc<dyn Journal>);

impl JournalWrapper for ActionRepeats {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::NoPastAction { .. }));
            for put in &mut unit.then.puts {
                if let Put::Action(action) = put {
                    let n = ACTIONS.fetch_add(1, Ordering::Relaxed);
                    action.key = format!("{} {n}", action.key).into();
                }
            }
        }
        self.0.write(units)
    }
    fn past_action(&self, _: Arc<str>, _: Arc<str>) -> Fut<'_, Result<Option<PastAction>, Cause>> {
        Box::pin(async { Ok(None) })
    }
}

/// Does not know who proposed something, so no check can tell that the proposer approves it.
struct ProposerForgotten(Arc<dyn Journal>);

impl JournalWrapper for ProposerForgotten {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(async move {
            let approval = self.0.approval(id).await?;
            Ok(approval.map(|approval| Approval { caller: "no caller".into(), ..approval }))
        })
    }
}
