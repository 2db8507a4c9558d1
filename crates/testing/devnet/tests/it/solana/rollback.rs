//! Blocks that are taken back: what was confirmed is gone, what was final never is.

use super::world::{SUPPLY, World, history, refused, signature, status, transaction};
use crate::client::{http, raw};
use serde_json::{Value, json};
use solana_rpc_client_types::config::CommitmentLevel;

/// A deposit in a confirmed block that loses. Turns red if any trace of it is left: its status, the history of the vault's
/// account, the balance, or the slot.
#[test]
fn a_confirmed_block_is_taken_back() {
    let world = World::manual();
    let deposit = world.deposited(5, &["nexus:gone"]);
    world.devnet.advance(3);
    assert_eq!(status(&world.url, &deposit)["confirmationStatus"], json!("confirmed"));
    let slot = status(&world.url, &deposit)["slot"].as_u64().unwrap();
    let taken = world.devnet.roll_back(4, false).unwrap();
    assert_eq!(taken, [deposit]);
    assert_eq!(status(&world.url, &deposit), Value::Null);
    assert_eq!(transaction(&world.url, &deposit, "confirmed"), Value::Null);
    let confirmed = history(&world.url, &world.account, &json!({"commitment": "confirmed"}));
    assert!(!confirmed.contains(&deposit.to_string()));
    assert_eq!(world.devnet.balance(&world.account), SUPPLY);
    world.devnet.advance(40);
    let skipped = raw(&world.url, "getBlockTime", &json!([slot])).unwrap();
    assert_eq!(refused(&skipped).0, -32007, "the slot stays without a block");
    assert!(world.devnet.movements(&world.account).iter().all(|moved| moved.signature != deposit));
}

/// Turns red if the deposit cannot land again, in another slot, or lands twice.
#[test]
fn what_was_taken_back_may_land_again() {
    let world = World::manual();
    let deposit = world.deposited(5, &[]);
    let slot = status(&world.url, &deposit)["slot"].as_u64().unwrap();
    world.devnet.advance(2);
    world.devnet.roll_back(3, true).unwrap();
    assert_eq!(world.devnet.pooled(), 1);
    world.devnet.settle();
    assert!(status(&world.url, &deposit)["slot"].as_u64().unwrap() > slot);
    assert_eq!(world.devnet.balance(&world.account), SUPPLY + 5);
    let movements = world.devnet.movements(&world.account);
    assert_eq!(movements.iter().filter(|moved| moved.signature == deposit).count(), 1);
}

/// Turns red if a final block is taken back, or if the last final slot ever goes back.
#[test]
fn a_final_block_is_never_taken_back() {
    let world = World::manual();
    let deposit = world.deposited(5, &[]);
    world.devnet.advance(31);
    let last_final = world.devnet.slot(CommitmentLevel::Finalized);
    assert!(world.devnet.roll_back(32, false).is_err());
    world.devnet.roll_back(31, false).unwrap();
    assert_eq!(world.devnet.slot(CommitmentLevel::Finalized), last_final);
    assert_eq!(status(&world.url, &deposit)["confirmationStatus"], json!("finalized"));
    world.devnet.advance(1);
    assert_eq!(world.devnet.slot(CommitmentLevel::Finalized), last_final);
    world.devnet.advance(40);
    assert!(world.devnet.slot(CommitmentLevel::Finalized) > last_final);
    assert_eq!(world.devnet.balance(&world.account), SUPPLY + 5);
}

/// Turns red if the nonce that a lost block spent stays spent, or if a hash of that block is valid on the other fork.
#[test]
fn a_lost_block_gives_its_nonces_back() {
    let world = World::manual();
    let lock = world.lock();
    let paid = world.payout(lock, 9);
    world.send(&paid, false).unwrap();
    world.devnet.advance(2);
    let lost = world.devnet.blockhash();
    assert_ne!(world.lock(), lock);
    world.devnet.roll_back(2, false).unwrap();
    assert_eq!(world.lock(), lock);
    // the height of the lost block is reached again
    world.devnet.advance(4);
    let pays = world.devnet.payment(&world.vault, &world.alices, 1).unwrap();
    let dead = devnet::solana::sign_message(&[pays], &[&world.vault], lost).unwrap();
    assert_eq!(refused(&world.send(&dead, false).unwrap()).0, -32002);
    world.send(&paid, false).unwrap();
    world.devnet.settle();
    assert_eq!(world.devnet.result(&signature(&paid)), Some(Ok(())));
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 9);
}

/// Turns red if the route does nothing, or hides that a block is final.
#[test]
fn blocks_are_taken_back_over_http() {
    let world = World::manual();
    let deposit = world.deposited(5, &[]);
    let taken = http(&world.url, "POST", "/devnet/rollback", r#"{"blocks":1}"#).unwrap();
    assert_eq!(taken.body, json!({"taken_back": [deposit.to_string()]}));
    let refused = http(&world.url, "POST", "/devnet/rollback", r#"{"blocks":100}"#).unwrap();
    assert_eq!(refused.status, 400);
    assert!(refused.body["error"].as_str().unwrap().contains("is final"));
}
