//! The campaign: a seed is a run, each seed is another one, and wrong builds are found.

use kernel::answer::Answer;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::money::Asset;
use kernel::operation::{Known, Op, StoredOutcome};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply, Stored};
use ledgers::SpotOpenError;
use ledgers::spot::Spot;
use sim::campaign::{Build, Core, Counts, Knob, Options, Verdict, run, within};
use sim::disk::SimDisk;
use sim::world::{Sim, breath};
use sim::wrong;
use std::collections::BTreeSet;
use std::sync::Arc;
use testkit::wrapper::{LedgerWrapper, Wrapper};

pub(crate) struct Real;

impl Build for Real {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        let sim = sim.clone();
        Box::pin(async move {
            let crash = sim.crash();
            let fatal = Arc::new(move |why: String| crash(&format!("crashed: {why}")));
            let assets = Asset::fresh().iter().map(|asset| asset.id).collect();
            match Spot::open(Arc::new(disk), &sim, assets, acknowledged, fatal).await {
                Ok((spot, _)) => {
                    let spot: Arc<dyn Ledger> = spot;
                    Ok(spot)
                }
                Err(SpotOpenError::Io(error)) => Err(format!("crashed at its start: {error}")),
                Err(error) => Err(format!("the core does not open: {error}")),
            }
        })
    }
}

/// A run of a few transfers.
fn short(seed: u64) -> Verdict {
    let options = Options::drawn(seed).with(Knob::Transfers, 10);
    let verdict = run(&options, Arc::new(Real), None);
    assert_eq!(verdict.broken, None, "{}", options.replay());
    verdict
}

#[test]
fn a_seed_is_a_run_to_the_last_answer() {
    for seed in 0..10 {
        assert_eq!(short(seed), short(seed), "seed {seed}");
    }
}

#[test]
fn a_hundred_seeds_are_a_hundred_runs() {
    let hashes: BTreeSet<u64> = (0..100).map(|seed| short(seed).hash).collect();
    assert_eq!(hashes.len(), 100);
}

/// Turns red where what a worker that died or stood still had in its hands is lost, or done twice.
#[test]
fn several_workers_on_one_journal_do_no_harm() {
    let mut all = Counts::default();
    for seed in 0..16 {
        let options = Options::drawn(seed).with(Knob::Workers, 2 + seed % 3);
        let options = options.with(Knob::Transfers, 60);
        let verdict = run(&options, Arc::new(Real), None);
        assert_eq!(verdict.broken, None, "{}", options.replay());
        all.add(&verdict.counts);
    }
    // one that was tried alone while another worker moved it was called for at the wrong ledger; a
    // client of a worker that died waited for ever
    for (seed, workers) in [(61, 3), (78, 2), (178, 3), (47, 2), (123, 2), (388, 2)] {
        let options = Options::drawn(seed).with(Knob::Workers, workers);
        assert_eq!(run(&options, Arc::new(Real), None).broken, None, "{}", options.replay());
    }
    // turns red where one of these is switched off again for several workers
    for fault in [
        "stands still",
        "Spot stands still",
        "Spot disk full",
        "a ledger out of reach",
        "a worker's clock jumps",
        "the database's clock jumps",
    ] {
        assert!(all.faults.contains_key(fault), "{fault}: {all:?}");
    }
    let died = |why: &str| all.crashes.keys().any(|crash| crash.contains(why));
    assert!(died("crashed: killed") && died("Spot killed") && died("disk"), "{all:?}");
    assert!(
        ["halt", "resolve", "status"].iter().all(|action| all.actions.contains_key(action)),
        "{all:?}"
    );
    assert!(all.all_crashes() > 20, "{all:?}");
}

/// Turns red where a HALT is lifted by what was proposed or proven before it, whichever process each
/// of them met, where anything is called for or booked under one, and where a journal that fails, shows
/// what was, or loses what only its primary had does any harm.
#[test]
fn operators_in_several_processes_lift_no_later_halt() {
    let mut all = Counts::default();
    for seed in 0..9 {
        let options = Options::drawn(seed).with(Knob::Workers, 1 + seed % 3);
        let options = options.with(Knob::Misread, 1_500).with(Knob::Night, seed % 2);
        let options = options.with(Knob::Operators, 2 + seed % 4).with(Knob::ActEvery, 400);
        let options = options.with(Knob::Transfers, 60).with(Knob::ReadStale, 50);
        let verdict = run(&options, Arc::new(Real), None);
        assert_eq!(verdict.broken, None, "{}", options.replay());
        all.add(&verdict.counts);
    }
    // turns red where one of these is switched off
    for fault in [
        "read fails",
        "read made late",
        "read answered late",
        "write lost, made late",
        "write answered late",
        "the standby is away",
        "the standby takes over",
        "sums misread",
        "hours pass",
    ] {
        assert!(all.faults.contains_key(fault), "{fault}: {all:?}");
    }
    for action in ["halts", "proposes a resume", "approves", "rejects", "books external money"] {
        let done = all.actions.get(format!("an operator {action}").as_str());
        assert!(done.is_some_and(|done| *done > 5), "{action}: {all:?}");
    }
}

