//! The wire: what a node's own types read, and what nodes were recorded to say.

use crate::client::{World, base64, raw, rpc};
use devnet::near::recorded::{
    ACCESS_KEY, ACCESS_KEYS, ACCOUNT, BLOCK, CHUNK, EXPIRED, INVALID_NONCE, PROTOCOL_CONFIG,
    STATUS, TRANSACTION, TRANSACTION_WITH_RECEIPTS, VIEW,
};
use devnet::{Outcome, near::Options};
use near_jsonrpc_primitives::{
    errors::RpcError,
    types::{
        blocks::RpcBlockResponse, chunks::RpcChunkResponse, config::RpcProtocolConfigResponse,
        gas_price::RpcGasPriceResponse, query::RpcQueryResponse, status::RpcStatusResponse,
        transactions::RpcTransactionResponse,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(value: &Value) -> Outcome<T> {
    serde_json::from_value(value.clone()).map_err(|error| format!("{error}: {value}"))
}

/// Turns red if a type of NEAR's own does not read an answer.
#[test]
fn nears_own_types_read_every_answer() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let pending = rpc(
        &world.url,
        "send_tx",
        &json!({
            "signed_tx_base64": base64(&signed).unwrap(), "wait_until": "NONE",
        }),
    )
    .unwrap();
    assert!(read::<RpcTransactionResponse>(&pending).unwrap().final_execution_outcome.is_none());
    world.devnet.settle();
    let ask = json!([signed.get_hash(), "relay.devnet"]);
    for method in ["tx", "EXPERIMENTAL_tx_status"] {
        let outcome =
            read::<RpcTransactionResponse>(&rpc(&world.url, method, &ask).unwrap()).unwrap();
        let outcome = outcome.final_execution_outcome.unwrap().into_outcome();
        assert_eq!(outcome.transaction.hash, signed.get_hash());
    }
    let last = json!({"finality": "final"});
    let block = read::<RpcBlockResponse>(&rpc(&world.url, "block", &last).unwrap()).unwrap();
    assert_eq!(block.block_view.header.height, world.devnet.final_height());
    read::<RpcChunkResponse>(
        &rpc(&world.url, "chunk", &json!([block.block_view.header.height, 0])).unwrap(),
    )
    .unwrap();
    let config = rpc(&world.url, "EXPERIMENTAL_protocol_config", &last).unwrap();
    read::<RpcProtocolConfigResponse>(&config).unwrap();
    read::<RpcGasPriceResponse>(&rpc(&world.url, "gas_price", &json!([null])).unwrap()).unwrap();
    read::<RpcStatusResponse>(&rpc(&world.url, "status", &json!([])).unwrap()).unwrap();
    for request in [
        json!({"request_type": "view_account", "account_id": "relay.devnet"}),
        json!({"request_type": "view_access_key_list", "account_id": "relay.devnet"}),
    ] {
        let mut request = request;
        request["finality"] = json!("final");
        read::<RpcQueryResponse>(&rpc(&world.url, "query", &request).unwrap()).unwrap();
    }
}

/// Turns red if an error has a field too many, or a name that NEAR's types do not know.
#[test]
fn nears_own_types_read_every_error() {
    let world = World::manual().unwrap();
    let old = world.sign(1, vec![]);
    let unknown = json!([old.get_hash(), "relay.devnet"]);
    let calls = [
        ("send_tx", json!({"signed_tx_base64": base64(&old).unwrap()})),
        ("tx", unknown),
        ("block", json!({"block_id": 1})),
        (
            "query",
            json!({"request_type": "view_account", "finality": "final", "account_id": "x.y"}),
        ),
        ("no_such_method", json!([])),
        ("query", json!({})),
    ];
    for (method, params) in calls {
        let answer = raw(&world.url, method, &params).unwrap();
        let error = answer.body.get("error").unwrap();
        let error = read::<RpcError>(error).unwrap();
        assert!(error.error_struct.is_some(), "{method}");
    }
}

/// Every field of a pattern must be in the answer, with the same kind of value.
pub(crate) fn holds(pattern: &Value, answer: &Value, path: &str) -> Outcome {
    match (pattern, answer) {
        (Value::Object(fields), Value::Object(shown)) => {
            fields.iter().try_for_each(|(name, pattern)| {
                let path = format!("{path}/{name}");
                holds(pattern, shown.get(name).ok_or_else(|| format!("{path} is missing"))?, &path)
            })
        }
        (Value::Array(patterns), Value::Array(shown)) => match patterns.first() {
            Some(pattern) => {
                let first = shown.first().ok_or_else(|| format!("{path} is empty"))?;
                holds(pattern, first, &format!("{path}/0"))
            }
            None => Ok(()),
        },
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, _) => Ok(()),
        _ => Err(format!("{path}: {answer} is not like {pattern}")),
    }
}

