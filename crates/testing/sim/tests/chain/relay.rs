//! The relay flow over the simulated chain under the generic tests, with each kind of lock.

use super::crash_points::dies_at_every_one;
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

#[test]
fn relay_crash_matrix() {
    dies_at_every_one("relay", &RelayTrial::new(ChainRules::calm(Locking::Nonce)));
}
