//! The wire: what a node's own types read, and what a node was recorded to say.

use crate::client::{World, base64, raw, rpc};
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
fn holds(pattern: &Value, answer: &Value, path: &str) -> Outcome {
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

fn outcome() -> Value {
    json!({
        "proof": [], "block_hash": "", "id": "",
        "outcome": {
            "logs": [], "receipt_ids": [""], "gas_burnt": 0, "tokens_burnt": "",
            "executor_id": "", "metadata": {"version": 3, "gas_profile": []},
            "status": null,
        },
    })
}

/// The shape of a status as the network's documentation records it.
#[test]
fn a_status_is_as_recorded() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet", "dave.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let answer = world.tx(signed.get_hash(), "FINAL").unwrap();
    let pattern = json!({"jsonrpc": "2.0", "id": "", "result": {
        "final_execution_status": "FINAL",
        "status": {"Failure": {"ActionError": {"index": 1, "kind":
            {"FunctionCallError": {"ExecutionError": ""}}}}},
        "transaction": {
            "signer_id": "", "public_key": "", "nonce": 1, "receiver_id": "", "signature": "",
            "hash": "", "priority_fee": 0,
            "actions": [{"FunctionCall":
                {"method_name": "", "args": "", "gas": 1, "deposit": "1"}}],
        },
        "transaction_outcome": outcome(),
        "receipts_outcome": [outcome()],
    }});
    holds(&pattern, &answer.body, "").unwrap();
    let kind = answer.body.pointer("/result/transaction_outcome/outcome/status/SuccessReceiptId");
    assert!(kind.is_some_and(Value::is_string), "{}", answer.body);
}

#[test]
fn receipts_are_as_recorded() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let ask = json!([signed.get_hash(), "relay.devnet"]);
    let answer = rpc(&world.url, "EXPERIMENTAL_tx_status", &ask).unwrap();
    let pattern = json!({"receipts": [{
        "predecessor_id": "", "receiver_id": "", "receipt_id": "", "priority": 0,
        "receipt": {"Action": {
            "signer_id": "", "signer_public_key": "", "gas_price": "", "input_data_ids": [],
            "output_data_receivers": [], "actions": [{"FunctionCall": {"gas": 1}}],
            "is_promise_yield": false,
        }},
    }]});
    holds(&pattern, &answer, "").unwrap();
}

#[test]
fn blocks_chunks_and_configuration_are_as_recorded() {
    let world = World::new(Options { validity_period: 123, ..Options::manual() }).unwrap();
    let last = json!({"finality": "final"});
    let header = json!({
        "height": 1, "prev_height": 1, "hash": "", "prev_hash": "", "epoch_id": "",
        "next_epoch_id": "", "timestamp": 1, "timestamp_nanosec": "1", "gas_price": "",
        "last_final_block": "", "last_ds_final_block": "", "latest_protocol_version": 1,
        "total_supply": "", "chunk_mask": [true], "chunks_included": 1, "signature": "",
        "approvals": [], "validator_proposals": [], "rent_paid": "", "validator_reward": "",
        "random_value": "", "next_bp_hash": "", "block_merkle_root": "",
        "prev_state_root": "", "outcome_root": "", "chunk_headers_root": "", "chunk_tx_root": "",
        "chunk_receipts_root": "", "challenges_root": "", "challenges_result": [],
        "block_ordinal": 1, "epoch_sync_data_hash": null,
    });
    let chunk = json!({
        "chunk_hash": "", "prev_block_hash": "", "height_created": 1, "height_included": 1,
        "shard_id": 0, "gas_used": 1, "gas_limit": 1, "balance_burnt": "", "tx_root": "",
        "outgoing_receipts_root": "", "encoded_merkle_root": "", "encoded_length": 1,
        "signature": "", "outcome_root": "", "prev_state_root": "", "validator_proposals": [],
    });
    let block = json!({"author": "", "header": header, "chunks": [chunk]});
    holds(&block, &rpc(&world.url, "block", &last).unwrap(), "").unwrap();
    let answer = rpc(&world.url, "EXPERIMENTAL_protocol_config", &last).unwrap();
    let config = json!({
        "chain_id": "", "protocol_version": 1, "genesis_height": 1, "epoch_length": 1,
        "transaction_validity_period": 123, "min_gas_price": "", "gas_limit": 1,
        "runtime_config": {"storage_amount_per_byte": "", "wasm_config": {"limit_config": {
            "max_total_prepaid_gas": 1, "max_actions_per_receipt": 100,
            "max_total_log_length": 1, "max_transaction_size": 1,
        }}},
    });
    holds(&config, &answer, "").unwrap();
    let period = answer.get("transaction_validity_period");
    assert_eq!(period, Some(&json!(123)));
    let limits = answer.pointer("/runtime_config/wasm_config/limit_config");
    let prepaid = limits.and_then(|limits| limits.get("max_total_prepaid_gas"));
    assert_eq!(prepaid, Some(&json!(1_000_000_000_000_000_u64)));
    let status = json!({
        "chain_id": "", "protocol_version": 1, "genesis_hash": "", "sync_info": {
            "latest_block_height": 1, "latest_block_hash": "", "latest_block_time": "",
            "syncing": false,
        },
    });
    holds(&status, &rpc(&world.url, "status", &json!([])).unwrap(), "").unwrap();
}

#[test]
fn errors_are_as_recorded() {
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