/// The pattern of a body that a node was recorded to answer, without the values of these fields: each is of the
/// transaction or the request, not of the method.
fn recorded(body: &str, passed_over: &[&str]) -> Value {
    fn cut(value: &mut Value, passed_over: &[&str]) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !passed_over.contains(&name.as_str()));
                fields.values_mut().for_each(|value| cut(value, passed_over));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| cut(value, passed_over)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut body: Value = serde_json::from_str(body).unwrap();
    cut(&mut body, passed_over);
    body
}

/// What a transaction did, and proofs of it that the local chain does not make.
const OF_THE_TRANSACTION: [&str; 5] = ["actions", "proof", "logs", "receipt_ids", "status"];

#[test]
fn the_status_of_a_transaction_is_as_recorded() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet", "dave.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let answer = world.tx(signed.get_hash(), "FINAL").unwrap();
    holds(&recorded(TRANSACTION, &OF_THE_TRANSACTION), &answer.body, "").unwrap();
    // of a failure none was recorded: NEAR's own types read it, and this is how they write it
    let failed = json!({"result": {
        "status": {"Failure": {"ActionError": {"index": 1, "kind":
            {"FunctionCallError": {"ExecutionError": ""}}}}},
        "transaction": {"priority_fee": 0, "actions": [{"FunctionCall":
            {"method_name": "", "args": "", "gas": 1, "deposit": "1"}}]},
        "transaction_outcome": {"outcome": {"metadata": {"version": 3, "gas_profile": []}}},
    }});
    holds(&failed, &answer.body, "").unwrap();
    let receipt =
        answer.body.pointer("/result/transaction_outcome/outcome/status/SuccessReceiptId");
    assert!(receipt.is_some_and(Value::is_string), "{}", answer.body);
}

#[test]
fn receipts_are_as_recorded() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let ask = json!([signed.get_hash(), "relay.devnet"]);
    let answer = raw(&world.url, "EXPERIMENTAL_tx_status", &ask).unwrap();
    let pattern = recorded(TRANSACTION_WITH_RECEIPTS, &OF_THE_TRANSACTION);
    holds(&pattern, &answer.body, "").unwrap();
}

#[test]
fn blocks_and_chunks_are_as_recorded() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let height = world.devnet.final_height();
    let block = raw(&world.url, "block", &json!({"block_id": height})).unwrap();
    // the local chain has no validators who would sign
    let pattern = recorded(BLOCK, &["approvals", "chunk_endorsements"]);
    holds(&pattern, &block.body, "").unwrap();
    let chunks = (1..=height).map(|height| raw(&world.url, "chunk", &json!([height, 0])).unwrap());
    let sent = |chunk: &Value| {
        let first = chunk.pointer("/result/transactions/0/hash").and_then(Value::as_str);
        first == Some(signed.get_hash().to_string().as_str())
    };
    let chunk = chunks.map(|answer| answer.body).find(sent).unwrap();
    holds(&recorded(CHUNK, &[]), &chunk, "").unwrap();
}

