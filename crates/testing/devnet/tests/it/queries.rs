//! Queries at a block: accounts, keys, views, and the words of their failures.

use crate::client::{World, error, raw, rpc};
use devnet::Outcome;
use devnet::near::{Lie, Rule};
use serde_json::{Value, json};

fn view(world: &World, method: &str, args: &Value) -> Outcome<Value> {
    use base64::Engine;
    let args = base64::engine::general_purpose::STANDARD.encode(args.to_string());
    rpc(
        &world.url,
        "query",
        &json!({
            "request_type": "call_function", "finality": "final", "account_id": world.token,
            "method_name": method, "args_base64": args,
        }),
    )
}

/// Turns red if a view does not say at which block it was read.
#[test]
fn a_view_names_its_block() {
    let world = World::manual().unwrap();
    let answer = view(&world, "ft_balance_of", &json!({"account_id": "relay.devnet"})).unwrap();
    assert_eq!(answer.get("block_height"), Some(&json!(world.devnet.final_height())));
    assert_eq!(answer.get("block_hash"), Some(&json!(world.devnet.final_hash())));
}

/// A failing view and a missing key are results with an error in them: turns red if they are errors.
#[test]
fn some_failures_are_results() {
    let world = World::manual().unwrap();
    let answer = view(&world, "no_such_method", &json!({})).unwrap();
    let text = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    assert!(text.contains("MethodNotFound"), "{answer}");

    let answer =
        view(&world, "mint", &json!({"account_id": "alice.devnet", "amount": "1"})).unwrap();
    let text = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    assert!(text.contains("not allowed in view"), "{answer}");

    let key = devnet::near::Wallet::derived(world.relay.account.clone(), "unknown").public_key();
    let answer = rpc(
        &world.url,
        "query",
        &json!({
            "request_type": "view_access_key", "finality": "final",
            "account_id": "relay.devnet", "public_key": key,
        }),
    )
    .unwrap();
    let expected = format!("access key {key} does not exist while viewing");
    assert_eq!(answer.get("error"), Some(&json!(expected)));
}

/// Turns red if an unknown account or block is shown as anything else.
#[test]
fn unknown_things_have_their_names() {
    let world = World::manual().unwrap();
    let account = json!({
        "request_type": "view_account", "finality": "final", "account_id": "missing.devnet",
    });
    assert_eq!(error(&world.url, "query", &account).unwrap().0, "UNKNOWN_ACCOUNT");
    let block = json!({"block_id": 9_999_999});
    assert_eq!(error(&world.url, "block", &block).unwrap().0, "UNKNOWN_BLOCK");
    assert_eq!(error(&world.url, "no_such_method", &json!([])).unwrap().0, "METHOD_NOT_FOUND");
    let bad = raw(&world.url, "send_tx", &json!({"signed_tx_base64": "AAAA"})).unwrap();
    assert_eq!(bad.status, 400);
    assert_eq!(bad.body.pointer("/error/cause/name"), Some(&json!("PARSE_ERROR")));
}

/// Turns red if a state is not that of the block that was asked for.
#[test]
fn a_query_at_a_height_sees_that_height() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap() - 1;
    let before = world.devnet.height();
    world.devnet.submit(world.transfers(&["alice.devnet"]).unwrap());
    world.devnet.settle();
    let at = |block: Value| {
        let answer = rpc(
            &world.url,
            "query",
            &json!({
                "request_type": "view_access_key", "block_id": block,
                "account_id": "relay.devnet", "public_key": world.relay.public_key(),
            }),
        )
        .unwrap();
        Ok::<_, String>(answer.get("nonce").and_then(Value::as_u64))
    };
    assert_eq!(at(json!(before)).unwrap(), Some(nonce));
    assert_eq!(at(json!(before + 1)).unwrap(), Some(nonce + 1));
    assert_eq!(at(json!(world.devnet.final_hash())).unwrap(), Some(nonce + 1));
}

/// Turns red if a deleted key is still shown or signs on, and if an endpoint that hides a key hides others, or
/// changes the chain.
#[test]
fn a_key_is_deleted_by_another_one_and_hidden_by_a_lie() {
    let world = World::manual().unwrap();
    let second = world.devnet.add_keys(&world.relay, 1).unwrap().remove(0);
    let keys = || {
        let list = json!({
            "request_type": "view_access_key_list", "finality": "final", "account_id": "relay.devnet",
        });
        let shown = rpc(&world.url, "query", &list).unwrap();
        let key = |one: &Value| one["public_key"].as_str().unwrap_or_default().to_owned();
        let mut keys: Vec<String> =
            shown["keys"].as_array().into_iter().flatten().map(key).collect();
        keys.sort();
        keys
    };
    let (one, other) = (world.relay.public_key(), second.public_key());
    let mut both = [one.to_string(), other.to_string()];
    both.sort();
    assert_eq!(keys(), both);
    let endpoint = world.devnet.endpoint(0).unwrap();
    endpoint.add(Rule::always(Lie::HiddenKey { key: one.clone() }));
    assert_eq!(keys(), [other.to_string()]);
    endpoint.clear();
    assert_eq!(keys(), both);
    world.devnet.delete_key(&second, one.clone()).unwrap();
    assert_eq!(keys(), [other.to_string()]);
    assert_eq!(world.devnet.nonce(&second.account, &one), None);
    assert!(world.devnet.delete_key(&second, one).is_err());
}

/// A chunk lists the transactions of its block, by which a relay finds a stranger on its key. Turns red
/// if one is missing or is shown in another block.
#[test]
fn a_chunk_lists_its_transactions() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.advance(2);
    let included = world.devnet.height() - 1;
    let chunk = |height: u64| rpc(&world.url, "chunk", &json!([height, 0]));
    let shown = chunk(included).unwrap();
    assert_eq!(shown.pointer("/transactions/0/hash"), Some(&json!(signed.get_hash())));
    assert_eq!(chunk(included + 1).unwrap().get("transactions"), Some(&json!([])));
    let id = shown.pointer("/header/chunk_hash").cloned().unwrap_or_default();
    assert_eq!(rpc(&world.url, "chunk", &json!({"chunk_id": id})).unwrap(), shown);
    let other = error(&world.url, "chunk", &json!({"block_id": included, "shard_id": 3})).unwrap();
    assert_eq!(other.0, "INVALID_SHARD_ID");
}
