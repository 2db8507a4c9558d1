//! Providers that lag or lie: one of them proves nothing.
//!
//! Red with a wrong build that closes an attempt by one provider's word (`one_lying_provider_proves_nothing`,
//! `one_provider_condemns_nothing`), or that takes a replica's last block for the chain's
//! (`a_replica_that_lags_proves_nothing`).

use super::world::{VALIDITY, World, words};
use devnet::near::near_primitives::errors::{ActionError, ActionErrorKind, TxExecutionError};
use devnet::near::near_primitives::views::{FinalExecutionStatus, TxExecutionStatus};
use devnet::near::{Fault, Lie, Rule};
use kernel::ports::chain::{AttemptProof, Chain};
use serde_json::json;

fn failure() -> FinalExecutionStatus {
    let kind = ActionErrorKind::AccountDoesNotExist { account_id: "x.devnet".parse().unwrap() };
    let error = ActionError { index: Some(0), kind };
    FinalExecutionStatus::Failure(TxExecutionError::ActionError(error))
}

pub(super) fn outcome(status: FinalExecutionStatus) -> Rule {
    Rule::always(Lie::Outcome { status, execution: TxExecutionStatus::Final })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_lying_provider_proves_nothing() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    // it says that what never landed succeeded
    let mut attempt = world.pay(&port, members.clone()).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    let liar = world.devnet.endpoint(1).unwrap();
    liar.clear();
    liar.add(outcome(FinalExecutionStatus::SuccessValue(Vec::new())).on(&["tx"]));
    liar.add(Rule::always(Fault::Withhold));
    for _ in 0..3 {
        world.not_yet(&port, &attempt).await;
        world.devnet.advance(4);
    }
    // it says that what succeeded failed
    world.clear();
    world.devnet.release();
    world.devnet.settle();
    liar.add(outcome(failure()).on(&["tx"]));
    for _ in 0..3 {
        world.not_yet(&port, &attempt).await;
        world.devnet.advance(VALIDITY);
    }
    // it says that it does not know it, and that the nonce is not spent
    liar.clear();
    liar.add(Rule::always(Lie::Unknown));
    liar.add(Rule::always(Lie::Nonce { nonce: 0 }));
    for _ in 0..3 {
        world.not_yet(&port, &attempt).await;
        world.devnet.advance(VALIDITY);
    }
    world.clear();
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!(words(&verdicts), [("done", false); 2]);
    assert_eq!((world.paid(&members), attempt.forms.len()), (vec![1, 1], 1));
}

/// The chain holds the transaction as failed, for good: a single provider's word kills nothing all the same,
/// neither what expired nor what failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_condemns_nothing() {
    let world = World::new(1);
    let port = world.port();
    let mut members = world.members(2);
    members.push(world.record("unregistered.devnet", 10));
    let attempt = world.pay(&port, members.clone()).await;
    drop(world.look(&port, &attempt).await);
    world.devnet.settle();
    for _ in 0..5 {
        assert_eq!(world.not_yet(&port, &attempt).await, "ONE_PROVIDER");
        world.devnet.advance(VALIDITY);
    }
    // a second provider is named, and the attempt ends
    let second = World::new(2);
    let port = second.port();
    let attempt = second.pay(&port, vec![second.record("unregistered.devnet", 10)]).await;
    drop(second.look(&port, &attempt).await);
    second.devnet.settle();
    assert!(matches!(second.look(&port, &attempt).await, AttemptProof::Closed(_)));
    // what expired
    let attempt = world.claim_on(&world.port(), 1, world.members(1)).await;
    world.withhold();
    drop(world.look(&world.port(), &attempt).await);
    world.devnet.advance(2 * VALIDITY);
    assert_eq!(world.not_yet(&world.port(), &attempt).await, "ONE_PROVIDER");
    // what is paid is paid
    let third = World::new(1);
    let port = third.port();
    let mut attempt = third.pay(&port, third.members(1)).await;
    assert_eq!(words(&third.see_through(&port, &mut attempt).await), [("done", false)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_lags_proves_nothing() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.members(2)).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    let replica = world.devnet.endpoint(1).unwrap();
    // past its last block on the chain, and not on the replica
    replica.lag(VALIDITY / 3);
    world.devnet.advance(VALIDITY + 5);
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
    // it landed on the chain, and not on the replica
    world.clear();
    world.devnet.release();
    world.devnet.settle();
    assert_eq!(world.not_yet(&port, &attempt).await, "FEW_PROVIDERS");
    // locks are still given: what a replica does not know takes no nonce twice
    let lane = port.lanes("ft_transfer").remove(1);
    assert!(port.next_lock(&lane, None, &world.members(1)).await.is_ok());
    replica.lag(0);
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!(words(&verdicts), [("done", false); 2]);
    assert_eq!(world.paid(&attempt.members), [1, 1]);
}

