//! A core that runs inside a process has one owner: the owner before writes nothing of it any
//! more, and a process with another core is refused.

use crate::spot::spot;
use crate::workers::processes::Cluster;
use kernel::answer::Answer;
use kernel::ids::{LedgerId, WorkerId};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::journal::{Journal, Owner};
use kernel::ports::ledger::{Ledger, Reply};
use kernel::unit::{Guard, Unit, Wrote};
use sim::disk::SimDisk;
use sim::service::{PortWraps, SimWorker};
use sim::world::Sim;
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, LedgerWrapper, Wrapper};

/// A core that takes its time before and after each batch.
struct Slow {
    inner: Arc<dyn Ledger>,
    sim: Sim,
}

impl LedgerWrapper for Slow {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            self.sim.sleep(Rng::next(&self.sim) % 20).await;
            let reply = self.inner.execute(known, ops).await;
            self.sim.sleep(Rng::next(&self.sim) % 20).await;
            reply
        })
    }
}

/// A process with the core of this disk inside it.
fn join(cluster: &Cluster, number: u64, disk: &SimDisk) -> Result<SimWorker, String> {
    let me = cluster.sim.process(number);
    let opened = me.block_on(spot(me.clone(), disk.clone(), 0));
    let inner: Arc<dyn Ledger> = opened.map_err(|stop| format!("{stop:?}"))?;
    let slow = Arc::new(Wrapper(Slow { inner, sim: me }));
    cluster.join(number, (slow, vec![LedgerId::SPOT]))
}

fn owners(cluster: &Cluster, member: &SimWorker) -> Vec<Owner> {
    let engine = member.process.engine.clone();
    let status = async move { engine.journal().service_status().await };
    cluster.sim.block_on(status).expect("it lives").expect("it answers").owners
}

/// An owner stands still with work in its hands, a copy of its folder is taken over elsewhere, and it
/// goes on as if nothing had been. What is wrong at the end.
#[expect(
    clippy::panic_in_result_fn,
    reason = "the error is what the rule said; what a test asserts is not"
)]
fn superseded(seed: u64, wraps: &PortWraps) -> Result<(), String> {
    let mut cluster = Cluster::new(seed);
    let disk = SimDisk::new(seed, cluster.sim.crash());
    cluster.service.wraps = wraps.clone();
    let first = join(&cluster, 1, &disk)?;
    cluster.service.wraps = PortWraps::default();
    cluster.fund(&first);
    cluster.ask(&first, 0..20);
    cluster.passes(1 + seed % 25);
    first.sim.pause();
    let second = join(&cluster, 2, &disk.copy(seed))?;
    let epochs: Vec<_> = owners(&cluster, &second).iter().map(|o| (o.epoch, o.worker)).collect();
    assert_eq!(epochs, [(2, WorkerId(2))]);
    cluster.passes(30_000);
    assert_eq!(cluster.open(&second), [], "what the first held is carried on");
    first.sim.resume();
    cluster.ask(&first, 20..30);
    cluster.passes(30_000);
    cluster.ask(&second, 0..30);
    cluster.passes(30_000);
    let faults = cluster.faults(&second);
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    assert_eq!(cluster.open(&second), []);
    match first.sim.fallen() {
        Some(why) if why.contains("took over") => Ok(()),
        other => Err(format!("the former owner goes on: {other:?}")),
    }
}

#[test]
fn a_former_owner_writes_nothing_and_ends() {
    for seed in 0..30 {
        assert_eq!(superseded(seed, &PortWraps::default()), Ok(()), "seed {seed}");
    }
}

/// Writes although another process owns the core.
struct NoEpoch(Arc<dyn Journal>);

impl JournalWrapper for NoEpoch {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        for unit in &mut units {
            let takes =
                unit.then.puts.iter().any(|put| matches!(put, kernel::unit::Put::Own { .. }));
            unit.guards.retain(|guard| takes || !matches!(guard, Guard::Owner { .. }));
        }
        self.0.write(units)
    }
}

