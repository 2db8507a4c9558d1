//! What an endpoint shows wrong while the chain is right: lag, silence, another chain, forged outcomes.

use super::world::{World, refused, send_to, signature, status, transaction};
use crate::client::{http, http_within, raw, rpc};
use devnet::solana::{Edit, Fault, Lie, Rule};
use serde_json::{Value, json};
use std::time::Duration;

fn head(url: &str) -> u64 {
    rpc(url, "getSlot", &json!([{"commitment": "processed"}])).unwrap().as_u64().unwrap()
}

/// Turns red if a replica that lags shows what is in blocks that it does not have yet, or knows their hashes.
#[test]
fn a_replica_is_behind() {
    let world = World::two();
    let deposit = world.deposited(5, &[]);
    world.devnet.endpoint(1).unwrap().lag(10);
    assert_eq!(head(&world.second()) + 10, head(&world.url));
    assert_eq!(status(&world.second(), &deposit), Value::Null);
    assert_ne!(status(&world.url, &deposit), Value::Null);
    let fresh = world.devnet.deposit(&world.alice, &world.account, 1, &[]).unwrap();
    let answer = send_to(&world.second(), &fresh, false).unwrap();
    assert!(refused(&answer).1.contains("Blockhash not found"));
    let late = json!([{"commitment": "processed", "minContextSlot": head(&world.url)}]);
    let answer = raw(&world.second(), "getSlot", &late).unwrap();
    assert_eq!(refused(&answer).0, -32016);
    assert_eq!(answer.body.pointer("/error/data/contextSlot"), Some(&json!(head(&world.second()))));
}

/// Turns red if a node that is far behind says that it is well.
#[test]
fn a_node_far_behind_is_unhealthy() {
    let world = World::two();
    assert_eq!(rpc(&world.second(), "getHealth", &json!([])).unwrap(), json!("ok"));
    world.devnet.advance(150);
    world.devnet.endpoint(1).unwrap().lag(140);
    let answer = raw(&world.second(), "getHealth", &json!([])).unwrap();
    assert_eq!(refused(&answer), (-32005, "Node is behind by 140 slots".to_owned()));
    let paid = world.payout(world.lock(), 1);
    assert_eq!(refused(&send_to(&world.second(), &paid, false).unwrap()).0, -32005);
}

