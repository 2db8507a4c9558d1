//! Each generic test and each suite turns red where it should: wrong builds, and what they break.

use crate::internal::cases;
use crate::spot::{in_memory, on_disk};
use sim::generic::{
    RemoteLedger, Trial, crash_after_every_write, every_step_failed, every_step_twice,
};
use sim::world::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The complaint of a test that must fail.
pub(crate) fn complaint(what: &str, test: impl FnOnce()) -> String {
    match catch_unwind(AssertUnwindSafe(test)) {
        Ok(()) => panic!("{what}: nothing turned red"),
        Err(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(_) => panic!("{what}: it failed without a sentence"),
        },
    }
}

/// The wrong build turns the generic test red with this complaint.
fn red(name: &'static str, test: fn(&Trial), says: &str) {
    let (cases, outside) = (cases(), Arc::new(in_memory));
    let trial = Trial { flow: "internal", cases, outside, seeds: 0..2, wrong: Some(name) };
    let complaint = complaint(name, || test(&trial));
    assert!(complaint.contains(says), "{name}: {complaint}");
}

#[test]
fn a_step_done_twice_is_noticed() {
    // ledgers that forget what they answered
    red("double-withdraw", every_step_twice, "conservation is broken");
    red("double-deposit", every_step_twice, "there is no such transfer");
    red("double-refund", every_step_twice, "nothing says it was done");
}

#[test]
fn an_answer_that_is_none_is_noticed() {
    // a lost reply taken for a refusal, a hindered refund for one that was made
    red("timeout-is-refusal", every_step_failed, "FAILED");
    red("timeout-is-success", every_step_failed, "ROLLED_BACK with [Withdraw] at FUNDING");
    red("refusal-is-timeout", every_step_failed, "does not end");
    red("refusal-is-success", every_step_failed, "it is refused");
}

#[test]
fn what_a_crash_takes_is_noticed() {
    red("no-recovery", crash_after_every_write, "does not end");
    red("early-answer", crash_after_every_write, "at rest");
    red("torn-unit", crash_after_every_write, "SETTLE");
}

/// The Spot core on a disk that says that it synced.
fn on_a_lying_disk(sim: &Sim) -> RemoteLedger {
    let outside = on_disk(sim);
    outside.disk.iter().for_each(sim::disk::SimDisk::lie);
    outside
}

#[test]
fn a_disk_that_does_not_sync_is_noticed() {
    let (cases, outside) = (cases(), Arc::new(on_a_lying_disk));
    let trial = Trial { flow: "internal", cases, outside, seeds: 0..2, wrong: None };
    complaint("no sync", || crash_after_every_write(&trial));
}
