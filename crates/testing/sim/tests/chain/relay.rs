//! The relay flow over the simulated chain under the generic tests, with each kind of lock.

use sim::chain::{ChainRules, Locking};
use sim::generic::relay::{
    RelayTrial, crash_after_every_write, every_step_failed, every_step_twice, undisturbed,
};

const ALL: [Locking; 3] = [Locking::Nonce, Locking::Marker, Locking::Reference];

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
        let trial = RelayTrial { seeds: 0..20, ..RelayTrial::new(ChainRules::rough(locking)) };
        undisturbed(&trial);
    }
}

#[test]
fn relay_every_step_twice() {
    for locking in ALL {
        every_step_twice(&RelayTrial::new(ChainRules::calm(locking)));
    }
}

#[test]
fn relay_every_step_failed() {
    for locking in ALL {
        every_step_failed(&RelayTrial::new(ChainRules::calm(locking)));
    }
}

#[test]
fn relay_crash_after_every_write() {
    for locking in ALL {
        crash_after_every_write(&RelayTrial::new(ChainRules::calm(locking)));
    }
}
