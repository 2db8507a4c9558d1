//! What a node says of a transaction, from the pool to the last final block.

use crate::client::{World, base64, error, raw};
use devnet::Outcome;
use serde_json::{Value, json};

fn status(world: &World, hash: devnet::near::near_primitives::hash::CryptoHash) -> Outcome<String> {
    let tx = world.tx(hash, "NONE")?;
    let found = tx.body.pointer("/result/final_execution_status").and_then(Value::as_str);
    let unknown = tx.body.pointer("/error/cause/name").and_then(Value::as_str);
    Ok(found.or(unknown).unwrap_or_default().to_owned())
}

/// Turns red if something is called final before its block, and the blocks of all its receipts, are.
#[test]
fn a_transaction_becomes_final_step_by_step() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let hash = signed.get_hash();
    world.send(&signed, "NONE").unwrap();
    let mut seen = vec![status(&world, hash).unwrap()];
    for _ in 0..5 {
        world.devnet.advance(1);
        seen.push(status(&world, hash).unwrap());
    }
    let expected =
        ["UNKNOWN_TRANSACTION", "INCLUDED", "EXECUTED_OPTIMISTIC", "EXECUTED", "EXECUTED", "FINAL"];
    assert_eq!(seen, expected);
    assert!(world.devnet.is_final(hash));
}

/// Turns red if a request that waits is answered early, or is not answered when the time has come.
#[test]
fn a_request_waits_for_what_it_asks() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.send(&signed, "NONE").unwrap();
    world.devnet.advance(2);
    let answer = world.tx(signed.get_hash(), "FINAL").unwrap();
    assert_eq!(answer.status, 408, "{}", answer.body);
    assert_eq!(answer.body.pointer("/error/cause/name"), Some(&json!("TIMEOUT_ERROR")));

    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.tx(signed.get_hash(), "FINAL"));
        std::thread::sleep(std::time::Duration::from_millis(50));
        world.devnet.advance(5);
        let answer = waiting.join().unwrap().unwrap();
        let status = answer.body.pointer("/result/final_execution_status");
        assert_eq!(status, Some(&json!("FINAL")), "{}", answer.body);
    });
}

/// Turns red if a view at `final` shows what is not final yet.
#[test]
fn a_final_view_is_behind_the_head() {
    let world = World::manual().unwrap();
    world.devnet.submit(world.transfers(&["alice.devnet"]).unwrap());
    world.devnet.advance(2);
    let balance = |finality: &str| {
        let args = r#"{"account_id":"alice.devnet"}"#;
        let params = json!({
            "request_type": "call_function", "finality": finality, "account_id": world.token,
            "method_name": "ft_balance_of", "args_base64": encode(args),
        });
        let answer = raw(&world.url, "query", &params).unwrap();
        let bytes: Vec<u8> = serde_json::from_value(
            answer.body.pointer("/result/result").cloned().unwrap_or_default(),
        )
        .map_err(|error| format!("{error}: {}", answer.body))
        .unwrap();
        String::from_utf8(bytes).map_err(|error| error.to_string())
    };
    assert_eq!(balance("optimistic").unwrap(), "\"1\"");
    assert_eq!(balance("final").unwrap(), "\"0\"");
    world.devnet.advance(2);
    assert_eq!(balance("final").unwrap(), "\"1\"");
}

/// Turns red if a transaction's bytes are not tried when no block holds them.
#[test]
fn a_status_by_bytes_is_a_dry_run() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap();
    let old = world.sign(nonce - 1, vec![crate::client::transfer("alice.devnet", 1, None)]);
    let params = json!({"signed_tx_base64": base64(&old).unwrap(), "wait_until": "NONE"});
    let (name, data) = error(&world.url, "tx", &params).unwrap();
    assert_eq!(name, "INVALID_TRANSACTION");
    assert!(data.pointer("/TxExecutionError/InvalidTxError/InvalidNonce").is_some(), "{data}");
}

fn encode(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}