/// One method of a replica that is otherwise well. Turns red if the rule is about all methods.
#[test]
fn one_method_is_stale() {
    let world = World::two();
    world.script(1, Rule::always(Fault::Stale { blocks: 9 }).on(&["getTokenAccountBalance"]));
    world.deposited(5, &[]);
    let amount = |url: &str| {
        let params = json!([world.account.to_string(), {"commitment": "processed"}]);
        let answer = rpc(url, "getTokenAccountBalance", &params).unwrap();
        answer["value"]["amount"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(amount(&world.second()) + 5, amount(&world.url));
    assert_eq!(head(&world.second()), head(&world.url));
}

/// Turns red if the genesis hash is the chain's own.
#[test]
fn an_endpoint_is_of_another_chain() {
    let world = World::two();
    let genesis_hash = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d".to_owned();
    world.script(1, Rule::always(Lie::OtherChain { genesis_hash: genesis_hash.clone() }));
    assert_eq!(rpc(&world.second(), "getGenesisHash", &json!([])).unwrap(), json!(genesis_hash));
    let own = rpc(&world.url, "getGenesisHash", &json!([])).unwrap();
    assert_eq!(own, json!(world.devnet.genesis_hash().to_string()));
}

/// One provider of two hides a payment, shows it failed, or shows one that never was. Turns red if the lie reaches the
/// other endpoint, the chain, or another transaction.
#[test]
fn one_provider_of_two_lies_about_a_transaction() {
    let world = World::two();
    let deposit = world.deposited(5, &[]);
    let other = world.deposited(6, &[]);
    world.devnet.settle();
    world.script(1, Rule::always(Lie::Unknown).of(deposit));
    assert_eq!(status(&world.second(), &deposit), Value::Null);
    assert_eq!(transaction(&world.second(), &deposit, "finalized"), Value::Null);
    assert_ne!(status(&world.second(), &other), Value::Null);
    assert_ne!(transaction(&world.url, &deposit, "finalized"), Value::Null);

    let liar = world.devnet.endpoint(1).unwrap();
    liar.clear();
    let err = json!({"InstructionError": [0, {"Custom": 1}]});
    let rule = json!({"kind": "outcome", "err": err});
    http(&world.second(), "POST", "/devnet/faults", &rule.to_string()).unwrap();
    assert_eq!(transaction(&world.second(), &deposit, "finalized")["meta"]["err"], err);
    assert_eq!(status(&world.second(), &deposit)["err"], err);
    assert_eq!(status(&world.url, &deposit)["err"], Value::Null);

    liar.clear();
    world.script(1, Rule::always(Lie::Outcome { err: None }));
    let never = signature(&world.payout(world.lock(), 1));
    assert_eq!(status(&world.second(), &never)["confirmationStatus"], json!("finalized"));
    assert_eq!(status(&world.url, &never), Value::Null);
    assert_eq!(world.devnet.result(&never), None);
}

/// A gateway once gave the slot as the block height. Turns red if a place of a true answer cannot be changed, or a value
/// that is no object.
#[test]
fn places_of_an_answer_are_edited() {
    let world = World::two();
    let higher = Fault::Edited { edits: vec![Edit::add("", 22_000_000)] };
    world.script(1, Rule::always(higher).on(&["getBlockHeight"]));
    let height = |url: &str| rpc(url, "getBlockHeight", &json!([])).unwrap().as_u64().unwrap();
    assert_eq!(height(&world.second()), height(&world.url) + 22_000_000);
    let poorer = Fault::Edited { edits: vec![Edit::set("/value/amount", json!("0"))] };
    world.script(1, Rule::always(poorer).on(&["getTokenAccountBalance"]));
    let params = json!([world.account.to_string()]);
    let amount = rpc(&world.second(), "getTokenAccountBalance", &params).unwrap();
    assert_eq!(amount["value"]["amount"], json!("0"));
}

/// Turns red if a request that hangs is not carried out, or a delay comes before the request is read.
#[test]
fn answers_come_late_or_never() {
    let world = World::two();
    world.script(1, Rule::times(Fault::Delay { millis: 300 }, 1));
    let begun = head(&world.url);
    let url = world.second();
    let seen = std::thread::scope(|scope| {
        let asking = scope.spawn(|| head(&url));
        std::thread::sleep(Duration::from_millis(50));
        world.devnet.advance(1);
        asking.join().unwrap()
    });
    assert_eq!(seen, begun + 1, "carried out after the delay");

    world.script(1, Rule::times(Fault::Hang, 1));
    let paid = world.payout(world.lock(), 1);
    let params =
        json!([super::world::base64(&paid), {"encoding": "base64", "skipPreflight": true}]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": params});
    let answer = http_within(&url, "POST", "/", &call.to_string(), Duration::from_millis(500));
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(world.devnet.pooled(), 1);
}

/// Users script the same over HTTP. Turns red if a rule is not read, or a route changes nothing.
#[test]
fn faults_and_blocks_are_scripted_over_http() {
    let world = World::two();
    let url = world.second();
    let rule = r#"{"kind":"status","code":429,"methods":["getSlot"],"times":1}"#;
    let set = http(&url, "POST", "/devnet/faults", rule).unwrap();
    assert_eq!(set.body.pointer("/0/code"), Some(&json!(429)), "{}", set.body);
    assert_eq!(raw(&url, "getSlot", &json!([])).unwrap().status, 429);
    assert_eq!(raw(&url, "getSlot", &json!([])).unwrap().status, 200);
    let gap = r#"{"kind":"gap","signatures":[]}"#;
    assert_eq!(http(&url, "POST", "/devnet/faults", gap).unwrap().status, 200);
    let before = world.devnet.height();
    http(&url, "POST", "/devnet/blocks", r#"{"blocks":3}"#).unwrap();
    assert_eq!(world.devnet.height(), before + 3);
    http(&url, "POST", "/devnet/lag", r#"{"blocks":2}"#).unwrap();
    let overview = http(&url, "GET", "/devnet", "").unwrap();
    assert_eq!(overview.body["seen_here"], json!(before + 1));
    assert_eq!(http(&url, "POST", "/devnet/faults", "{}").unwrap().status, 400);
    assert_eq!(http(&url, "GET", "/devnet/nothing", "").unwrap().status, 404);
    assert_eq!(world.devnet.endpoint(1).unwrap().requests().get("getSlot"), Some(&2));
}
