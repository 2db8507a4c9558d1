//! The swaps over two simulated chains under the generic tests: markers on the one, references on the other.

use super::crash_points::dies_at_every_one;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{
    crash_after_every_write, every_step_failed, every_step_twice, undisturbed,
};
use sim::generic::swaps::SwapTrial;

fn trial() -> SwapTrial {
    SwapTrial::new(ChainRules::calm(Locking::Reference))
}

#[test]
fn swaps_calm() {
    undisturbed(&trial());
}

/// Reorganisations before finality, transactions that come late or never, nodes that lag or lie.
#[test]
fn swaps_rough() {
    let rules = ChainRules::rough(Locking::Reference);
    undisturbed(&SwapTrial { seeds: 0..6, fuse: vec![true], ..SwapTrial::new(rules) });
}

/// The cases that go through every act and every answer to it.
fn few(fuse: bool) -> SwapTrial {
    let names = [
        "one spoils its debit",
        "not taken",
        "one is quarantined",
        "one spoils its payout",
        "no refund is taken",
    ];
    let mut few = SwapTrial { fuse: vec![fuse], ..trial() };
    few.cases.retain(|case| names.contains(&case.name));
    few
}

#[test]
fn swaps_every_step_twice() {
    every_step_twice(&few(true));
}

#[test]
fn swaps_every_step_failed() {
    every_step_failed(&few(false));
}

/// In pairs, too; each death alone is in the matrices below.
#[test]
fn swaps_crash_after_every_write() {
    let mut few = SwapTrial { fuse: vec![true], ..trial() };
    let names = [
        "one is quarantined",
        "one spoils its payout",
        "no receiver is named",
        "no refund is taken",
    ];
    few.cases.retain(|case| names.contains(&case.name));
    crash_after_every_write(&few);
}

#[test]
fn swap_in_crash_matrix() {
    dies_at_every_one("swap_in", &trial());
}

#[test]
fn swap_out_crash_matrix() {
    dies_at_every_one("swap_out", &trial());
}