/// Turns red where a call is not measured, or is measured as answered whatever came of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_called_and_read_is_measured() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.members(2)).await;
    assert_eq!(world.meter.times("NEAR 3 1000000"), 1, "the balance of the token");
    assert_eq!(world.meter.times("NEAR fee e24"), 1);
    world.see_through(&port, &mut attempt).await;
    assert!(world.meter.times("NEAR send_tx answered") >= 2, "both providers are sent to");
    let answered = world.meter.times("NEAR tx answered");
    world.everywhere(&Rule::always(Fault::Status { code: 503 }).on(&["tx"]));
    let _unproven = world.not_yet(&port, &attempt).await;
    let failed = world.meter.times("NEAR tx HTTP_STATUS");
    // while no form is late one provider is asked, and the other one behind its yes
    assert_eq!((world.meter.times("NEAR tx answered"), failed), (answered, 1));
    world.clear();
}

/// Turns red where providers that do not say for how long a transaction is valid are asked again by each signature, and
/// where what they say later is not heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validity_that_no_provider_says_is_not_asked_for_each_time() {
    const METHOD: &str = "EXPERIMENTAL_protocol_config";
    let shorter = VALIDITY - 10;
    let world = World::with_validity(2, shorter);
    let port = world.port();
    let error = json!({ "code": -32_601, "message": "Method not found", "data": METHOD });
    let body = json!({ "jsonrpc": "2.0", "id": "1", "error": error });
    let none = Rule::always(Fault::Answer { code: 200, body }).on(&[METHOD]);
    world.everywhere(&none);
    let request = world.request(&port, world.members(1)).await;
    let valid_for = async || {
        let form = port.sign(&request).await.unwrap().form;
        form.expires.unwrap() - form.anchor.unwrap()
    };
    let asked = || {
        let of = |outcome: &str| world.meter.times(&format!("NEAR {METHOD} {outcome}"));
        of("refused") + of("answered")
    };
    for _ in 0..20 {
        // the settings' own, which is the longest: nothing is signed again too early
        assert_eq!(valid_for().await, VALIDITY);
        world.clock.forward(1_000);
    }
    assert_eq!(asked(), 2, "each provider once");
    world.clear();
    world.clock.forward(60_000);
    for _ in 0..20 {
        assert_eq!(valid_for().await, shorter);
        world.clock.forward(60_000);
    }
    assert_eq!(asked(), 4, "those that say it are asked once an hour");
}

/// Turns red where one provider says for how long a transaction is valid: with a block, each look past it signs one more
/// form.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_alone_shortens_no_validity() {
    let world = World::new(2);
    let port = world.port();
    let body =
        json!({ "jsonrpc": "2.0", "id": "1", "result": { "transaction_validity_period": 1 } });
    let lie = Rule::always(Fault::Answer { code: 200, body });
    world.devnet.endpoint(0).unwrap().add(lie.on(&["EXPERIMENTAL_protocol_config"]));
    let form = world.pay(&port, world.members(1)).await.forms.remove(0);
    assert_eq!(form.expires.unwrap() - form.anchor.unwrap(), VALIDITY);
}
