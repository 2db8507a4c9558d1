//! The swaps over two simulated chains under the generic tests: markers on the one, references on the other.

use expect_test::expect_file;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{
    ChainMatrix, crash_after_every_write, crash_matrix, every_step_failed, every_step_twice,
    undisturbed,
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
    let names = ["one spoils its debit", "not taken", "one is quarantined", "no refund is taken"];
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

/// In pairs, too; each death of `swap_in` alone is in its matrix below.
#[test]
fn swaps_crash_after_every_write() {
    let mut few = SwapTrial { fuse: vec![true], ..trial() };
    few.cases.retain(|case| case.flow == "swap_out" || case.name == "one is quarantined");
    crash_after_every_write(&few);
}

const HEAD: &str = "# Crashes of `swap_in`\n\nA process dies at each write of the journal, each call of a \
    chain and each time at which something is learnt, of each case\nof \
    `crates/testing/sim/src/generic/swaps/cases.rs`, and the next one goes on. Each run ends \
    under the oracles of `swaps`\nand `chain` in that folder. The rows are the crash points of \
    the table.\n\nA dash is a point that no case comes to. They are those of the two states \
    *awaiting confirmation*: that an attempt may be on\nthe wire is one row of the attempt, \
    and its members stay where they are. A test computes this page.\n\n";

/// Every crash point of `swap_in`, fused and plain.
#[test]
fn swap_in_crash_matrix() {
    let part = |fuse: bool| crash_matrix(&SwapTrial { fuse: vec![fuse], ..trial() }, "swap_in");
    let mut all = ChainMatrix::of("swap_in");
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => all.add(reached),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    println!("{} deaths", all.deaths());
    expect_file!["../../../../../docs/proof/swap_in.md"]
        .assert_eq(&format!("{HEAD}{}", all.page()));
}
