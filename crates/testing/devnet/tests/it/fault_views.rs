//! What an endpoint shows wrong while the chain is right: lag, silence, lies, forged outcomes.

use crate::client::{World, http, http_within, raw, rpc};
use devnet::{
    Outcome,
    near::{
        Endpoint, Fault, Lie, Options, Rule,
        near_primitives::{
            errors::{ActionError, ActionErrorKind, TxExecutionError},
            views::{FinalExecutionStatus, TxExecutionStatus},
        },
    },
};
use serde_json::{Value, json};

fn two() -> Outcome<World> {
    World::new(Options { endpoints: 2, ..Options::manual() })
}

fn second(world: &World) -> Outcome<Endpoint<'_>> {
    world.devnet.endpoint(1).ok_or_else(|| "no second endpoint".to_owned())
}

/// A lagging replica: turns red if it shows what is in blocks that it does not have yet.
#[test]
fn a_replica_is_behind() {
    let world = two().unwrap();
    let lagging = second(&world).unwrap();
    lagging.lag(10);
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.send(&signed, "NONE").unwrap();
    world.devnet.settle();
    let ask = json!({
        "tx_hash": signed.get_hash(), "sender_account_id": "relay.devnet", "wait_until": "NONE",
    });
    assert!(rpc(&world.url, "tx", &ask).is_ok());
    let late = raw(&lagging.url(), "tx", &ask).unwrap();
    assert_eq!(late.body.pointer("/error/cause/name"), Some(&json!("UNKNOWN_TRANSACTION")));

    let block = rpc(&lagging.url(), "block", &json!({"finality": "optimistic"})).unwrap();
    let height = block.pointer("/header/height").and_then(Value::as_u64);
    assert_eq!(height, Some(world.devnet.height() - 10));
    // A transaction whose base block is newer than the replica's head is `Expired` there.
    let fresh = world.transfers(&["bob.devnet"]).unwrap();
    let params = json!({"signed_tx_base64": crate::client::base64(&fresh).unwrap()});
    let answer = raw(&lagging.url(), "send_tx", &params).unwrap();
    let found = answer.body.pointer("/error/data/TxExecutionError/InvalidTxError");
    assert_eq!(found, Some(&json!("Expired")), "{}", answer.body);
    lagging.lag(0);
    assert!(rpc(&lagging.url(), "tx", &ask).is_ok());
}

/// Not found, though it is: turns red if the lie concerns the honest endpoint or another transaction.
#[test]
fn an_endpoint_does_not_find_what_is_there() {
    let world = two().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let other = world.sign(world.next_nonce().unwrap() + 1, vec![]);
    world.send(&signed, "NONE").unwrap();
    world.send(&other, "NONE").unwrap();
    world.devnet.settle();
    second(&world).unwrap().add(Rule::always(Lie::Unknown).of(signed.get_hash()));
    let ask = |url: &str, hash| {
        let params = json!({
            "tx_hash": hash, "sender_account_id": "relay.devnet", "wait_until": "NONE",
        });
        raw(url, "tx", &params).map(|answer| answer.body.get("result").is_some())
    };
    let liar = second(&world).unwrap().url();
    assert_eq!(ask(&liar, signed.get_hash()), Ok(false));
    assert_eq!(ask(&liar, other.get_hash()), Ok(true));
    assert_eq!(ask(&world.url, signed.get_hash()), Ok(true));
}

/// Consumed, though it is not: turns red if the shown nonce is the chain's.
#[test]
fn an_endpoint_shows_another_nonce() {
    let world = two().unwrap();
    second(&world).unwrap().add(Rule::always(Lie::Nonce { nonce: 77 }));
    let params = json!({
        "request_type": "view_access_key", "finality": "final",
        "account_id": "relay.devnet", "public_key": world.relay.public_key(),
    });
    let honest = rpc(&world.url, "query", &params).unwrap();
    let lied = rpc(&second(&world).unwrap().url(), "query", &params).unwrap();
    assert_eq!(honest.get("nonce").and_then(Value::as_u64), Some(world.next_nonce().unwrap() - 1));
    assert_eq!(lied.get("nonce"), Some(&json!(77)));
}

/// A forged outcome of one provider, both ways: turns red if the honest endpoint shows it too, or if a
/// withheld transaction cannot be shown as paid.
#[test]
fn an_endpoint_forges_an_outcome() {
    let world = two().unwrap();
    let liar = second(&world).unwrap();
    let paid = world.transfers(&["alice.devnet"]).unwrap();
    world.send(&paid, "NONE").unwrap();
    world.devnet.settle();
    let error = ActionError { index: Some(0), kind: ActionErrorKind::DelegateActionExpired };
    let failure = FinalExecutionStatus::Failure(TxExecutionError::ActionError(error));
    liar.add(Rule::always(forged(failure)).of(paid.get_hash()));
    let lied = status(&liar.url(), &paid.get_hash().to_string()).unwrap();
    assert!(lied.get("Failure").is_some(), "{lied}");
    let honest = status(&world.url, &paid.get_hash().to_string()).unwrap();
    assert_eq!(honest, json!({"SuccessValue": ""}));

    liar.clear();
    let withheld = world.transfers(&["bob.devnet"]).unwrap();
    liar.add(Rule::times(Fault::Withhold, 1));
    let params = json!({"signed_tx_base64": crate::client::base64(&withheld).unwrap(), "wait_until": "NONE"});
    rpc(&liar.url(), "send_tx", &params).unwrap();
    let hash = withheld.get_hash();
    liar.add(Rule::always(forged(FinalExecutionStatus::SuccessValue(Vec::new()))).of(hash));
    assert_eq!(status(&liar.url(), &hash.to_string()).unwrap(), json!({"SuccessValue": ""}));
    world.devnet.settle();
    assert_eq!(world.balance("bob.devnet").unwrap(), 0);
}

