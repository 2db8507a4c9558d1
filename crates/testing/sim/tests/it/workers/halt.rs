//! HALT with several workers: it waits for each that lives, and one that could not hear of it makes no
//! call.

use crate::workers::processes::{COIN, CallControl, Cluster, LEASE};
use engine::operators::{ActionResult, AdminAction};
use kernel::ids::{LedgerId, UserId};
use kernel::operators::Scope;
use kernel::ports::ledger::Ledger;
use ledger_contract::Profile;
use sim::ledger::Plain;
use sim::service::SimWorker;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two workers with one Spot outside of both.
fn two(seed: u64) -> (Cluster, [SimWorker; 2], CallControl) {
    two_at(seed, None)
}

/// The same; the Spot keeps the numbers of HALTs here, where that is given.
fn two_at(seed: u64, told: Option<Arc<AtomicU64>>) -> (Cluster, [SimWorker; 2], CallControl) {
    let cluster = Cluster::new(seed);
    let spot: Arc<dyn Ledger> = Arc::new(Plain::new(LedgerId::SPOT, Profile::SPOT, 7));
    let calls = CallControl { told, ..CallControl::default() };
    let told = calls.told.clone();
    let first = cluster.join_gated(1, &spot, &CallControl { told, ..CallControl::default() });
    let second = cluster.join_gated(2, &spot, &calls);
    cluster.fund(&first);
    (cluster, [first, second], calls)
}

/// Halts at the first worker; whether everything had ended when that was answered.
fn halts(cluster: &Cluster, member: &SimWorker) -> bool {
    let done = cluster.act(member, "halt", AdminAction::Halt).expect("it is done");
    let ActionResult::Halted { quiet, .. } = done.outcome else { panic!("{:?}", done.outcome) };
    quiet
}

#[test]
fn a_halt_waits_for_the_calls_of_every_worker() {
    for seed in 0..10 {
        let (cluster, [first, second], calls) = two(seed);
        calls.held.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..4);
        cluster.passes(100);
        assert!(calls.came.load(Ordering::SeqCst) > 0, "a call is on the wire");
        assert!(!halts(&cluster, &first), "seed {seed}: a call goes on at the second worker");
        calls.held.store(false, Ordering::SeqCst);
        cluster.passes(2_000);
        let came = calls.came.load(Ordering::SeqCst);
        // the same key again
        assert!(halts(&cluster, &first), "seed {seed}: nothing goes on any more");
        cluster.ask(&second, 4..8);
        cluster.passes(20_000);
        assert_eq!(calls.came.load(Ordering::SeqCst), came, "seed {seed}: a call under HALT");
    }
}

/// The database's clock jumps ahead by an hour, or back, while a worker whose call is on the wire cannot
/// hear of the HALT: by that clock its lease has run out, and it has not.
#[test]
fn a_halt_trusts_no_lease_to_be_over_by_a_clock_that_jumps() {
    for (seed, jump) in (0..10).flat_map(|seed| [(seed, 3_600_000), (seed, -3_600_000)]) {
        let (cluster, [first, second], calls) = two(seed);
        calls.held.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..4);
        cluster.passes(100);
        assert!(calls.came.load(Ordering::SeqCst) > 0, "a call is on the wire");
        cluster.sim.skew(jump);
        assert!(!halts(&cluster, &first), "seed {seed}: a call goes on at the second worker");
        calls.held.store(false, Ordering::SeqCst);
        cluster.passes(20_000);
        assert!(halts(&cluster, &first), "seed {seed}: nothing goes on any more");
    }
}

#[test]
fn a_halt_waits_no_longer_than_a_lease_and_a_worker_that_missed_it_makes_no_call() {
    let mut waited = false;
    for seed in 0..30 {
        let (cluster, [first, second], calls) = two(seed);
        calls.lost.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..8);
        cluster.passes(2_000 + seed * 37);
        second.sim.pause();
        calls.lost.store(false, Ordering::SeqCst);
        let begun = cluster.sim.time();
        assert!(halts(&cluster, &first), "seed {seed}: a worker without a lease is none");
        waited |= cluster.sim.time() > begun + LEASE / 3;
        // its next tries have long been due
        cluster.passes(40_000);
        second.sim.resume();
        cluster.passes(40_000);
        assert_eq!(calls.came.load(Ordering::SeqCst), 0, "seed {seed}: a call under HALT");
        assert!(second.process.engine.halted().is_some());
        assert_ne!(cluster.open(&first), []);
    }
    assert!(waited, "it never waited for the lease");
}

