//! Keys that wallets and other workers use: what stopped the chain is lifted only by its explanation, whatever
//! keys the worker has that lifts it, and a key is compared with the chain before it signs.

use super::workers::Cluster;
use engine::operators::{ActionResult, AdminAction};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::operators::Scope;
use kernel::ports::Fut;
use kernel::ports::journal::{Journal, ServiceStatus};
use kernel::unit::{Put, Unit, Wrote};
use sim::chain::{ChainRules, Locking, Paid};
use sim::generic::chain::{ChainWorker, some_lanes};
use sim::service::{PortWraps, around};
use sim::wrong;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use testkit::wrapper::{JournalWrapper, Wrapper};

const RECEIVERS: [&str; 5] = ["alice", "bob", "carol", "dave", "alice"];

/// A worker that has only one of the two keys.
fn with_key(cluster: &mut Cluster, number: u64, key: usize) -> ChainWorker {
    cluster.service.wraps.chain = around(cluster.wraps.chain.clone(), some_lanes(key - 1..key));
    cluster.join(number)
}

/// Another program pays these of the transfers under a key.
fn pays_elsewhere(cluster: &Cluster, key: &str, ids: &[Id], which: Range<usize>) {
    let paid = |(n, (id, receiver)): (u128, (&Id, &&str))| Paid {
        id: *id,
        account: (*receiver).into(),
        asset: AssetId(3),
        amount: Amount(100 + n),
    };
    let actions = (0..)
        .zip(ids.iter().zip(&RECEIVERS))
        .skip(which.start)
        .take(which.len())
        .map(paid)
        .collect();
    cluster.ports.chain.spends_elsewhere(key, actions);
}

fn times_paid(cluster: &Cluster, ids: &[Id]) -> Vec<usize> {
    let paid = cluster.ports.chain.paid();
    ids.iter().map(|id| paid.get(id).map_or(0, Vec::len)).collect()
}

/// Two workers with a key each, both of which were used, and transfers that wait while persons pause the chain.
fn split(cluster: &mut Cluster) -> (ChainWorker, ChainWorker, Vec<Id>) {
    let (one, other) = (with_key(cluster, 1, 1), with_key(cluster, 2, 2));
    for (worker, key) in [(&one, "a"), (&other, "b")] {
        let ids = cluster.pays_for(worker, key, &RECEIVERS);
        cluster.service.sim.run_for(30_000);
        assert_eq!(cluster.states(worker, &ids), ["COMPLETED"; 5]);
    }
    let ids = waiting(cluster, &one);
    (one, other, ids)
}

/// Transfers that wait, since a person paused the chain.
fn waiting(cluster: &Cluster, worker: &ChainWorker) -> Vec<Id> {
    let scope = Scope::Chain(cluster.ports.chain_id());
    let paused = cluster.acts(worker, "ops|1", AdminAction::Pause(scope));
    assert!(matches!(paused, Ok(ActionResult::Paused { .. })), "{paused:?}");
    let ids = cluster.pays_for(worker, "waits", &RECEIVERS);
    cluster.service.sim.run_for(5_000);
    ids
}

/// Lifts the pause of the person.
fn lift(cluster: &Cluster, worker: &ChainWorker) {
    let paused = cluster.place.status().paused;
    let own = paused.iter().find(|paused| &*paused.caller == "ops|1");
    let number = own.map_or_else(|| panic!("{paused:?}"), |own| own.number);
    let done = cluster.acts(worker, "ops|1", AdminAction::Unpause(number));
    assert_eq!(done, Ok(ActionResult::Unpaused));
}

/// Turns red where a worker lifts the stop of a key that it does not have (run: lanes of this process alone are
/// looked at).
#[test]
fn a_worker_without_the_key_lifts_no_stop() {
    split_keys(&PortWraps::default());
}

