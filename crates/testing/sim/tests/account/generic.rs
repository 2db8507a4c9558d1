//! The generic tests for `account`: undisturbed, every step twice, every step failed.

use sim::generic::account::{
    AccountTrial, every_step_failed, every_step_twice, undisturbed, writes_failed_after_a_death,
};

fn both() -> AccountTrial {
    AccountTrial { fuse: vec![true, false], ..AccountTrial::default() }
}

#[test]
fn account_undisturbed() {
    undisturbed(&AccountTrial { seeds: 0..5, ..both() });
}

#[test]
fn account_every_step_twice() {
    every_step_twice(&both());
}

#[test]
fn account_every_step_failed() {
    every_step_failed(&both());
}

/// Turns red where a message that is due again is not sent because its write failed once.
#[test]
fn account_every_write_failed_after_a_death() {
    let cases = AccountTrial::default().cases.into_iter().filter(|case| !case.parks).take(2);
    let plain =
        AccountTrial { cases: cases.collect(), fuse: vec![false], ..AccountTrial::default() };
    writes_failed_after_a_death(&plain, 5);
}