/// Turns red if what was logged is shown, or if the chain itself loses it.
#[test]
fn a_silent_endpoint_shows_a_transaction_without_its_events() {
    let world = two().unwrap();
    let silent = second(&world).unwrap();
    let paid = world.transfers(&["alice.devnet"]).unwrap();
    world.send(&paid, "NONE").unwrap();
    world.devnet.settle();
    let logs = |url: &str| {
        let hash = paid.get_hash().to_string();
        let params = json!({
            "tx_hash": hash, "sender_account_id": "relay.devnet", "wait_until": "FINAL",
        });
        let found = rpc(url, "EXPERIMENTAL_tx_status", &params).unwrap();
        found.pointer("/receipts_outcome/0/outcome/logs").unwrap().as_array().unwrap().len()
    };
    assert_eq!(logs(&silent.url()), 1);
    silent.add(Rule::always(Lie::Silent));
    assert_eq!((logs(&silent.url()), logs(&world.url)), (0, 1));
    silent.clear();
    assert_eq!(logs(&silent.url()), 1);
}

fn forged(status: FinalExecutionStatus) -> Lie {
    Lie::Outcome { status, execution: TxExecutionStatus::Final }
}

fn status(url: &str, hash: &str) -> Outcome<Value> {
    let params = json!({
        "tx_hash": hash, "sender_account_id": "relay.devnet", "wait_until": "FINAL",
    });
    let found = rpc(url, "tx", &params)?;
    found.get("status").cloned().ok_or_else(|| found.to_string())
}

/// Users script the same over HTTP: turns red if a rule is not read, or a route changes nothing.
#[test]
fn faults_are_scripted_over_http() {
    let world = two().unwrap();
    let url = second(&world).unwrap().url();
    let rule = r#"{"kind":"status","code":429,"methods":["block"],"times":1}"#;
    let set = http(&url, "POST", "/devnet/faults", rule).unwrap();
    assert_eq!(set.body.pointer("/0/code"), Some(&json!(429)), "{}", set.body);
    assert_eq!(raw(&url, "block", &json!({"finality": "final"})).unwrap().status, 429);
    assert_eq!(raw(&url, "block", &json!({"finality": "final"})).unwrap().status, 200);

    let before = world.devnet.height();
    http(&url, "POST", "/devnet/blocks", r#"{"blocks":3}"#).unwrap();
    assert_eq!(world.devnet.height(), before + 3);
    http(&url, "POST", "/devnet/lag", r#"{"blocks":2}"#).unwrap();
    let overview = http(&url, "GET", "/devnet", "").unwrap();
    assert_eq!(overview.body.get("seen_here"), Some(&json!(before + 1)));
    let events = http(&url, "GET", "/devnet/events?contract=usdc.devnet", "").unwrap();
    assert_eq!(events.body.pointer("/0/event"), Some(&json!("ft_mint")));
    assert_eq!(http(&url, "POST", "/devnet/faults", "{}").unwrap().status, 400);
    assert_eq!(http(&url, "GET", "/devnet/nothing", "").unwrap().status, 404);
}

/// Turns red if requests are not counted, which the figure of calls per transfer rests on.
#[test]
fn requests_are_counted() {
    let world = two().unwrap();
    rpc(&world.url, "gas_price", &json!([null])).unwrap();
    rpc(&world.url, "gas_price", &json!([null])).unwrap();
    let first = world.devnet.endpoint(0).unwrap();
    assert_eq!(first.requests().get("gas_price"), Some(&2));
    assert!(second(&world).unwrap().requests().is_empty());
}

/// A delay and a silence: turns red if the request is carried out too early, or not at all.
#[test]
fn answers_come_late_or_never() {
    let world = two().unwrap();
    let slow = second(&world).unwrap();
    slow.add(Rule::times(Fault::Delay { millis: 300 }, 1));
    let begun = world.devnet.height();
    let answer = std::thread::scope(|scope| {
        let asking = scope.spawn(|| rpc(&slow.url(), "block", &json!({"finality": "optimistic"})));
        std::thread::sleep(std::time::Duration::from_millis(50));
        world.devnet.advance(1);
        asking.join().unwrap().unwrap()
    });
    let seen = answer.pointer("/header/height").and_then(Value::as_u64);
    assert_eq!(seen, Some(begun + 1), "carried out after the delay");

    slow.add(Rule::times(Fault::Hang, 1));
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let params =
        json!({"signed_tx_base64": crate::client::base64(&signed).unwrap(), "wait_until": "NONE"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "send_tx", "params": params});
    let timeout = std::time::Duration::from_millis(500);
    let answer = http_within(&slow.url(), "POST", "/", &call.to_string(), timeout);
    assert!(answer.is_err(), "{answer:?}");
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet"), Ok(1));
}
