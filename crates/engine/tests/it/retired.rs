//! Keys of the relay that are taken out of use under load, on PostgreSQL with two workers and the simulated chain.
//!
//! Wrong builds that turn it red: a lane that is reserved though it is retired; a next state of a lane that forgets it;
//! a retirement that is written without a look at the row's version; a key that is called gone because one node does not
//! show it; one that is back and stays gone in the journal; one that stops the chain though it did nothing since it is
//! back; what another program does with it since that is not seen.

use crate::postgres::fixture::{Fixture, Worker, quick};
use engine::operators::{ActionResult, AdminAction, Objection, PerformedAction};
use kernel::ids::Id;
use kernel::operators::LaneName;
use kernel::ports::journal::ServiceQueries as _;
use sim::chain::{ChainRules, Locking, RelayFacts, SimChain, relay_terms};
use std::sync::Arc;
use std::time::Duration;
use testkit::ShiftedClock;

const RULES: ChainRules = ChainRules {
    cap: 2,
    lanes: 3,
    block_ms: 20,
    validity: 500,
    misleads: 3,
    ..ChainRules::calm(Locking::Nonce)
};
/// The number of transfers in each load.
const MANY: usize = 12;
const GONE: &str = "key-1";
/// How many attempts the key ever had.
const ATTEMPTS: &str = "SELECT count(*) FROM attempts WHERE lane = 'key-1'";
const BUSY: &str = "SELECT count(*) FROM attempts WHERE lane = 'key-1' AND closed_at IS NULL";
/// The kinds of the cases that are open.
const CASES: &str = "SELECT string_agg(kind, ' ') FROM cases WHERE status = 'OPEN'";
const OPEN: &str = "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state NOT IN (60, -10)";

fn name(lane: &str) -> LaneName {
    LaneName { chain: RULES.id, lane: lane.into() }
}

async fn load(worker: &Worker, of: &str) -> Vec<Id> {
    let flow = worker.engine.flows().named("relay").expect("the relay");
    let mut ids = Vec::new();
    for n in 0..MANY {
        let terms = relay_terms(RULES.id, "good-1", 100, &format!("{of}-{n}"));
        ids.push(worker.engine.intake.create(flow, terms).await.expect("it is opened").record.id);
    }
    ids
}

/// The row of the key's lane.
async fn row_of(worker: &Worker) -> Arc<str> {
    let row = worker.store.resource("lane:NEAR:key-1".into()).await.expect("the journal answers");
    row.expect("it was used").value
}

