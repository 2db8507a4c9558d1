//! An operator's action whose write is made after the journal was asked for it: the transfer that it gives
//! to its process ends nevertheless.

use crate::workers::processes::{CallControl, Cluster, LEASE};
use conformance::ledger::Profile;
use engine::operators::{AdminAction, Objection};
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::Ledger;
use kernel::unit::{Put, Unit, Wrote};
use sim::ledger::Plain;
use sim::service::PortWraps;
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use testkit::wrapper::{JournalWrapper, Wrapper};

/// How long after its answer an action's write is made.
const LATER: u64 = 500;

/// Makes the writes of actions after it has answered that their outcome is unknown.
struct LateActions {
    inner: Arc<dyn Journal>,
    sim: Sim,
}

impl JournalWrapper for LateActions {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let acts = |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Action(_)));
        if !units.iter().any(acts) {
            return self.inner.write(units);
        }
        let answers = vec![Wrote::Unknown(Cause::of("COMMIT")); units.len()];
        let (inner, sim) = (self.inner.clone(), self.sim.clone());
        self.sim.start(async move {
            sim.sleep(LATER).await;
            inner.write(units).await;
        });
        Box::pin(std::future::ready(answers))
    }
}

#[test]
fn a_retry_that_is_written_late_strands_no_transfer() {
    for seed in 0..10 {
        let mut cluster = Cluster::new(seed);
        let spot: Arc<dyn Ledger> = Arc::new(Plain::new(LedgerId::SPOT, Profile::SPOT, 7));
        let lost = CallControl::default();
        lost.lost.store(true, Ordering::SeqCst);
        let first = cluster.join_gated(1, &spot, &lost);
        cluster.fund(&first);
        cluster.ask(&first, 0..4);
        cluster.passes(500);
        let waiting = cluster.open(&first);
        assert_eq!(waiting.len(), 4, "seed {seed}");
        // from now on the second process alone lives
        first.sim.pause();
        let sim = cluster.sim.process(2);
        let journal = Arc::new(move |inner| -> Arc<dyn Journal> {
            Arc::new(Wrapper(LateActions { inner, sim: sim.clone() }))
        });
        cluster.service.wraps = PortWraps { journal, ..PortWraps::default() };
        let second = cluster.join_gated(2, &spot, &CallControl::default());
        for (id, _) in waiting {
            let done = cluster.act(&second, &format!("retry {id}"), AdminAction::Retry(id));
            assert_eq!(done, Err(Objection::Unknown(Cause::of("COMMIT"))), "seed {seed}");
        }
        cluster.passes(LATER);
        assert_eq!(cluster.open(&second).len(), 4, "seed {seed}: the action came too late");
        cluster.passes(5 * LEASE + 10_000);
        assert_eq!(cluster.open(&second), [], "seed {seed}");
        assert_eq!(cluster.faults(&second), [""; 0], "seed {seed}");
    }
}
