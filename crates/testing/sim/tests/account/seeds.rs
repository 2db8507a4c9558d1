//! Drawn cases: the seeds that found something once, and some that are always the same.

use sim::generic::account::{AccountPlay, AccountRun};
use sim::service::PortWraps;
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds and what they found.
const KEPT: [(u64, &str); 3] = [
    (234, "a member that stood still committed what it owed, and took its group back"),
    (1_795_630_719_068, "the test did not wait for a parked key whose messages were all consumed"),
    (149_163, "a message was not sent again where the write of it was lost once"),
];

/// A seed is the same run only with the same code: after a change of the engine the next ones find what this one did.
const NEXT: u64 = 60;

#[test]
fn kept_seeds_and_some_more_find_nothing() {
    let kept = KEPT.iter().map(|(seed, _)| *seed);
    for seed in kept.chain(5_000..5_030) {
        AccountRun::of(seed).play(&PortWraps::default());
    }
}

#[test]
fn a_seed_is_one_run() {
    for seed in 0..6 {
        let play = || AccountRun::of(seed).play(&PortWraps::default());
        let (first, again) = (play(), play());
        assert!(!first.log.is_empty(), "{seed}");
        assert_eq!(first, again, "{seed}");
    }
}

#[test]
fn wrong_builds_are_found_by_their_seeds() {
    let builds =
        [("inbox-after-effect", 7, "no inbox row"), ("parked-key-passed", 9, "parked key")];
    for (name, first, oracle) in builds {
        let found = (first..first + NEXT).any(|seed| {
            let Some(wraps) = wrong::messages(name) else { panic!("no wrong build {name}") };
            let played = catch_unwind(AssertUnwindSafe(|| AccountRun::of(seed).play(&wraps)));
            let why = played.err().and_then(|why| why.downcast_ref::<String>().cloned());
            why.is_some_and(|why| why.contains(oracle))
        });
        assert!(found, "no seed from {first} finds {name}: {oracle}");
    }
}

/// The most runs with its faults in which a wrong build is to be found.
const LASTING_RUNS: usize = 60;

/// Wrong builds that one sick part stops or delays as a whole are found by drawn runs with the faults that they need.
#[test]
fn wrong_builds_of_lasting_faults_are_found_by_their_seeds() {
    let builds = [
        ("one-publication", 60, &["TakesNothing"][..], "late: "),
        ("row-awaited-by-all", 460, &["LockedAccount"], "late: "),
        ("dead-letter-first", 12_460, &["Strangers", "-dlt"], "late: "),
        ("lost-stays-lost", 260, &["Loses"], "is not on "),
    ];
    for (name, first, faults, oracle) in builds {
        let runs = (first..).map(AccountRun::of).filter(|run| has_faults(run, faults));
        let found = runs.take(LASTING_RUNS).find(|run| {
            let Some(wraps) = wrong::messages(name) else { panic!("no wrong build {name}") };
            let played = catch_unwind(AssertUnwindSafe(|| run.play(&wraps)));
            let why = played.err().and_then(|why| why.downcast_ref::<String>().cloned());
            why.is_some_and(|why| why.contains(oracle))
        });
        assert!(found.is_some(), "no run with {faults:?} from {first} finds {name}: {oracle}");
    }
}

/// Whether faults of all these kinds last in a run.
fn has_faults(run: &AccountRun, faults: &[&str]) -> bool {
    let AccountPlay::Lasting(lasting) = &run.play else { return false };
    let windows: Vec<String> = lasting.windows.iter().map(ToString::to_string).collect();
    faults.iter().all(|fault| windows.iter().any(|window| window.contains(fault)))
}
