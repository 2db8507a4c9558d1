//! The relay on PostgreSQL with two workers and the simulated chain: one worker is killed with attempts in
//! its hands, and the other takes them up as attempts.
//!
//! Wrong build that turns it red: members of an open attempt that are given to the other worker as orphans.

use crate::postgres::fixture::{Fixture, quick};
use kernel::ids::Id;
use sim::chain::{ChainRules, Locking, RelayFacts, SimChain, relay_terms};
use std::sync::Arc;
use std::time::Duration;
use testkit::ShiftedClock;

/// A chain whose blocks are quick, and on which nothing goes wrong.
const RULES: ChainRules = ChainRules {
    cap: 5,
    lanes: 3,
    block_ms: 20,
    validity: 500,
    ..ChainRules::calm(Locking::Nonce)
};
const MANY: usize = 14;

fn receiver(n: usize) -> String {
    match n {
        3 => "bad-1".to_owned(),
        5 | 9 => format!("new-{n}"),
        n => format!("good-{n}"),
    }
}

async fn killed_after(fuse: bool, ms: u64) {
    let mut fixture = Fixture::open(quick(fuse)).await;
    let chain = SimChain::new(RULES, Arc::new(ShiftedClock::new()), ms);
    for n in (0..MANY).filter(|n| !receiver(*n).starts_with("new")) {
        chain.register(&receiver(n));
    }
    chain.spoil("bad-1");
    fixture.chains = vec![chain.clone()];
    fixture.facts.insert("relay", Arc::new(RelayFacts(chain.clone())));
    let (dying, heir) = (fixture.worker().await, fixture.worker().await);
    let flow = dying.engine.flows().named("relay").expect("the relay");
    let mut ids: Vec<Id> = Vec::new();
    for n in 0..MANY {
        let terms = relay_terms(RULES.id, &receiver(n), 100, &format!("key-{n}"));
        let created = dying.engine.intake.create(flow, terms).await;
        ids.push(created.expect("it is opened").record.id);
    }
    tokio::time::sleep(Duration::from_millis(ms)).await;
    dying.kill().await;
    let open = "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state NOT IN (60, -10)";
    fixture.wait_for_sql(open, "0").await;
    // what was sent last is in final blocks by then
    tokio::time::sleep(Duration::from_millis(RULES.block_ms * 10)).await;
    let paid = chain.paid();
    for (n, id) in ids.iter().enumerate() {
        let wanted = usize::from(receiver(n) != "bad-1");
        let times = paid.get(id).map_or(0, Vec::len);
        assert_eq!(times, wanted, "{} fuse={fuse} killed after {ms} ms", receiver(n));
    }
    assert_eq!(chain.faults(), [""; 0]);
    let failed = "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state = -10";
    assert_eq!(fixture.sql(failed), "1");
    assert_eq!(fixture.cases(), "");
    heir.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_s_attempts_go_on_at_another() {
    for (fuse, ms) in [(true, 0), (false, 30), (true, 80), (false, 160)] {
        killed_after(fuse, ms).await;
    }
}