fn split_keys(wraps: &PortWraps) {
    let mut cluster = Cluster::with(ChainRules::calm(Locking::Nonce), 5, wraps);
    let (one, other, ids) = split(&mut cluster);
    cluster.ports.chain.hide_blocks(true);
    pays_elsewhere(&cluster, "key-1", &ids, 0..5);
    cluster.service.sim.run_for(5_000);
    lift(&cluster, &one);
    cluster.service.sim.run_for(300_000);
    assert_eq!(cluster.states(&one, &ids), ["QUEUED_TRANSFER"; 5]);
    assert_eq!(times_paid(&cluster, &ids), [1; 5]);
    assert_eq!(cluster.cases(&one), ["LANE_AHEAD"]);
    // nor does the end of the process that has the key
    one.sim.kill("killed by the test");
    cluster.service.sim.run_for(300_000);
    assert_eq!(
        (times_paid(&cluster, &ids), cluster.cases(&other)),
        (vec![1; 5], vec!["LANE_AHEAD".to_owned()])
    );
    cluster.ports.chain.hide_blocks(false);
    cluster.service.sim.run_for(300_000);
    assert_eq!(cluster.states(&other, &ids), ["COMPLETED"; 5]);
    assert_eq!((times_paid(&cluster, &ids), cluster.cases(&other)), (vec![1; 5], vec![]));
}

/// A journal that shows a process the service's status as it was when the process began.
struct StaleStatus {
    inner: Arc<dyn Journal>,
    kept: OnceLock<ServiceStatus>,
    /// It shows the status of now again.
    heals: Arc<AtomicBool>,
}

impl JournalWrapper for StaleStatus {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> {
        Box::pin(async move {
            let now = self.inner.service_status().await?;
            if self.heals.load(Ordering::SeqCst) {
                return Ok(now);
            }
            Ok(self.kept.get_or_init(|| now).clone())
        })
    }
}

/// Turns red where a worker claims that does not know of a stop yet (run: a claim without the guard of the count).
#[test]
fn a_worker_claims_nothing_after_a_stop_that_it_does_not_know_of() {
    unknown_stop(&PortWraps::default());
}

#[expect(clippy::indexing_slicing, reason = "the body of a test")]
fn unknown_stop(wraps: &PortWraps) {
    let mut cluster = Cluster::with(ChainRules::calm(Locking::Nonce), 11, wraps);
    let one = with_key(&mut cluster, 1, 1);
    let plain = cluster.service.wraps.journal.clone();
    let heals = Arc::new(AtomicBool::new(false));
    let healed = heals.clone();
    cluster.service.wraps.journal = Arc::new(move |inner| {
        let (kept, heals) = (OnceLock::new(), healed.clone());
        Arc::new(Wrapper(StaleStatus { inner, kept, heals }))
    });
    cluster.service.wraps.journal = around(plain.clone(), cluster.service.wraps.journal.clone());
    let other = with_key(&mut cluster, 2, 2);
    cluster.service.wraps.journal = plain;
    cluster.service.sim.run_for(5_000);
    cluster.ports.chain.swallow(true);
    let ids = cluster.pays_for(&other, "a", &RECEIVERS);
    cluster.service.sim.run_for(3_000);
    cluster.ports.chain.hide_blocks(true);
    pays_elsewhere(&cluster, "key-1", &ids, 3..5);
    cluster.service.sim.run_for(5_000);
    one.sim.kill("killed by the test");
    // the one that begins in its place looks at once
    let next = with_key(&mut cluster, 3, 1);
    cluster.service.sim.run_for(10_000);
    assert_eq!(cluster.place.status().paused.len(), 1);
    cluster.ports.chain.swallow(false);
    cluster.service.sim.run_for(40_000);
    // its own attempt ends, and frees its key
    assert_eq!(cluster.states(&next, &ids[..1]), ["COMPLETED"]);
    assert_eq!(times_paid(&cluster, &ids[3..]), [1; 2]);
    heals.store(true, Ordering::SeqCst);
    cluster.ports.chain.hide_blocks(false);
    cluster.service.sim.run_for(120_000);
    assert_eq!(cluster.states(&next, &ids), ["COMPLETED"; 5]);
    assert_eq!(times_paid(&cluster, &ids), [1; 5]);
}

/// Turns red where a key without a row signs before it is compared with the chain: it is new to a journal that was
/// set back, and paid everything that waits (run: the chain's number counts when it is first seen).
#[test]
fn a_key_that_a_journal_which_was_set_back_never_saw_is_compared_first() {
    key_without_row(&PortWraps::default());
}

