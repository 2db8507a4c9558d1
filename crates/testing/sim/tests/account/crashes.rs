//! The process dies at every event of the log, and again while it recovers.

use expect_test::expect_file;
use sim::generic::account::{
    ACCOUNT_CASES, AccountMatrix, AccountTrial, crash_at_every_event, crash_in_pairs,
};

const HEAD: &str = "# Crashes of `account`\n\nA process dies at each event of the log of each case of \
    `crates/testing/sim/src/generic/account/cases.rs`, and the next\none goes on: every write of the journal, \
    every publication, every poll that gives something, every commit of offsets.\nEach run ends under the \
    oracles of `oracle.rs` beside it. A test computes this page.\n\nThe rows are played on PostgreSQL \
    too, where the one of two workers dies that comes to the moment first:\n\
    `crates/engine/tests/it/postgres/account`, under the same oracles.\n\n";

/// Every place and moment of both paths. Turns red where *published, not marked* or *written, offset not
/// committed* is not among them.
#[test]
fn account_crash_matrix() {
    let part = |fuse: bool| {
        let trial = AccountTrial { fuse: vec![fuse], ..AccountTrial::default() };
        crash_at_every_event(&trial)
    };
    let mut all = AccountMatrix::default();
    std::thread::scope(|threads| {
        for part in [threads.spawn(|| part(true)), threads.spawn(|| part(false))] {
            match part.join() {
                Ok(reached) => all.add(reached),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    println!("{} deaths", all.deaths());
    let page = all.page();
    for moment in ["published, not marked", "written, offset not committed"] {
        let rows = page.lines().filter(|line| line.contains(moment));
        assert!(rows.clone().any(|line| line.ends_with("| both |")), "{moment}: {page}");
    }
    expect_file!["../../../../../docs/proof/account.md"].assert_eq(&format!("{HEAD}{page}"));
}

#[test]
fn account_crash_in_pairs() {
    let [both_ways, .., parked] = ACCOUNT_CASES;
    crash_in_pairs(&AccountTrial { cases: vec![both_ways], ..AccountTrial::default() }, 3);
    crash_in_pairs(&AccountTrial { cases: vec![parked], ..AccountTrial::default() }, 7);
}
