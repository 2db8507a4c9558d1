//! The internal flow under the three generic tests, with the Spot core and with a ledger in memory.

use crate::spot::{in_memory, on_disk};
use kernel::ids::LedgerId;
use kernel::ports::ledger::AccountStatus::{Disabled, Frozen};
use sim::generic::{
    RemoteLedger, TestTransfer, Trial, crash_after_every_write, every_step_failed, every_step_twice,
};
use sim::world::Sim;
use std::sync::Arc;

const FUNDING: LedgerId = LedgerId::FUNDING;
const SPOT: LedgerId = LedgerId::SPOT;

/// Every way through the table, in both directions.
pub(crate) fn cases() -> Vec<TestTransfer> {
    let mut cases = Vec::new();
    for (from, to) in [(FUNDING, SPOT), (SPOT, FUNDING)] {
        let case =
            |name, amount, barred, ends| TestTransfer { name, from, to, amount, barred, ends };
        cases.extend([
            case("commits", 100, None, "COMMITTED"),
            case("takes all", TestTransfer::HAS, None, "COMMITTED"),
            case("has too little", TestTransfer::HAS + 1, None, "FAILED"),
            case("is frozen", 100, Some((from, Frozen)), "FAILED"),
            case("has a frozen target", 100, Some((to, Frozen)), "COMMITTED"),
            case("has a disabled target", 100, Some((to, Disabled)), "ROLLED_BACK"),
        ]);
    }
    cases
}

pub(crate) fn trial(outside: fn(&Sim) -> RemoteLedger) -> Trial {
    let (cases, outside) = (cases(), Arc::new(outside));
    Trial { flow: "internal", cases, outside, seeds: 0..2, wrong: None }
}

#[test]
fn internal_every_step_twice() {
    every_step_twice(&trial(in_memory));
    every_step_twice(&trial(on_disk));
}

#[test]
fn internal_every_step_failed() {
    every_step_failed(&trial(in_memory));
    every_step_failed(&trial(on_disk));
}

#[test]
fn internal_crash_after_every_write() {
    crash_after_every_write(&trial(in_memory));
    crash_after_every_write(&trial(on_disk));
}