fn key_without_row(wraps: &PortWraps) {
    for hidden in [false, true] {
        let mut cluster = Cluster::with(ChainRules::calm(Locking::Nonce), 7, wraps);
        let one = with_key(&mut cluster, 1, 1);
        let ids = cluster.pays_for(&one, "a", &RECEIVERS);
        cluster.service.sim.run_for(30_000);
        assert_eq!(cluster.states(&one, &ids), ["COMPLETED"; 5]);
        let ids = waiting(&cluster, &one);
        // the standby stays where it is, and has no row of the key that comes now
        cluster.place.lose_standby();
        pays_elsewhere(&cluster, "key-2", &ids, 0..5);
        cluster.service.sim.run_for(5_000);
        one.sim.kill("killed by the test");
        cluster.place.fail_over();
        cluster.ports.chain.hide_blocks(hidden);
        let other = with_key(&mut cluster, 2, 2);
        lift(&cluster, &other);
        cluster.service.sim.run_for(300_000);
        assert_eq!(times_paid(&cluster, &ids), [1; 5], "{hidden}");
        if hidden {
            assert_eq!(cluster.cases(&other), ["LANE_AHEAD"]);
            assert_eq!(cluster.states(&other, &ids), ["QUEUED_TRANSFER"; 5]);
            cluster.ports.chain.hide_blocks(false);
            cluster.service.sim.run_for(300_000);
        }
        assert_eq!(cluster.states(&other, &ids), ["COMPLETED"; 5], "{hidden}");
        assert_eq!((times_paid(&cluster, &ids), cluster.cases(&other)), (vec![1; 5], vec![]));
    }
}

/// Turns red where an attempt whose number a wallet took waits for ever, where what the wallet did is not stored, and
/// where a hundred of them in a row stop the chain for longer than it takes to read them.
#[test]
fn a_wallet_that_takes_the_number_of_an_open_attempt_strands_nothing() {
    taken_number(&PortWraps::default());
}

fn taken_number(wraps: &PortWraps) {
    for wallets in [1, 2, 100] {
        let mut cluster = Cluster::with(ChainRules::calm(Locking::Nonce), 9, wraps);
        let one = with_key(&mut cluster, 1, 1);
        cluster.ports.chain.swallow(true);
        let ids = cluster.pays_for(&one, "a", &RECEIVERS);
        cluster.service.sim.run_for(3_000);
        for _ in 0..wallets {
            cluster.ports.chain.spends_elsewhere("key-1", Vec::new());
        }
        cluster.ports.chain.swallow(false);
        cluster.service.sim.run_for(60_000);
        assert_eq!(cluster.states(&one, &ids), ["COMPLETED"; 5], "{wallets}");
        assert_eq!(
            (times_paid(&cluster, &ids), cluster.cases(&one)),
            (vec![1; 5], vec![]),
            "{wallets}"
        );
        assert_eq!(cluster.ports.chain.faults(), [""; 0]);
    }
}

/// A journal whose first end of an attempt that stops the chain is not answered.
struct UnansweredStop {
    inner: Arc<dyn Journal>,
    /// Whether it is written.
    writes: bool,
    over: AtomicBool,
}

impl JournalWrapper for UnansweredStop {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let puts = || units.iter().flat_map(|unit| &unit.then.puts);
            let stops = puts().any(|put| matches!(put, Put::Pause { .. }))
                && puts().any(|put| matches!(put, Put::AttemptHead { closed: Some(_), .. }));
            if !stops || self.over.swap(true, Ordering::SeqCst) {
                return self.inner.write(units).await;
            }
            let asked = units.len();
            if self.writes {
                self.inner.write(units).await;
            }
            vec![Wrote::Unknown(Cause::of("COMMIT")); asked]
        })
    }
}

