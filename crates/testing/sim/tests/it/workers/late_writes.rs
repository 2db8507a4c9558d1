//! A write that is made after the journal was asked for it: the transfer that it gives to its process ends
//! nevertheless, and no caller hears that it was refused.

use crate::workers::processes::{CallControl, Cluster, LEASE};
use engine::Refused;
use engine::operators::{AdminAction, Objection};
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::Ledger;
use kernel::unit::{Guard, Put, Unit, Wrote};
use ledger_contract::Profile;
use sim::ledger::Plain;
use sim::service::PortWraps;
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::wrapper::{JournalWrapper, Wrapper};

/// How long after its answer a write is made.
const LATER: u64 = 500;

/// Makes some writes after it has answered that their outcome is unknown.
struct LateWrites {
    inner: Arc<dyn Journal>,
    sim: Sim,
    which: fn(&Put) -> bool,
    /// How many writes are late, and the answer to those of the same kind that come after them.
    late: AtomicUsize,
    then: Wrote,
}

impl JournalWrapper for LateWrites {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        if !units.iter().flat_map(|unit| &unit.then.puts).any(self.which) {
            return self.inner.write(units);
        }
        let fewer = |left: usize| left.checked_sub(1);
        if self.late.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_err() {
            return Box::pin(std::future::ready(vec![self.then.clone(); units.len()]));
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

/// Has the processes that join from now on write so.
fn late_writes(cluster: &mut Cluster, which: fn(&Put) -> bool, late: usize, then: Wrote) {
    let sim = cluster.sim.clone();
    let journal = Arc::new(move |inner| -> Arc<dyn Journal> {
        let (sim, late, then) = (sim.clone(), AtomicUsize::new(late), then.clone());
        Arc::new(Wrapper(LateWrites { inner, sim, which, late, then }))
    });
    cluster.service.wraps = PortWraps { journal, ..PortWraps::default() };
}

/// The first write of an opening is made late, and the second one is refused in the meantime.
#[test]
fn an_opening_that_is_written_late_is_neither_refused_nor_stranded() {
    for then in [Wrote::Full, Wrote::Lost(Guard::NotHalted)] {
        let mut cluster = Cluster::new(1);
        let spot: Arc<dyn Ledger> = Arc::new(Plain::new(LedgerId::SPOT, Profile::SPOT, 7));
        let first = cluster.join_gated(1, &spot, &CallControl::default());
        cluster.fund(&first);
        late_writes(&mut cluster, |put| matches!(put, Put::Open(_)), 1, then.clone());
        let second = cluster.join_gated(2, &spot, &CallControl::default());
        let asked = cluster.ask(&second, 0..1);
        cluster.passes(LATER / 2);
        let answers = std::mem::take(&mut *asked.lock().expect("no panic"));
        assert!(matches!(&answers[..], [Err(Refused::Unknown(_))]), "{then:?}: {answers:?}");
        cluster.passes(LATER);
        assert_eq!(cluster.open(&second).len(), 1, "{then:?}: it was opened late");
        cluster.passes(5 * LEASE + 10_000);
        assert_eq!(cluster.open(&second), [], "{then:?}");
        assert_eq!(cluster.faults(&second), [""; 0], "{then:?}");
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
        let actions = |put: &Put| matches!(put, Put::Action(_));
        late_writes(&mut cluster, actions, usize::MAX, Wrote::Full);
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
