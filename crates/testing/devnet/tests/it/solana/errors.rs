//! Errors by the codes and words of a node, and methods that this chain does not have.

use super::world::{World, base64, refused};
use crate::client::raw;
use base64::{Engine, engine::general_purpose::STANDARD};
use devnet::solana::Signature;
use serde_json::{Value, json};

/// Turns red if a method is answered that no adapter of ours calls, or is refused under another code.
#[test]
fn other_methods_are_not_found() {
    let world = World::manual();
    for method in
        ["simulateTransaction", "getBlock", "getFeeForMessage", "requestAirdrop", "", "getslot"]
    {
        let answer = raw(&world.url, method, &json!([])).unwrap();
        assert_eq!(refused(&answer), (-32601, "Method not found".to_owned()), "{method}");
    }
}

/// Turns red if a parameter that a node refuses is taken for another.
#[test]
fn wrong_parameters_are_refused() {
    let world = World::manual();
    let account = world.account.to_string();
    let signatures: Vec<String> = (0..257).map(|_| Signature::from([1; 64]).to_string()).collect();
    let cases: [(&str, Value, i64, &str); 14] = [
        ("getBalance", json!([]), -32602, "`params` should have at least 1 argument(s)"),
        ("getBalance", json!(["nonsense"]), -32602, "Invalid param: "),
        ("getBalance", json!({"address": account}), -32602, "`params` should be an array"),
        (
            "getSignaturesForAddress",
            json!([account, {"limit": 1001}]),
            -32602,
            "Invalid limit; max 1000",
        ),
        (
            "getSignaturesForAddress",
            json!([account, {"limit": 0}]),
            -32602,
            "Invalid limit; max 1000",
        ),
        ("getSignaturesForAddress", json!([account, {"until": "x"}]), -32602, "Invalid param: "),
        ("getSignatureStatuses", json!([signatures]), -32602, "Too many inputs provided; max 256"),
        ("getTransaction", json!(["x"]), -32602, "Invalid param: "),
        (
            "getTokenAccountBalance",
            json!([world.lane.to_string()]),
            -32602,
            "Invalid param: not a Token account",
        ),
        (
            "getTokenAccountBalance",
            json!([Signature::from([1; 64]).to_string()]),
            -32602,
            "Invalid param: ",
        ),
        (
            "getAccountInfo",
            json!([account, {"encoding": "base58"}]),
            -32600,
            "Encoded binary (base 58)",
        ),
        (
            "sendTransaction",
            json!(["!", {"encoding": "base64"}]),
            -32602,
            "invalid base64 encoding: ",
        ),
        (
            "sendTransaction",
            json!(["AAAA", {"encoding": "base64"}]),
            -32602,
            "failed to deserialize solana_transaction",
        ),
        (
            "sendTransaction",
            json!(["A".repeat(1_645), {"encoding": "base64"}]),
            -32602,
            "base64 encoded solana_transaction",
        ),
    ];
    for (method, params, code, words) in cases {
        let answer = refused(&raw(&world.url, method, &params).unwrap());
        assert_eq!(answer.0, code, "{method}: {answer:?}");
        assert!(answer.1.starts_with(words), "{method}: {answer:?}");
    }
    let missing = devnet::solana::Wallet::derived("no account").address().to_string();
    let answer = raw(&world.url, "getTokenAccountBalance", &json!([missing])).unwrap();
    assert_eq!(refused(&answer), (-32602, "Invalid param: could not find account".to_owned()));
}

/// Turns red if forged bytes pass a preflight, or enter a block without one.
#[test]
fn a_forged_signature_is_refused_or_dropped() {
    let world = World::manual();
    let mut forged = world.payout(world.lock(), 1);
    forged.signatures = vec![Signature::from([3; 64])];
    let answer = refused(&world.send(&forged, false).unwrap());
    assert_eq!(answer, (-32003, "Transaction signature verification failure".to_owned()));
    world.send(&forged, true).unwrap();
    world.devnet.advance(2);
    assert_eq!(world.devnet.result(&Signature::from([3; 64])), None);
    assert_eq!(world.devnet.pooled(), 0);
}

/// The default encoding of a send is base 58. Turns red if it is read as base 64.
#[test]
fn a_transaction_is_sent_in_base58() {
    let world = World::manual();
    let paid = world.payout(world.lock(), 1);
    let text = bs58::encode(bincode::serialize(&paid).unwrap()).into_string();
    let params = json!([text, {"preflightCommitment": "processed"}]);
    assert!(raw(&world.url, "sendTransaction", &params).unwrap().body.get("result").is_some());
    let params = json!([base64(&paid), {"preflightCommitment": "processed"}]);
    assert_eq!(refused(&raw(&world.url, "sendTransaction", &params).unwrap()).0, -32602);
    assert_eq!(STANDARD.decode(base64(&paid)).unwrap(), bincode::serialize(&paid).unwrap());
}

/// Who cannot pay the fee is in no block. Turns red if the transaction is included, or the words are others.
#[test]
fn a_payer_without_lamports_is_refused() {
    let world = World::manual();
    let poor = devnet::solana::Wallet::derived("poor");
    let pays = solana_system_interface::instruction::transfer(&poor.address(), &world.lane, 1);
    let sent = devnet::solana::sign_message(&[pays], &[&poor], world.devnet.blockhash()).unwrap();
    let words = "Transaction simulation failed: Attempt to debit an account but found no record of a prior credit.";
    assert_eq!(refused(&world.send(&sent, false).unwrap()), (-32002, words.to_owned()));
    world.send(&sent, true).unwrap();
    world.devnet.advance(2);
    assert_eq!(world.devnet.result(&super::world::signature(&sent)), None);
}