/// Turns red where the stop that an attempt's end stores holds the chain in its process for ever, since its write was
/// not answered (run: the release before).
#[test]
fn a_stop_whose_write_is_not_answered_ends() {
    for writes in [true, false] {
        let mut cluster = Cluster::new(ChainRules::calm(Locking::Nonce), 9);
        cluster.service.wraps.journal = Arc::new(move |inner| {
            Arc::new(Wrapper(UnansweredStop { inner, writes, over: AtomicBool::new(false) }))
        });
        let one = with_key(&mut cluster, 1, 1);
        cluster.ports.chain.swallow(true);
        let ids = cluster.pays_for(&one, "a", &RECEIVERS);
        cluster.service.sim.run_for(3_000);
        cluster.ports.chain.spends_elsewhere("key-1", Vec::new());
        cluster.ports.chain.swallow(false);
        cluster.service.sim.run_for(120_000);
        assert_eq!(cluster.states(&one, &ids), ["COMPLETED"; 5], "{writes}");
        assert_eq!((times_paid(&cluster, &ids), cluster.cases(&one)), (vec![1; 5], vec![]));
    }
}

/// Turns red where a program that has the journal's own transfers pays them under the number of their attempt, and
/// the members of the dead attempt are claimed again before that is read (run: the lane's mark is the attempt's lock).
#[test]
fn what_took_the_number_of_an_attempt_may_have_paid_its_members() {
    let mut cluster = Cluster::new(ChainRules::calm(Locking::Nonce), 9);
    let one = with_key(&mut cluster, 1, 1);
    cluster.ports.chain.swallow(true);
    let ids = cluster.pays_for(&one, "a", &RECEIVERS);
    cluster.service.sim.run_for(3_000);
    pays_elsewhere(&cluster, "key-1", &ids, 0..2);
    cluster.ports.chain.swallow(false);
    cluster.service.sim.run_for(120_000);
    assert_eq!(cluster.states(&one, &ids), ["COMPLETED"; 5]);
    assert_eq!((times_paid(&cluster, &ids), cluster.cases(&one)), (vec![1; 5], vec![]));
}

/// Turns red where a process that begins believes nodes that have seen less of the chain than the journal has stored:
/// they show a key level that paid everything that waits (run: the floor is what this process saw).
#[test]
fn nodes_behind_what_the_journal_has_stored_show_no_lane_level() {
    old_nodes(&PortWraps::default());
}

fn old_nodes(wraps: &PortWraps) {
    let cluster = Cluster::with(ChainRules::calm(Locking::Nonce), 5, wraps);
    let (one, chain) = (cluster.join(1), cluster.ports.chain.clone());
    let mut seen = 0;
    for key in ["a", "b"] {
        seen = chain.final_height();
        let ids = cluster.pays_for(&one, key, &RECEIVERS);
        cluster.service.sim.run_for(30_000);
        assert_eq!(cluster.states(&one, &ids), ["COMPLETED"; 5]);
    }
    let ids = waiting(&cluster, &one);
    pays_elsewhere(&cluster, "key-1", &ids, 0..5);
    one.sim.kill("killed by the test");
    cluster.service.sim.run_for(5_000);
    chain.shows_upto(Some(seen));
    let next = cluster.join(3);
    lift(&cluster, &next);
    cluster.service.sim.run_for(60_000);
    assert_eq!(times_paid(&cluster, &ids), [1; 5]);
    assert_eq!(cluster.states(&next, &ids), ["QUEUED_TRANSFER"; 5]);
    chain.shows_upto(None);
    cluster.service.sim.run_for(120_000);
    assert_eq!(cluster.states(&next, &ids), ["COMPLETED"; 5]);
    assert_eq!((times_paid(&cluster, &ids), cluster.cases(&next)), (vec![1; 5], vec![]));
}

/// A schedule with this around the ports of its workers.
type Schedule = fn(&PortWraps);

/// Each wrong build of what is held of keys is found by its schedule.
#[test]
fn wrong_builds_of_keys_are_found() {
    let builds: [(&str, Schedule); 5] = [
        ("stop-ended-without-its-rows", split_keys),
        ("claims-past-a-stop", unknown_stop),
        ("new-key-at-the-chains-nonce", key_without_row),
        ("no-floor", old_nodes),
        ("lock-spent-for-ever", taken_number),
    ];
    for (name, schedule) in builds {
        let Some(wraps) = wrong::chains(name) else { panic!("no wrong build {name}") };
        let played = catch_unwind(AssertUnwindSafe(|| schedule(&wraps)));
        assert!(played.is_err(), "{name} was not found");
    }
}
