//! Two workers over one journal and one broker.

use sim::generic::WorkerEnd;
use sim::generic::account::{ACCOUNT_CASES, WorkerRun, two_workers};

/// Turns red where messages of a dead member are lost, and where two members move one transfer twice.
#[test]
fn a_killed_worker_loses_no_message() {
    for case in ACCOUNT_CASES.iter().filter(|case| !case.parks) {
        for seed in 0..20 {
            two_workers(case, &WorkerRun::of(WorkerEnd::Killed, seed * 7, seed));
        }
    }
}

/// Turns red where a member that was put out of its group commits, or does again what another one did.
#[test]
fn a_worker_that_stood_still_does_nothing_twice() {
    for case in ACCOUNT_CASES.iter().filter(|case| !case.parks) {
        for seed in 0..20 {
            two_workers(case, &WorkerRun::of(WorkerEnd::Paused, seed * 7, 100 + seed));
        }
    }
}
