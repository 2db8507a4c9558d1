//! The journal is bound to one chain, whichever worker is first: none signs, sends or proves on another one, and what
//! waits goes on when the right one is back.

use super::workers::{Cluster, LOCKINGS};
use sim::chain::{ChainRules, SimChain};

const ANOTHER: u64 = SimChain::GENESIS + 1;
const PAID: [&str; 3] = ["alice", "bob", "carol"];

/// Turns red where a process that begins binds the journal anew, where the port is told nothing of the binding, and where
/// what was sent before is looked for on the other chain: the simulated one holds what the first one held.
#[test]
fn a_later_start_on_another_chain_signs_and_proves_nothing() {
    for locking in LOCKINGS {
        let cluster = Cluster::new(ChainRules::calm(locking), 7);
        let first = cluster.join(1);
        let mut ids = cluster.pays(&first, &PAID);
        cluster.service.sim.run_for(2_000);
        first.sim.kill("killed by the test");
        drop(first);
        cluster.ports.chain.shows_genesis(ANOTHER);
        let second = cluster.join(2);
        ids.extend(cluster.pays_for(&second, "more", &PAID));
        cluster.service.sim.run_for(20_000);
        let sent = cluster.ports.chain.transactions();
        cluster.service.sim.run_for(120_000);
        assert_eq!(cluster.ports.chain.transactions(), sent, "{locking:?}: it is sent there");
        let done = |word: &&&str| **word == "COMPLETED";
        let states = cluster.states(&second, &ids);
        assert_eq!(states.iter().filter(done).count(), 0, "{locking:?}: {states:?}");
        cluster.ports.chain.shows_genesis(SimChain::GENESIS);
        let receivers = [PAID, PAID].concat();
        cluster.ends(&format!("{locking:?}"), &second, &ids, &receivers);
    }
}

/// Turns red where the journal is bound by each process to what it meets itself.
#[test]
fn the_worker_that_is_first_binds_all_of_them() {
    for locking in LOCKINGS {
        let cluster = Cluster::new(ChainRules::calm(locking), 7);
        let (first, second) = (cluster.join(1), cluster.join(2));
        let ids = cluster.pays(&first, &PAID);
        cluster.ends(&format!("{locking:?}"), &first, &ids, &PAID);
        let third = cluster.join(3);
        let bound = [&first, &second, &third].map(|worker| cluster.bound(worker));
        assert!(bound[0].is_some() && bound.iter().all(|one| *one == bound[0]), "{bound:?}");
    }
}
