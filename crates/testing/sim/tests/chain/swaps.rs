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

const HEAD: &str = "A process dies at each write of the journal, each call of a \
    chain and each time at which something is learnt, of each case\nof \
    `crates/testing/sim/src/generic/swaps/cases.rs`, and the next one goes on. Each run ends \
    under the oracles of `swaps`\nand `chain` in that folder. The rows are the crash points of \
    the table.\n\nA dash is a point that no case comes to. No case can come to those of the states \
    *awaiting confirmation*: that an attempt may be on\nthe wire is one row of the attempt, \
    and its members stay where they are. A test computes this page.\n\n";

/// Where the payouts of `swap_out` are played besides, and what they were seen to find.
const PAYOUTS: &str = "On the embedded store the cases of the payout die after every step \
    (`crates/testing/sim/tests/chain_sqlite`). On PostgreSQL\ntwo workers play the rows from *ready for \
    processing* to *payout dead*, and the one that comes to the row first dies\n\
    (`crates/engine/tests/it/postgres/swaps`). Wrong builds of the payout, seen red there and by \
    `crates/testing/sim/tests/chain/wrong.rs`:\n`dead-edge-dropped` (what can never land is asked \
    after for ever) and `attempt-stays-open` (an attempt is proven again after its close).\n\n";

/// The page of every crash point of a flow, fused and plain.
fn page(flow: &str, more: &str) -> String {
    let part = |fuse: bool| crash_matrix(&SwapTrial { fuse: vec![fuse], ..trial() }, flow);
    let mut all = ChainMatrix::of(flow);
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => all.add(reached),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    format!("# Crashes of `{flow}`\n\n{HEAD}{more}{}", all.page())
}

#[test]
fn swap_in_crash_matrix() {
    expect_file!["../../../../../docs/proof/swap_in.md"].assert_eq(&page("swap_in", ""));
}

#[test]
fn swap_out_crash_matrix() {
    expect_file!["../../../../../docs/proof/swap_out.md"].assert_eq(&page("swap_out", PAYOUTS));
}