/// A process stands still while its call waits for a connection; a HALT is quiet once its lease is over; then it
/// goes on, and its connection stands.
///
/// Wrong build that turns it red: an engine whose ports do not ask it before they send.
#[test]
fn what_waited_for_its_connection_is_not_sent_after_a_halt() {
    for seed in 0..10 {
        let (cluster, [first, second], calls) = two(seed);
        calls.connects.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..4);
        cluster.passes(100);
        second.sim.pause();
        assert!(halts(&cluster, &first), "seed {seed}: a worker without a lease is none");
        calls.connects.store(false, Ordering::SeqCst);
        second.sim.resume();
        cluster.passes(40_000);
        assert_eq!(calls.came.load(Ordering::SeqCst), 0, "seed {seed}: a call under HALT");
        assert_ne!(cluster.open(&first), []);
    }
}

/// A process stands still after it was allowed to send and before the first byte. A HALT is quiet once its lease is
/// over, and then its bytes leave: a ledger that keeps numbers does nothing for them, and the transfer is not refused.
/// After a resume it ends.
///
/// Wrong builds that turn it red: a quiet HALT of which no ledger was told; a request that reads its number when its
/// bytes leave.
#[test]
fn what_is_sent_without_knowledge_of_a_quiet_halt_is_not_done() {
    for seed in 0..10 {
        let (cluster, [first, second], calls) = two_at(seed, Some(Arc::default()));
        calls.stands_still.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..4);
        cluster.passes(100);
        second.sim.pause();
        assert!(halts(&cluster, &first), "seed {seed}: a worker without a lease is none");
        calls.stands_still.store(false, Ordering::SeqCst);
        second.sim.resume();
        cluster.passes(40_000);
        assert!(calls.stale.load(Ordering::SeqCst) > 0, "seed {seed}: nothing was sent");
        assert_eq!(calls.came.load(Ordering::SeqCst), 0, "seed {seed}: an effect under HALT");
        let open = cluster.open(&first);
        assert_eq!(open.len(), 4, "seed {seed}: {open:?}");
    }
}

/// A call waits for its connection, and persons pause something of it meanwhile: its flow, its asset, an account. What
/// is not paused goes on.
///
/// Wrong build that turns it red: an engine that asks for HALT and for pauses of the whole system alone.
#[test]
fn what_waited_for_its_connection_is_not_sent_after_a_pause() {
    let flow =
        |cluster: &Cluster| Scope::Flow(cluster.service.flows.named("internal").expect("the flow"));
    for (n, left) in [(0, 4), (1, 4), (2, 1)] {
        let (cluster, [first, second], calls) = two(n);
        let scope = match n {
            0 => flow(&cluster),
            1 => Scope::Asset(COIN),
            _ => Scope::Account(UserId(2), LedgerId::SPOT),
        };
        calls.connects.store(true, Ordering::SeqCst);
        cluster.ask(&second, 0..4);
        cluster.passes(100);
        let paused = cluster.act(&second, "pause", AdminAction::Pause(scope)).expect("it is done");
        let ActionResult::Paused { number: Some(number) } = paused.outcome else {
            panic!("{:?}", paused.outcome)
        };
        calls.connects.store(false, Ordering::SeqCst);
        cluster.passes(20_000);
        assert_eq!(cluster.open(&first).len(), left, "{scope:?}");
        assert_eq!(calls.came.load(Ordering::SeqCst) == 0, left == 4, "{scope:?}");
        // one person's pause of an account is lifted by another
        let unpause = AdminAction::Unpause(number);
        cluster.act_by(&second, "ops|bob", "unpause", unpause).expect("it is done");
        cluster.passes(20_000);
        assert_eq!(cluster.open(&first), [], "{scope:?}");
    }
}
