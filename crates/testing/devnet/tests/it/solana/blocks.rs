//! Blocks, slots, the life of a blockhash, and commitment.

use super::world::{SUPPLY, World, refused, signature, status, transaction};
use crate::client::{raw, rpc};
use devnet::solana::{Hash, Options, WINDOW, sign_message};
use serde_json::{Value, json};
use solana_system_interface::instruction::transfer;
use solana_transaction::versioned::VersionedTransaction;

/// One lamport more for alice under this blockhash.
fn moved(world: &World, blockhash: Hash) -> VersionedTransaction {
    let alice = world.alice.address();
    sign_message(&[transfer(&world.vault.address(), &alice, 1)], &[&world.vault], blockhash)
        .unwrap()
}

/// Turns red if the window is a block too short or too long, for a preflight or for a block.
#[test]
fn a_blockhash_lives_for_150_blocks() {
    let world = World::manual();
    let latest =
        rpc(&world.url, "getLatestBlockhash", &json!([{"commitment": "processed"}])).unwrap();
    let blockhash: Hash = latest["value"]["blockhash"].as_str().unwrap().parse().unwrap();
    let last = latest["value"]["lastValidBlockHeight"].as_u64().unwrap();
    assert_eq!(last, world.devnet.height() + WINDOW);
    let on_time = moved(&world, blockhash);
    world.devnet.advance(WINDOW - 1);
    assert!(world.send(&on_time, false).unwrap().body.get("result").is_some());
    world.devnet.advance(1);
    assert_eq!(world.devnet.height(), last);
    assert_eq!(world.devnet.result(&signature(&on_time)), Some(Ok(())));
    let alice = world.alice.address();
    let late =
        sign_message(&[transfer(&world.vault.address(), &alice, 2)], &[&world.vault], blockhash);
    let late = late.unwrap();
    let answer = refused(&world.send(&late, false).unwrap());
    assert_eq!(answer, (-32002, "Transaction simulation failed: Blockhash not found".to_owned()));
    world.send(&late, true).unwrap();
    world.devnet.advance(2);
    assert_eq!(world.devnet.result(&signature(&late)), None);
    assert_eq!(world.devnet.pooled(), 0, "dropped without a trace");
}

/// Turns red if bytes under a living blockhash move money twice.
#[test]
fn a_known_signature_is_processed_once() {
    let world = World::manual();
    let once = moved(&world, world.devnet.blockhash());
    world.send(&once, false).unwrap();
    world.devnet.advance(1);
    let after = world.devnet.lamports(&world.alice.address());
    let answer = refused(&world.send(&once, false).unwrap());
    let words = "Transaction simulation failed: This transaction has already been processed";
    assert_eq!(answer, (-32002, words.to_owned()));
    world.send(&once, true).unwrap();
    world.devnet.advance(60);
    assert_eq!(world.devnet.lamports(&world.alice.address()), after);
}

/// Turns red if bytes of one chain are valid on another.
#[test]
fn chains_of_different_seeds_share_no_blockhash() {
    let world = World::manual();
    let other = World::new(Options { seed: 1, ..Options::manual() }).unwrap();
    assert_ne!(world.devnet.genesis_hash(), other.devnet.genesis_hash());
    let foreign = moved(&other, other.devnet.blockhash());
    assert_eq!(refused(&world.send(&foreign, false).unwrap()).0, -32002);
}