#[test]
fn accounts_keys_and_views_are_as_recorded() {
    let world = World::manual().unwrap();
    let key = world.relay.public_key().to_string();
    let query = |fields: Value| {
        let mut params = json!({"finality": "final"});
        let fields = fields.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(fields);
        raw(&world.url, "query", &params).unwrap().body
    };
    let account = query(json!({"request_type": "view_account", "account_id": "relay.devnet"}));
    holds(&recorded(ACCOUNT, &[]), &account, "").unwrap();
    let one = query(json!({
        "request_type": "view_access_key", "account_id": "relay.devnet", "public_key": key,
    }));
    // the recorded key has limits, and the relay's has none
    holds(&recorded(ACCESS_KEY, &["permission"]), &one, "").unwrap();
    let all = query(json!({"request_type": "view_access_key_list", "account_id": "relay.devnet"}));
    holds(&recorded(ACCESS_KEYS, &["permission"]), &all, "").unwrap();
    let supply = query(json!({
        "request_type": "call_function", "account_id": "usdc.devnet",
        "method_name": "ft_total_supply", "args_base64": "",
    }));
    holds(&recorded(VIEW, &[]), &supply, "").unwrap();
}

#[test]
fn configuration_and_node_are_as_recorded() {
    let world = World::new(Options { validity_period: 123, ..Options::manual() }).unwrap();
    let last = json!({"finality": "final"});
    let answer = raw(&world.url, "EXPERIMENTAL_protocol_config", &last).unwrap().body;
    holds(&recorded(PROTOCOL_CONFIG, &[]), &answer, "").unwrap();
    let period = answer.pointer("/result/transaction_validity_period");
    assert_eq!(period, Some(&json!(123)));
    let limits = answer.pointer("/result/runtime_config/wasm_config/limit_config");
    let prepaid = limits.and_then(|limits| limits.get("max_total_prepaid_gas"));
    assert_eq!(prepaid, Some(&json!(1_000_000_000_000_000_u64)));
    let status = raw(&world.url, "status", &json!([])).unwrap().body;
    // newer nodes do not say of each validator whether it was slashed
    holds(&recorded(STATUS, &["is_slashed"]), &status, "").unwrap();
}

/// Turns red if the reason of a refusal stands where a node does not write it.
#[test]
fn refusals_are_as_recorded() {
    let world = World::new(Options { validity_period: 30, ..Options::manual() }).unwrap();
    let nonce = world.next_nonce().unwrap();
    let (first, second) = (world.transfers(&["alice.devnet"]).unwrap(), world.sign(nonce, vec![]));
    let late = world.sign(nonce + 1, vec![]);
    world.devnet.submit(first);
    world.devnet.settle();
    let spent = world.send(&second, "INCLUDED").unwrap().body;
    holds(&recorded(INVALID_NONCE, &["id"]), &spent, "").unwrap();
    world.devnet.advance(40);
    let expired = world.send(&late, "INCLUDED").unwrap().body;
    holds(&recorded(EXPIRED, &["id"]), &expired, "").unwrap();
    let reason = expired.pointer("/error/data/TxExecutionError/InvalidTxError");
    assert_eq!(reason, Some(&json!("Expired")));
}

/// None was recorded: this is what the node's source writes.
#[test]
fn a_transaction_that_no_block_has_is_unknown() {
    let world = World::manual().unwrap();
    let pattern = json!({"jsonrpc": "2.0", "id": "", "error": {
        "name": "HANDLER_ERROR", "code": -32000, "message": "Server error", "data": "",
        "cause": {"name": "UNKNOWN_TRANSACTION", "info": {"requested_transaction_hash": ""}},
    }});
    let hash = world.sign(1, vec![]).get_hash();
    let answer = world.tx(hash, "NONE").unwrap();
    holds(&pattern, &answer.body, "").unwrap();
    assert_eq!(answer.body.pointer("/error/name"), Some(&json!("HANDLER_ERROR")));
    let text = format!("Transaction {hash} doesn't exist");
    assert_eq!(answer.body.pointer("/error/data"), Some(&json!(text)));
}