/// The final block that shows the account without the key, once both nodes do.
async fn proven_gone(worker: &Worker, times: &str) -> u64 {
    for n in 0..1_000 {
        let key = format!("gone {times} {n}");
        match worker.execute_as("ada", &key, AdminAction::ProveLaneGone(name(GONE))).await {
            Ok(PerformedAction {
                outcome: ActionResult::LaneGone { height, providers: 2 },
                ..
            }) => {
                return height;
            }
            Err(Objection::NotPossible(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            other => panic!("{other:?}"),
        }
    }
    panic!("never proven")
}

async fn relay() -> (Fixture, SimChain) {
    let mut fixture = Fixture::open(quick(true)).await;
    let chain = SimChain::new(RULES, Arc::new(ShiftedClock::new()), 7);
    chain.register("good-1");
    fixture.chains = vec![chain.clone()];
    fixture.facts.insert("relay", Arc::new(RelayFacts(chain.clone())));
    (fixture, chain)
}

/// The chain paid each of these transfers once, and nothing is wrong with its own history.
fn all_paid(chain: &SimChain, ids: &[Id]) {
    let paid = chain.paid();
    assert!(ids.iter().all(|id| paid.get(id).map(Vec::len) == Some(1)), "{paid:?}");
    assert_eq!(chain.faults(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_worker_claims_a_key_that_is_retired() {
    let (fixture, chain) = relay().await;
    let (one, other) = (fixture.worker().await, fixture.worker().await);
    let mut ids = load(&one, "a").await;
    ids.extend(load(&other, "b").await);
    fixture.wait_for_sql("SELECT count(*) > 0 FROM attempts WHERE lane = 'key-1'", "t").await;
    // both at once, while both claim and close
    let retire = || AdminAction::RetireLane(name(GONE));
    let (first, second) =
        tokio::join!(one.execute_as("ada", "1", retire()), other.execute_as("ada", "2", retire()));
    let twice = Objection::NotPossible("the key is retired already".to_owned());
    let (won, lost) = if first.is_ok() { (first, second) } else { (second, first) };
    let won = won.expect("one of them retires it").outcome;
    assert_eq!(lost, Err(twice));
    let before = fixture.sql(ATTEMPTS);
    let ActionResult::LaneRetired { attempt } = won else { panic!("{won:?}") };
    if attempt.is_some() {
        // its attempt goes on, and nothing is called gone meanwhile
        let gone = one.execute_as("ada", "3", AdminAction::ProveLaneGone(name(GONE))).await;
        let Err(Objection::NotPossible(why)) = gone else { panic!("{gone:?}") };
        assert!(why.contains("has the key") || why.contains("not known"), "{why}");
    }
    ids.extend(load(&one, "c").await);
    fixture.wait_for_sql(BUSY, "0").await;
    ids.extend(load(&other, "d").await);
    fixture.wait_for_sql(OPEN, "0").await;
    // a start later, and a worker that never heard of it
    one.kill().await;
    let third = fixture.worker().await;
    ids.extend(load(&third, "e").await);
    ids.extend(load(&other, "f").await);
    fixture.wait_for_sql(OPEN, "0").await;
    assert_eq!(fixture.sql(ATTEMPTS), before, "a retired key was claimed");
    let row = row_of(&third).await;
    assert!(row.contains(r#""by":"portage|ada""#), "who retired it is forgotten: {row}");
    all_paid(&chain, &ids);
    assert_eq!(fixture.cases(), "");
    // the chain has it still, and one node that lies does not change that
    for n in 0..10 {
        let gone = third
            .execute_as("ada", &format!("there {n}"), AdminAction::ProveLaneGone(name(GONE)))
            .await;
        let Err(Objection::NotPossible(why)) = gone else { panic!("{gone:?}") };
        assert!(why.contains("the chain has the key at block"), "{why}");
    }
    chain.delete_key(GONE);
    let height = proven_gone(&third, "1").await;
    let row = row_of(&other).await;
    assert!(row.contains(&format!(r#""gone_at":{height}"#)), "{row}");
    let again = other.execute_as("ada", "6", AdminAction::ProveLaneGone(name(GONE))).await;
    let Err(Objection::NotPossible(why)) = again else { panic!("{again:?}") };
    assert!(why.contains(&format!("block {height} showed already")), "{why}");
    // a key that is in use is not called gone, and one that there is not is not retired
    let used = third.execute_as("ada", "4", AdminAction::ProveLaneGone(name("key-2"))).await;
    let Err(Objection::NotPossible(why)) = used else { panic!("{used:?}") };
    assert!(why.contains("retire it first"), "{why}");
    let none = third.execute_as("ada", "5", AdminAction::RetireLane(name("key-9"))).await;
    assert_eq!(none, Err(Objection::NotFound("key")));
    third.kill().await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gone_key_that_is_back_is_watched_by_every_worker() {
    let (fixture, chain) = relay().await;
    let (one, other) = (fixture.worker().await, fixture.worker().await);
    let mut ids = load(&one, "a").await;
    fixture.wait_for_sql("SELECT count(*) > 0 FROM attempts WHERE lane = 'key-1'", "t").await;
    let retired = one.execute_as("ada", "1", AdminAction::RetireLane(name(GONE))).await;
    assert!(retired.is_ok(), "{retired:?}");
    fixture.wait_for_sql(OPEN, "0").await;
    let before = fixture.sql(ATTEMPTS);
    chain.delete_key(GONE);
    let height = proven_gone(&one, "1").await;
    // it is added again, and a worker that begins looks before it claims: the key is retired as before, and may sign
    chain.add_key(GONE);
    one.kill().await;
    let fourth = fixture.worker().await;
    fixture.wait_for_sql(CASES, "KEY_RETURNED").await;
    let row = row_of(&other).await;
    assert!(row.contains(r#""gone_at":null,"returned_at":"#), "{row}");
    assert!(row.contains(r#""by":"portage|ada""#), "{row}");
    ids.extend(load(&other, "g").await);
    ids.extend(load(&fourth, "h").await);
    fixture.wait_for_sql(OPEN, "0").await;
    assert_eq!(fixture.sql(ATTEMPTS), before, "a retired key was claimed");
    assert_eq!(fixture.sql(CASES), "KEY_RETURNED");
    // what another program does with it now is seen, and stored
    drop(chain.spends_elsewhere(GONE, Vec::new()));
    other.kill().await;
    let fifth = fixture.worker().await;
    fixture
        .wait_for_sql(ATTEMPTS, &(before.parse::<u32>().expect("a count") + 1).to_string())
        .await;
    fixture.wait_for_sql(CASES, "KEY_RETURNED").await;
    ids.extend(load(&fourth, "i").await);
    fixture.wait_for_sql(OPEN, "0").await;
    // it is deleted again, and proven so: the case is over
    chain.delete_key(GONE);
    let later = proven_gone(&fifth, "2").await;
    assert!(later > height, "{later}");
    fixture.wait_for_sql(CASES, "").await;
    ids.extend(load(&fifth, "j").await);
    fixture.wait_for_sql(OPEN, "0").await;
    all_paid(&chain, &ids);
    fourth.kill().await;
    fifth.kill().await;
}