/// Turns red if a commitment shows a block before its time, or `confirmations` is a number once the block is final.
#[test]
fn a_transaction_becomes_final_step_by_step() {
    let world = World::manual();
    let deposit = world.deposited(5, &[]);
    let first = status(&world.url, &deposit);
    assert_eq!(
        (&first["confirmationStatus"], &first["confirmations"]),
        (&json!("processed"), &json!(0))
    );
    assert_eq!(transaction(&world.url, &deposit, "confirmed"), Value::Null);
    world.devnet.advance(1);
    let second = status(&world.url, &deposit);
    assert_eq!(
        (&second["confirmationStatus"], &second["confirmations"]),
        (&json!("confirmed"), &json!(1))
    );
    assert_ne!(transaction(&world.url, &deposit, "confirmed"), Value::Null);
    assert_eq!(transaction(&world.url, &deposit, "finalized"), Value::Null);
    world.devnet.advance(29);
    assert_eq!(status(&world.url, &deposit)["confirmationStatus"], json!("confirmed"));
    assert!(!world.devnet.is_final(&deposit));
    world.devnet.advance(1);
    let last = status(&world.url, &deposit);
    assert_eq!(
        (&last["confirmationStatus"], &last["confirmations"]),
        (&json!("finalized"), &Value::Null)
    );
    assert_ne!(transaction(&world.url, &deposit, "finalized"), Value::Null);
    assert!(world.devnet.is_final(&deposit));
}

/// Turns red if a balance at a commitment is that of the head.
#[test]
fn a_balance_is_that_of_its_commitment() {
    let world = World::manual();
    world.deposited(5, &[]);
    let balance = |commitment: &str| {
        let params = json!([world.account.to_string(), {"commitment": commitment}]);
        let answer = rpc(&world.url, "getTokenAccountBalance", &params).unwrap();
        answer["value"]["amount"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(balance("processed"), SUPPLY + 5);
    assert_eq!((balance("confirmed"), balance("finalized")), (SUPPLY, SUPPLY));
    world.devnet.advance(1);
    assert_eq!((balance("confirmed"), balance("finalized")), (SUPPLY + 5, SUPPLY));
    world.devnet.advance(30);
    assert_eq!(balance("finalized"), SUPPLY + 5);
}

/// Without a commitment a node looks at the last final block. Turns red if a preflight takes the head.
#[test]
fn a_preflight_without_commitment_is_on_the_final_block() {
    let world = World::manual();
    let fresh = moved(&world, world.devnet.blockhash());
    let params = json!([super::world::base64(&fresh), {"encoding": "base64"}]);
    assert_eq!(refused(&raw(&world.url, "sendTransaction", &params).unwrap()).0, -32002);
    world.devnet.advance(31);
    assert!(raw(&world.url, "sendTransaction", &params).unwrap().body.get("result").is_some());
}

/// Turns red if slot and height are one number: a client that confuses them must be seen.
#[test]
fn slots_and_heights_differ() {
    let world = World::manual();
    let ask = |method: &str, commitment: &str| {
        rpc(&world.url, method, &json!([{"commitment": commitment}])).unwrap().as_u64().unwrap()
    };
    assert_eq!(ask("getBlockHeight", "processed"), world.devnet.height());
    assert_eq!(ask("getBlockHeight", "finalized"), world.devnet.final_height());
    assert_eq!(ask("getSlot", "processed"), ask("getBlockHeight", "processed") + 200);
    let slot = ask("getSlot", "confirmed");
    let time = |slot: u64| raw(&world.url, "getBlockTime", &json!([slot])).unwrap();
    assert!(time(slot).body["result"].as_i64().unwrap() > 1_735_689_600);
    let future = (-32004, format!("Block not available for slot {}", slot + 50));
    assert_eq!(refused(&time(slot + 50)), future);
}

/// Turns red if blocks are made by request only, though a clock was asked for.
#[test]
fn blocks_are_produced_by_a_clock() {
    let interval = std::time::Duration::from_millis(5);
    let blocks = devnet::solana::Blocks::Every(interval);
    let world = World::new(Options { blocks, ..Options::manual() }).unwrap();
    world.devnet.pause_blocks(true);
    let still = world.devnet.height();
    std::thread::sleep(interval * 10);
    assert_eq!(world.devnet.height(), still);
    world.devnet.pause_blocks(false);
    // until it does, for a minute at most
    let grows = (0..12_000).any(|_| {
        std::thread::sleep(interval);
        world.devnet.height() > still
    });
    assert!(grows, "no block after {still}");
}