/// Turns red where a folder that is lost, or set back, is put under workers that go on, and one of them
/// has anything executed there; and where not all of them go on once it was put right.
#[test]
fn several_workers_halt_over_another_folder() {
    for (seed, folder) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
        let options = Options::drawn(seed).with(Knob::Workers, 2 + seed % 2);
        let options = options.with(Knob::Folder, folder).with(Knob::Irreversible, seed % 2);
        let options = options.with(Knob::Transfers, 60);
        assert_eq!(run(&options, Arc::new(Real), None).broken, None, "{}", options.replay());
    }
}

/// A build with a lie around its ledgers.
#[derive(Clone, Copy)]
enum Lie {
    /// Each repeat of a deposit is another one.
    NoIdempotency,
    /// A lost reply is taken for a refusal.
    RollbackOnTimeout,
    /// What was refused is tried again.
    NotSticky,
}

struct Lying(Lie);

impl Build for Lying {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        Real.core(sim, disk, acknowledged)
    }

    fn near(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        match self.0 {
            Lie::RollbackOnTimeout => wrong::ledger(Some("timeout-is-refusal"), inner),
            Lie::NoIdempotency | Lie::NotSticky => inner,
        }
    }

    fn far(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        match self.0 {
            Lie::NoIdempotency => wrong::ledger(Some("double-deposit"), inner),
            Lie::NotSticky => Arc::new(Wrapper(NotSticky(inner))),
            Lie::RollbackOnTimeout => inner,
        }
    }
}

/// Forgets its refusals: the next request under the key is looked at afresh, and granted.
struct NotSticky(Arc<dyn Ledger>);

impl LedgerWrapper for NotSticky {
    fn inner(&self) -> &dyn Ledger {
        &*self.0
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let mut asked = ops.to_vec();
            for op in &mut asked {
                let stored = self.0.query(known, op.key).await;
                if let Reply::Answered(_, Stored::Found(operation)) = stored
                    && operation.outcome != StoredOutcome::Done
                    && op.key.leg == Leg::Deposit
                {
                    op.key.id = Id(op.key.id.0 ^ 1);
                }
            }
            self.0.execute(known, asked.into()).await
        })
    }
}

/// The seed at which the unchanged campaign finds a lie, and what it says.
fn found(lie: Lie) -> (u64, String) {
    let first = (0..1_000).find_map(|seed| {
        let broken = run(&Options::drawn(seed), Arc::new(Lying(lie)), None).broken;
        broken.map(|broken| (seed, broken))
    });
    first.expect("within 1000 seeds")
}

#[test]
fn wrong_builds_are_found() {
    for (lie, says) in [
        (Lie::NoIdempotency, "SPOT stored"),
        (Lie::RollbackOnTimeout, "no ledger refused it"),
        (Lie::NotSticky, "stored"),
    ] {
        let (seed, broken) = found(lie);
        assert!(broken.contains(says), "seed {seed}: {broken}");
    }
}

/// Asks for ever, lets every other task go on, and lets no time pass.
struct Restless(Arc<dyn Ledger>);

impl LedgerWrapper for Restless {
    fn inner(&self) -> &dyn Ledger {
        &*self.0
    }
    fn execute(&self, _: Known, _: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async {
            loop {
                breath().await;
            }
        })
    }
}

struct Endless;

impl Build for Endless {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        Real.core(sim, disk, acknowledged)
    }
    fn near(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        Arc::new(Wrapper(Restless(inner)))
    }
}

/// Turns red, and never ends, where a run's steps have no bound.
#[test]
fn a_run_that_comes_to_no_end_is_a_finding() {
    for workers in [1, 2] {
        let options = Options::calm(1).with(Knob::Workers, workers);
        let broken = run(&options, Arc::new(Endless), None).broken;
        let broken = broken.expect("it never ends");
        assert!(broken.contains("it goes on for more than"), "{broken}");
    }
}

/// Slowness is no finding: a run is cut off where it is, and not judged.
#[test]
fn a_run_without_a_waiter_is_cut_off() {
    let asked = std::cell::Cell::new(0);
    let patient = || {
        asked.set(asked.get() + 1);
        asked.get() < 20
    };
    let verdict = within(&Options::drawn(1), Arc::new(Real), None, &patient);
    assert!(verdict.cut && verdict.broken.is_none(), "{verdict:?}");
    let whole = run(&Options::drawn(1), Arc::new(Real), None);
    assert!(!whole.cut && whole.counts.calls > verdict.counts.calls);
    // what was wrong until then is a finding all the same
    let (seed, _) = found(Lie::NoIdempotency);
    let build = Arc::new(Lying(Lie::NoIdempotency));
    let verdict = within(&Options::drawn(seed), build, None, &|| true);
    assert!(verdict.broken.is_some() && !verdict.cut);
}
