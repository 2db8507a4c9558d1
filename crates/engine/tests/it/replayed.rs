//! Keys of the relay that are used again on PostgreSQL after everything that may be moved away or forgotten was: transfers
//! that ended are archived, what was published is gone, and another process answers.
//!
//! Wrong build that turns it red: an archive that takes the keys of its transfers along.

use crate::postgres::fixture::{Fixture, quick};
use engine::Refused;
use kernel::ids::Id;
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::outbox::Outbox as _;
use kernel::record::{Binding, Terms};
use sim::chain::{ChainRules, Locking, RelayFacts, SimChain, relay_terms};
use std::sync::Arc;
use testkit::ShiftedClock;

const RULES: ChainRules =
    ChainRules { lanes: 3, block_ms: 20, validity: 500, ..ChainRules::calm(Locking::Nonce) };
const MANY: usize = 7;
/// Later than anything that ended in the test.
const TWO_DAYS: u64 = 48 * 3_600_000;
const OPEN: &str = "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state NOT IN (60, -10)";
/// How many transfers of the relay the archive has not taken yet.
const KEPT: &str = "SELECT count(*) FROM transfers WHERE flow = 'relay'";

fn terms(n: usize, amount: u128, body: u8) -> Terms {
    let terms = relay_terms(RULES.id, "good-1", amount, &format!("key-{n}"));
    let binding =
        terms.binding.clone().map(|binding| Binding { fingerprint: [body; 32], ..binding });
    Terms { binding, ..terms }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archived_transfer_keeps_its_key() {
    let mut fixture = Fixture::open(quick(true)).await;
    let chain = SimChain::new(RULES, Arc::new(ShiftedClock::new()), 7);
    chain.register("good-1");
    fixture.chains = vec![chain.clone()];
    fixture.facts.insert("relay", Arc::new(RelayFacts(chain.clone())));
    let first = fixture.worker().await;
    let flow = first.engine.flows().named("relay").expect("the relay");
    let mut ids: Vec<Id> = Vec::new();
    for n in 0..MANY {
        let created = first.engine.intake.create(flow, terms(n, 100, 0)).await;
        ids.push(created.expect("it is opened").record.id);
    }
    fixture.wait_for_sql(OPEN, "0").await;
    let later = first.store.now() + TWO_DAYS;
    while fixture.sql(KEPT) != "0" {
        first.store.archive(later).await.expect("it archives");
    }
    first.store.expire_published(later, 1_000).await.expect("it forgets");
    first.kill().await;
    let second = fixture.worker().await;
    for (n, id) in ids.iter().enumerate() {
        let again =
            second.engine.intake.create(flow, terms(n, 100, 0)).await.expect("it is answered");
        assert_eq!((again.replayed, again.record.id), (true, *id), "key-{n}");
        let other = second.engine.intake.create(flow, terms(n, 999, 1)).await;
        let Err(Refused::Mismatch(bound)) = other else { panic!("{other:?}") };
        assert_eq!(bound.id, *id, "key-{n}");
    }
    // a new one is paid as ever, and with it nothing else
    let new = second.engine.intake.create(flow, terms(MANY, 100, 0)).await.expect("it is opened");
    ids.push(new.record.id);
    fixture.wait_for_sql(OPEN, "0").await;
    let paid = chain.paid();
    assert_eq!(paid.len(), ids.len());
    assert!(ids.iter().all(|id| paid.get(id).map(Vec::len) == Some(1)), "{paid:?}");
    assert_eq!(chain.faults(), [""; 0]);
    second.kill().await;
}
