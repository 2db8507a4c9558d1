//! Wrong builds of HALT and verdicts.

use super::{Lie, held};
use kernel::answer::Cause;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, Reply};
use kernel::record::{Record, System};
use kernel::unit::{Put, Unit, Wrote};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use testkit::wrapper::{JournalWrapper, Wrapper};

/// An answer that comes under HALT is lost with the claim that it leads to.
pub(super) fn halt_loses_answers() -> Lie {
    let halted = Arc::default();
    Lie::journal(move |_, inner| {
        Arc::new(Wrapper(HaltLoses { inner, halted: Arc::clone(&halted) }))
    })
}

struct HaltLoses {
    inner: Arc<dyn Journal>,
    halted: Arc<AtomicBool>,
}

impl JournalWrapper for HaltLoses {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for put in units.iter().flat_map(|unit| &unit.then.puts) {
            if matches!(put, Put::Halt { .. } | Put::Resume { .. }) {
                let halts = matches!(put, Put::Halt { .. });
                self.halted.store(halts, Ordering::SeqCst);
            }
        }
        let halted = self.halted.load(Ordering::SeqCst);
        let answer = |put: &Put| matches!(put, Put::Receipt { .. });
        let moves = |unit: &Unit| !unit.then.events.is_empty();
        let lost = |unit: &Unit| halted && moves(unit) && unit.then.puts.iter().any(answer);
        let all: Vec<bool> = units.iter().map(lost).collect();
        units.retain(|unit| !lost(unit));
        Box::pin(async move {
            let mut wrote = self.inner.write(units).await.into_iter();
            // as after a COMMIT whose answer was lost: a refusal by HALT would be taken for one
            let unknown = || Wrote::Unknown(Cause::of("TIMEOUT"));
            let each = |lost| if lost { Some(unknown()) } else { wrote.next() };
            all.into_iter().filter_map(each).collect()
        })
    }
}

/// A verdict fences when it is proposed, and not when it takes effect.
pub(super) fn fence_at_proposal() -> Lie {
    let ledgers: Arc<Mutex<Vec<Arc<dyn Ledger>>>> = Arc::default();
    let known = ledgers.clone();
    let near = move |_: &_, inner: Arc<dyn Ledger>| {
        held(&known).insert(0, inner.clone());
        inner
    };
    let journal = move |_: &_, inner| -> Arc<dyn Journal> {
        Arc::new(Wrapper(EarlyFence { inner, ledgers: ledgers.clone() }))
    };
    Lie { near: Lie::near(near).near, ..Lie::journal(journal) }
}

/// The ledgers are of all processes, the last ones first.
struct EarlyFence {
    inner: Arc<dyn Journal>,
    ledgers: Arc<Mutex<Vec<Arc<dyn Ledger>>>>,
}

impl EarlyFence {
    async fn fence(&self, id: Id) -> Option<()> {
        let record = self.inner.get(vec![id]).await.ok()?.pop()?;
        let (system, leg) = open_call(&record)?;
        let of = |ledger: &&Arc<dyn Ledger>| System::Ledger(ledger.id()) == system;
        let ledger = held(&self.ledgers).iter().find(of)?.clone();
        let Reply::Answered(known, ()) = ledger.hello().await else { return None };
        ledger.fence(known, Key { id, leg }).await;
        Some(())
    }
}

impl JournalWrapper for EarlyFence {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let judged = |put: &Put| {
            let Put::Propose(proposal) = put else { return None };
            (proposal.kind == "RESOLVE").then(|| proposal.subject.parse().ok())?
        };
        let puts = units.iter().flat_map(|unit| &unit.then.puts);
        let proposed: Vec<Id> = puts.filter_map(judged).collect();
        Box::pin(async move {
            let wrote = self.inner.write(units).await;
            for id in proposed {
                self.fence(id).await;
            }
            wrote
        })
    }
}

/// The ledger and the leg that a transfer waits for.
fn open_call(record: &Record) -> Option<(System, Leg)> {
    let flows = flows::registry();
    match flows.0.first()?.state(record.head.state).name {
        "SOURCE_PENDING" => Some((record.terms.source.system, Leg::Withdraw)),
        "TARGET_PENDING" => Some((record.terms.target.system, Leg::Deposit)),
        _ => None,
    }
}
