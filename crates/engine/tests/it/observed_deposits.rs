//! What a watcher of a chain found: all its transfers and its cursor are one unit, and nothing that is
//! stopped here loses a deposit.
//!
//! They turn red in a build with: the cursor written before the
//! openings, in a unit of its own; an opening that asks for a flow that is not paused; an opening that is
//! guarded by *not halted*; a known place on the chain that keeps the others from being opened.

use crate::fixture::crash_points::Side;
use crate::fixture::defaults::NEVER;
use crate::fixture::test_service::TestService;
use engine::operators::AdminAction;
use engine::{Cursor, Observation, ObservationResult};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, ChainId, FlowId, Id};
use kernel::money::Amount;
use kernel::operators::Scope;
use kernel::owner::TransferOwner;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::TransferQueries as _;
use kernel::record::{Account, Facts, Origin, Party, Record, System, Terms};
use sim::chain::{ChainRules, Locking, SimChain};
use std::sync::Arc;

const SOLANA: ChainId = ChainId(30);
const NEXUS: ChainId = ChainId(31);
const USDC: AssetId = AssetId(4);
const CURSOR: &str = "cursor:SOLANA:vault";

/// Says nothing yet of any transfer.
struct NothingKnown;

impl FactSource for NothingKnown {
    fn facts<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move { records.iter().map(|_| Gathered::Facts(Facts::new())).collect() })
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(
            async move { records.iter().map(|_| Answer::Unknown(Cause::of("TIMEOUT"))).collect() },
        )
    }
}

pub(crate) async fn service() -> TestService {
    let mut service = TestService::open(true, NEVER).await;
    // nothing is ever sent: no fact is known
    let clock = Arc::new(service.clock.clone());
    service.chain = Some(SimChain::new(ChainRules::calm(Locking::Marker), clock, 1));
    service.facts.insert("swap_in", Arc::new(NothingKnown));
    service.restart().await;
    service
}

fn flow(service: &TestService) -> FlowId {
    service.engine.flows().named("swap_in").expect("the flow")
}

pub(crate) fn deposit(key: &str, amount: u128) -> Terms {
    let sender: Arc<str> = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin".into();
    let owner = TransferOwner::ChainAccount { chain: SOLANA, account: sender };
    let party = |chain, account, amount| Party {
        system: System::Chain(chain),
        account,
        asset: USDC,
        amount: Amount(amount),
    };
    let source = party(SOLANA, Account::Named("vault".into()), amount);
    let target = party(NEXUS, Account::Unnamed, amount);
    Terms {
        origin: Some(Origin { chain: SOLANA, key: key.into() }),
        memo: Some("nexus:8BmKZxQdA3RkzN5oW2yVhTnGcSfUeJpLqXrMtYwCvBd".to_owned()),
        ..Terms::between("watcher|solana".into(), owner, source, target)
    }
}

pub(crate) fn observation(
    service: &TestService,
    version: u32,
    deposits: Vec<Terms>,
) -> Observation {
    let value = format!("slot {version}").into();
    let cursor = Cursor { name: CURSOR.into(), version, value };
    let (flow, beside) = (flow(service), Vec::new());
    Observation { chain: SOLANA, flow, cursor, deposits, beside }
}

async fn stored(service: &TestService, version: u32, deposits: Vec<Terms>) -> Vec<Id> {
    let observation = observation(service, version, deposits);
    let result = service.engine.observed_deposits.store_observation(observation).await;
    let Ok(ObservationResult::Stored(ids)) = result else { panic!("{result:?}") };
    ids
}

