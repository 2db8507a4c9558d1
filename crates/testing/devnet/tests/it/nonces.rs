//! Nonces and validity: what lets a relay send again without paying twice.

use crate::client::{World, base64, error, transfer};
use devnet::near::{
    Options,
    near_primitives::{hash::CryptoHash, transaction::SignedTransaction},
};
use serde_json::{Value, json};

/// The error that this transaction is refused with.
fn invalid(world: &World, signed: &SignedTransaction) -> Value {
    let params = json!({"signed_tx_base64": base64(signed).unwrap(), "wait_until": "INCLUDED"});
    let (name, data) = error(&world.url, "send_tx", &params).unwrap();
    assert_eq!(name, "INVALID_TRANSACTION");
    data.pointer("/TxExecutionError/InvalidTxError").cloned().unwrap_or_default()
}

/// Turns red if a nonce may be used twice, or one above the height's limit.
#[test]
fn a_nonce_is_above_the_keys_and_below_the_heights() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap();
    let last = nonce.saturating_sub(1);
    let used = world.sign(last, vec![transfer("alice.devnet", 1, None)]);
    let found = invalid(&world, &used);
    assert_eq!(found, json!({"InvalidNonce": {"tx_nonce": last, "ak_nonce": last}}));

    let bound = (world.devnet.height() + 1) * 1_000_000;
    let high = world.sign(bound, vec![transfer("alice.devnet", 1, None)]);
    let found = invalid(&world, &high);
    assert_eq!(found, json!({"NonceTooLarge": {"tx_nonce": bound, "upper_bound": bound}}));

    let highest = world.sign(bound - 1, vec![transfer("alice.devnet", 1, None)]);
    assert_eq!(world.send(&highest, "NONE").unwrap().status, 200);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// Turns red if the nonce of a new key begins anywhere but at (height - 1) * 1,000,000.
#[test]
fn a_new_key_begins_above_every_old_nonce() {
    let world = World::manual().unwrap();
    let at = world.devnet.height();
    let keys = world.devnet.add_keys(&world.relay, 1).unwrap();
    let key = keys.first().unwrap();
    let nonce = world.devnet.nonce(&key.account, &key.public_key()).unwrap();
    assert_eq!(nonce % 1_000_000, 0);
    assert_eq!(nonce, at * 1_000_000, "the key was added in the block after {at}");
}

/// Turns red if a transaction that was refused consumes its nonce or its fee.
#[test]
fn a_refused_transaction_costs_nothing() {
    let world = World::manual().unwrap();
    let before = world.devnet.near_balance(&world.relay.account);
    let nonce = world.next_nonce().unwrap();
    let mut forged = world.sign(nonce, vec![transfer("alice.devnet", 1, None)]);
    forged.signature = world.relay.key.sign(b"something else");
    assert_eq!(invalid(&world, &forged), json!("InvalidSignature"));
    world.devnet.submit(forged);
    world.devnet.advance(3);
    assert_eq!(world.next_nonce().unwrap(), nonce);
    assert_eq!(world.devnet.near_balance(&world.relay.account), before);
}

/// Two transactions under one nonce: turns red if both are paid, which is what the same-nonce rule of a
/// relay rests on.
#[test]
fn of_two_transactions_under_one_nonce_one_is_paid() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap();
    let first = world.sign(nonce, vec![transfer("alice.devnet", 1, Some("first"))]);
    world.devnet.advance(1);
    let second = world.sign(nonce, vec![transfer("alice.devnet", 1, Some("second"))]);
    assert_ne!(first.get_hash(), second.get_hash());
    world.devnet.submit(first);
    world.devnet.submit(second);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// The same bytes again: turns red if they are executed twice, or if a node calls them invalid once they
/// are in a block.
#[test]
fn the_same_bytes_are_executed_once() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    for _ in 0..3 {
        assert_eq!(world.send(&signed, "NONE").unwrap().status, 200);
    }
    world.devnet.settle();
    let again = world.send(&signed, "FINAL").unwrap();
    let status = again.body.pointer("/result/final_execution_status");
    assert_eq!(status, Some(&json!("FINAL")), "{}", again.body);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// Turns red if expiry is counted in time, or if the limit is off by one.
#[test]
fn a_transaction_expires_by_blocks() {
    let world = World::new(Options { validity_period: 10, ..Options::manual() }).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let base = world.devnet.final_height();
    let may_wait = base + 10 - world.devnet.height();
    world.devnet.advance(may_wait);
    // The block after the head may still hold it: its predecessor is not beyond the period.
    world.send(&signed, "NONE").unwrap();
    assert_eq!(world.devnet.pooled(), 1);
    let late = world.transfers(&["bob.devnet"]).unwrap();
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);

    world.devnet.advance(10);
    assert_eq!(invalid(&world, &late), json!("Expired"));
    world.devnet.submit(late);
    world.devnet.settle();
    assert_eq!(world.balance("bob.devnet").unwrap(), 0);
}

/// `Expired` is also the answer to a base block that the node does not know: it proves nothing.
#[test]
fn an_unknown_base_block_counts_as_expired() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap();
    let elsewhere = CryptoHash::hash_bytes(b"a block of another chain");
    let actions = vec![transfer("alice.devnet", 1, None)];
    let signed = world.relay.sign(nonce, elsewhere, &world.token, actions);
    assert_eq!(invalid(&world, &signed), json!("Expired"));
}

/// Turns red if chains of different seeds share a block, so that old bytes are valid on the other.
#[test]
fn bytes_of_another_chain_are_not_valid() {
    let world = World::manual().unwrap();
    let other = World::new(Options { seed: 1, ..Options::manual() }).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    assert_eq!(world.relay.public_key(), other.relay.public_key());
    assert_eq!(invalid(&other, &signed), json!("Expired"));
}
