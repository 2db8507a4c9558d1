//! Lies about HALT and verdicts.

use super::{Lie, held};
use crate::shell::{JournalShell, Shell};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::life::Leg;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Heard, Ledger};
use kernel::record::{Record, System};
use kernel::unit::{Guard, Key, Put, Unit, Wrote};
use std::sync::{Arc, Mutex};

/// A unit that meets HALT is given up as a whole: its claim, and the answer that led to it.
pub(super) fn halt_loses_answers() -> Lie {
    Lie::journal(|_, inner| Arc::new(Shell(HaltLoses(inner))))
}

struct HaltLoses(Arc<dyn Journal>);

impl JournalShell for HaltLoses {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let answer =
            |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Receipt { .. }));
        let answers: Vec<bool> = units.iter().map(answer).collect();
        Box::pin(async move {
            let mut wrote = self.0.write(units).await;
            for (wrote, answer) in wrote.iter_mut().zip(answers) {
                if answer && matches!(wrote, Wrote::Lost(Guard::NotHalted)) {
                    *wrote = Wrote::Unknown(Cause::of("HALTED"));
                }
            }
            wrote
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
        Arc::new(Shell(EarlyFence { inner, ledgers: ledgers.clone() }))
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
        let Heard::Said(known, ()) = ledger.hello().await else { return None };
        ledger.fence(known, Key { id, leg }).await;
        Some(())
    }
}

impl JournalShell for EarlyFence {
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
