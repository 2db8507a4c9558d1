//! HALT with several workers: it waits for each that lives, and one that could not hear of it makes no
//! call.

use crate::many::{LEASE, Member, Town, plain};
use engine::deeds::{Actor, Deed, Outcome};
use kernel::answer::{Answer, Cause};
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::unit::Op;
use sim::ledger::Plain;
use sim::shell::{LedgerShell, Shell};
use sim::suite::ledger::Profile;
use sim::world::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a test does to the calls of one process.
#[derive(Clone, Default)]
struct Wire {
    /// They wait.
    held: Arc<AtomicBool>,
    /// They never arrive.
    lost: Arc<AtomicBool>,
    /// So many arrived.
    came: Arc<AtomicU64>,
}

struct Way {
    inner: Arc<dyn Ledger>,
    wire: Wire,
    sim: Sim,
}

impl LedgerShell for Way {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            if self.wire.lost.load(Ordering::SeqCst) {
                return Heard::Nothing(Cause::of("TIMEOUT"));
            }
            self.wire.came.fetch_add(1, Ordering::SeqCst);
            while self.wire.held.load(Ordering::SeqCst) {
                self.sim.sleep(10).await;
            }
            self.inner.execute(known, ops).await
        })
    }
}

/// Two workers with one Spot outside of both.
fn two(seed: u64) -> (Town, [Member; 2], Wire) {
    let town = Town::new(seed);
    let spot: Arc<dyn Ledger> = Arc::new(Plain::new(LedgerId::SPOT, Profile::SPOT, 7));
    let wire = Wire::default();
    let way = |wire: Wire, sim: Sim| Arc::new(Shell(Way { inner: spot.clone(), wire, sim }));
    let first = way(Wire::default(), town.sim.process(1));
    let first = town.join(1, (first, Vec::new()), plain).expect("it starts");
    let second = way(wire.clone(), town.sim.process(2));
    let second = town.join(2, (second, Vec::new()), plain).expect("it starts");
    town.fund(&first);
    (town, [first, second], wire)
}

/// Halts at the first worker; whether everything had ended when that was answered.
fn halts(town: &Town, member: &Member) -> bool {
    let engine = member.engine.clone();
    let (caller, key, reason) = ("ops|ann".into(), "halt".into(), "a test".into());
    let act = async move { engine.act(Actor { caller, key, reason }, Deed::Halt).await };
    let done = town.sim.block_on(act).expect("it lives").expect("it is done");
    let Outcome::Halted { quiet, .. } = done.outcome else { panic!("{:?}", done.outcome) };
    quiet
}

#[test]
fn a_halt_waits_for_the_calls_of_every_worker() {
    for seed in 0..10 {
        let (town, [first, second], wire) = two(seed);
        wire.held.store(true, Ordering::SeqCst);
        town.ask(&second, 0..4);
        town.passes(100);
        assert!(wire.came.load(Ordering::SeqCst) > 0, "a call is on the wire");
        assert!(!halts(&town, &first), "seed {seed}: a call goes on at the second worker");
        wire.held.store(false, Ordering::SeqCst);
        town.passes(2_000);
        let came = wire.came.load(Ordering::SeqCst);
        // the same key again
        assert!(halts(&town, &first), "seed {seed}: nothing goes on any more");
        town.ask(&second, 4..8);
        town.passes(20_000);
        assert_eq!(wire.came.load(Ordering::SeqCst), came, "seed {seed}: a call under HALT");
    }
}

#[test]
fn a_halt_waits_no_longer_than_a_lease_and_who_missed_it_makes_no_call() {
    let mut waited = false;
    for seed in 0..30 {
        let (town, [first, second], wire) = two(seed);
        wire.lost.store(true, Ordering::SeqCst);
        town.ask(&second, 0..8);
        town.passes(2_000 + seed * 37);
        second.sim.pause();
        wire.lost.store(false, Ordering::SeqCst);
        let begun = town.sim.time();
        assert!(halts(&town, &first), "seed {seed}: a worker without a lease is none");
        waited |= town.sim.time() > begun + LEASE / 3;
        // its next tries have long been due
        town.passes(40_000);
        second.sim.resume();
        town.passes(40_000);
        assert_eq!(wire.came.load(Ordering::SeqCst), 0, "seed {seed}: a call under HALT");
        assert!(second.engine.halted().is_some());
        assert_ne!(town.open(&first), []);
    }
    assert!(waited, "it never waited for the lease");
}
