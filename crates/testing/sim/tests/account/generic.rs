//! The generic tests for `account`: undisturbed, every step twice, every step failed.

use sim::generic::account::{AccountTrial, every_step_failed, every_step_twice, undisturbed};

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