/// The transfer of a place on the chain.
pub(crate) async fn at(service: &TestService, key: &str) -> Option<Record> {
    let (flow, scope) = (flow(service), SOLANA.name().into());
    let found = service.store().find_by_idempotency_key(flow, scope, key.into()).await;
    found.expect("the journal answers")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposits_become_transfers_once_and_go_on() {
    let service = service().await;
    let first = stored(&service, 0, vec![deposit("a", 10_000_000), deposit("b", 20_000_000)]).await;
    assert_eq!(first.len(), 2);
    for id in &first {
        service.wait_for_state(*id, "ready for processing").await;
    }
    // another watcher read on from where this one began
    let late = observation(&service, 0, vec![deposit("c", 5)]);
    let result = service.engine.observed_deposits.store_observation(late).await;
    assert_eq!(result, Ok(ObservationResult::Superseded));
    assert_eq!(at(&service, "c").await.map(|record| record.id), None);
    // what it sees again is opened no second time, and keeps no other from being opened
    let deposits =
        vec![deposit("b", 20_000_000), deposit("c", 5_000_000), deposit("a", 10_000_000)];
    let second = stored(&service, 1, deposits).await;
    assert_eq!(second.len(), 1);
    assert_eq!(at(&service, "c").await.map(|record| record.id), second.first().copied());
    assert_eq!(at(&service, "b").await.map(|record| record.id), first.get(1).copied());
    assert_eq!(service.episodes(), []);
}

/// The chain shows another amount at a place that was stored: an operator is asked, and the flow stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_deposit_at_a_known_place_is_a_contradiction() {
    let service = service().await;
    let ids = stored(&service, 0, vec![deposit("a", 10_000_000)]).await;
    let second = stored(&service, 1, vec![deposit("a", 99_000_000), deposit("b", 1_000_000)]).await;
    assert_eq!(second.len(), 1, "what is new is stored all the same");
    let id = ids.first().copied().expect("one");
    service.wait_for_episodes(&[("CONTRADICTION", format!("transfer/{id}"), true)]).await;
    let amount = at(&service, "a").await.map(|record| record.terms.source.amount);
    assert_eq!(amount, Some(Amount(10_000_000)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_and_a_halt_lose_no_deposit() {
    let mut service = service().await;
    let scope = Scope::Flow(flow(&service));
    let paused = service.execute_as("ada", "p", AdminAction::Pause(scope)).await;
    assert!(paused.is_ok(), "{paused:?}");
    let first = stored(&service, 0, vec![deposit("a", 10_000_000)]).await;
    let halted = service.execute_as("ada", "h", AdminAction::Halt).await;
    assert!(halted.is_ok(), "{halted:?}");
    let second = stored(&service, 1, vec![deposit("b", 20_000_000)]).await;
    service.restart().await;
    for (id, key) in first.iter().chain(&second).zip(["a", "b"]) {
        let record = at(&service, key).await.expect("it was stored");
        assert_eq!((&record.id, record.head.version), (id, 0), "{record:?}");
    }
}

/// A process that ends before or behind the write leaves both or neither.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_and_its_transfers_are_one_write() {
    for side in [Side::Before, Side::After] {
        let mut service = service().await;
        let deposits = || vec![deposit("a", 10_000_000), deposit("b", 20_000_000)];
        service.crash_point.set_event(side, "CREATED");
        let engine = service.engine.clone();
        let observation_0 = observation(&service, 0, deposits());
        #[expect(clippy::disallowed_methods, reason = "a watcher, not a task of the engine")]
        let stores =
            tokio::spawn(
                async move { engine.observed_deposits.store_observation(observation_0).await },
            );
        service.crash_point.fell().await;
        stores.abort();
        service.restart().await;
        let there = [at(&service, "a").await, at(&service, "b").await];
        let written = there.iter().flatten().count();
        assert_eq!(written, if side == Side::Before { 0 } else { 2 });
        // the watcher reads on from the cursor that is stored
        let again = service
            .engine
            .observed_deposits
            .store_observation(observation(&service, 0, deposits()))
            .await;
        match side {
            Side::Before => assert!(
                matches!(&again, Ok(ObservationResult::Stored(ids)) if ids.len() == 2),
                "{again:?}"
            ),
            Side::After => assert_eq!(again, Ok(ObservationResult::Superseded)),
        }
        assert!(at(&service, "a").await.is_some() && at(&service, "b").await.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_observation_of_this_chain_writes_nothing() {
    let service = service().await;
    let elsewhere = Terms {
        origin: Some(Origin { chain: NEXUS, key: "b".into() }),
        ..deposit("b", 20_000_000)
    };
    let nowhere = Terms { origin: None, ..deposit("b", 20_000_000) };
    let others = [elsewhere, nowhere, deposit("b", 0), deposit("a", 20_000_000)];
    for other in others {
        let bad = observation(&service, 0, vec![deposit("a", 10_000_000), other]);
        let result = service.engine.observed_deposits.store_observation(bad).await;
        let class = result.as_ref().err().map(|cause| cause.class);
        assert_eq!(class, Some("BAD_OBSERVATION"), "{result:?}");
    }
    assert_eq!(at(&service, "a").await.map(|record| record.id), None);
    assert_eq!(stored(&service, 0, vec![deposit("a", 10_000_000)]).await.len(), 1);
}
