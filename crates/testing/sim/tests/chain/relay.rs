//! The relay flow over the simulated chain under the generic tests, with each kind of lock.

use super::page::page;
use expect_test::expect_file;
use sim::chain::{ChainRules, Locking};
use sim::generic::chain::{
    crash_after_every_write, every_step_failed, every_step_twice, undisturbed,
};
use sim::generic::relay::RelayTrial;

const ALL: [Locking; 3] = [Locking::Nonce, Locking::Marker, Locking::Reference];

/// Fused and plain with nonces, which have the most ways; fused with the others.
fn trials() -> impl Iterator<Item = RelayTrial> {
    ALL.into_iter().map(|locking| {
        let fuse = if locking == Locking::Nonce { vec![true, false] } else { vec![true] };
        RelayTrial { fuse, ..RelayTrial::new(ChainRules::calm(locking)) }
    })
}

#[test]
fn relay_calm() {
    for locking in ALL {
        undisturbed(&RelayTrial::new(ChainRules::calm(locking)));
    }
}

/// Reorganisations before finality, transactions that come late or never, nodes that lag or lie.
#[test]
fn relay_rough() {
    for locking in ALL {
        let trial = RelayTrial { seeds: 0..6, ..RelayTrial::new(ChainRules::rough(locking)) };
        undisturbed(&trial);
    }
}

#[test]
fn relay_every_step_twice() {
    trials().for_each(|trial| every_step_twice(&trial));
}

#[test]
fn relay_every_step_failed() {
    trials().for_each(|trial| every_step_failed(&trial));
}

#[test]
fn relay_crash_after_every_write() {
    trials().for_each(|trial| crash_after_every_write(&trial));
}

const RELAY: &str = "With the product's own adapter over the local chain a process dies at each of these rows once \
    ([there](local-chain.md)).\n\nWrong build, seen red on PostgreSQL: `not-found-is-dead` (what a dead worker sent is not found, and \
    is paid again).\n\n";

#[test]
fn relay_crash_matrix() {
    let trial = RelayTrial::new(ChainRules::calm(Locking::Nonce));
    expect_file!["../../../../../docs/proof/relay.md"].assert_eq(&page("relay", &trial, RELAY));
}