#[test]
fn an_epoch_that_is_not_checked_is_noticed() {
    let journal = Arc::new(|inner| -> Arc<dyn Journal> { Arc::new(Wrapper(NoEpoch(inner))) });
    let wraps = PortWraps { journal, ..PortWraps::default() };
    let found = (0..30).find_map(|seed| superseded(seed, &wraps).err().map(|why| (seed, why)));
    let (seed, why) = found.expect("within 30 seeds");
    assert!(why.contains("conservation"), "seed {seed}: {why}");
}

#[test]
fn another_core_is_refused_while_the_owner_lives_and_halts_when_none_does() {
    for seed in 0..10 {
        let cluster = Cluster::new(seed);
        let disk = |n| SimDisk::new(n, cluster.sim.crash());
        let first = join(&cluster, 1, &disk(1)).expect("it starts");
        cluster.fund(&first);
        cluster.ask(&first, 0..4);
        cluster.passes(5_000);
        let before = owners(&cluster, &first);
        let refused = join(&cluster, 2, &disk(2)).expect_err("it is refused");
        assert!(refused.contains("OWNED"), "{refused}");
        assert_eq!(owners(&cluster, &first), before, "it touched something");
        assert_eq!(cluster.faults(&first), [""; 0]);
        first.sim.kill("crashed: killed");
        // its lease runs out
        cluster.passes(10_000);
        let third = join(&cluster, 3, &disk(3)).expect("it starts, and halts");
        let why = third.process.engine.halted().expect("it is halted");
        assert!(why.contains("SPOT is another ledger"), "{why}");
        let epochs: Vec<_> = owners(&cluster, &third).iter().map(|owner| owner.epoch).collect();
        assert_eq!(epochs, [1]);
    }
}

/// Turns red where a process that brings a Spot of its own to those who share another one starts, and
/// halts them.
#[test]
fn a_core_of_its_own_is_refused_where_others_share_one() {
    for seed in 0..10 {
        let cluster = Cluster::new(seed);
        let disk = |n| SimDisk::new(n, cluster.sim.crash());
        let shared = cluster.sim.process(9);
        let inner = shared.block_on(spot(shared.clone(), disk(9), 0)).expect("it opens");
        let inner: Arc<dyn Ledger> = inner;
        let member = cluster.join(1, (inner, Vec::new())).expect("it starts");
        cluster.fund(&member);
        cluster.ask(&member, 0..4);
        cluster.passes(5_000);
        let refused = join(&cluster, 2, &disk(2)).expect_err("it is refused");
        assert!(refused.contains("OWNED"), "{refused}");
        assert_eq!(owners(&cluster, &member), [], "it touched something");
        assert_eq!(cluster.faults(&member), [""; 0]);
        member.sim.kill("crashed: killed");
        // nobody's lease stands any more: there is nobody to ask, and it halts
        cluster.passes(10_000);
        let other = join(&cluster, 3, &disk(3)).expect("it starts, and halts");
        assert!(other.process.engine.halted().is_some());
    }
}

#[test]
fn the_same_core_is_taken_over_at_once() {
    for seed in 0..10 {
        let cluster = Cluster::new(seed);
        let disk = SimDisk::new(seed, cluster.sim.crash());
        let first = join(&cluster, 1, &disk).expect("it starts");
        cluster.fund(&first);
        cluster.ask(&first, 0..20);
        cluster.passes(1 + seed);
        first.sim.kill("crashed: killed");
        cluster.passes(1);
        disk.power_cut();
        let second = join(&cluster, 2, &disk).expect("it starts at once");
        assert_eq!(second.process.engine.halted(), None);
        assert_eq!(owners(&cluster, &second).iter().map(|o| o.epoch).collect::<Vec<_>>(), [2]);
        cluster.ask(&second, 0..20);
        cluster.passes(30_000);
        assert_eq!(cluster.open(&second), []);
        assert_eq!(cluster.faults(&second), [""; 0]);
    }
}
