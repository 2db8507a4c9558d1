//! Durable nonces: what spends one, and what does not.

use super::world::{SUPPLY, World, refused, signature};
use devnet::solana::{Hash, MEMO_PROGRAM, Wallet, sign_message};
use serde_json::json;
use solana_instruction::Instruction;
use solana_nonce::state::DurableNonce;
use solana_system_interface::instruction::{
    advance_nonce_account, authorize_nonce_account, transfer,
};
use solana_transaction_error::TransactionError;

const FEE: u64 = devnet::solana::FEE;

/// The lock that follows where this is the newest blockhash.
fn next(blockhash: Hash) -> Hash {
    *DurableNonce::from_blockhash(&blockhash).as_hash()
}

/// Turns red if the value does not follow from the blockhash of the block below, as on the network.
#[test]
fn a_spent_nonce_is_made_of_the_newest_blockhash() {
    let world = World::manual();
    let (lock, newest) = (world.lock(), world.devnet.blockhash());
    let paid = world.payout(lock, 1);
    assert!(world.send(&paid, false).unwrap().body.get("result").is_some());
    world.devnet.advance(1);
    assert_eq!(world.devnet.result(&signature(&paid)), Some(Ok(())));
    assert_eq!(world.lock(), next(newest));
    assert_ne!(world.lock(), lock);
}

/// No LiteSVM does this. Turns red if a failed transaction leaves its nonce, or keeps any other effect.
#[test]
fn a_failed_transaction_spends_its_nonce() {
    let world = World::manual();
    let lock = world.lock();
    let before = world.devnet.lamports(&world.vault.address());
    let first = world.devnet.payment(&world.vault, &world.alices, 5).unwrap();
    let too_much = world.devnet.payment(&world.vault, &world.alices, SUPPLY).unwrap();
    let failing = world.form(lock, &[first, too_much]);
    let sent = world.send(&failing, false).unwrap();
    let words =
        "Transaction simulation failed: Error processing Instruction 2: custom program error: 0x1";
    assert_eq!(refused(&sent), (-32002, words.to_owned()));
    assert_eq!(
        sent.body.pointer("/error/data/err"),
        Some(&json!({"InstructionError": [2, {"Custom": 1}]}))
    );
    world.devnet.advance(1);
    assert_eq!(world.lock(), lock, "a preflight changes nothing");

    let newest = world.devnet.blockhash();
    world.send(&failing, true).unwrap();
    world.devnet.advance(1);
    assert!(matches!(world.devnet.result(&signature(&failing)), Some(Err(_))));
    assert_eq!(world.lock(), next(newest), "spent all the same");
    assert_eq!(world.devnet.lamports(&world.vault.address()), before - FEE, "the fee alone");
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY);

    let sibling = world.payout(lock, 1);
    world.send(&sibling, true).unwrap();
    world.devnet.settle();
    assert_eq!(world.devnet.result(&signature(&sibling)), None, "a spent lock pays no more");
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY);
}

/// Nothing of it is executed, and yet it is in a block. Turns red if it is dropped as if it had never been sent.
#[test]
fn a_missing_program_costs_fee_and_nonce() {
    let world = World::manual();
    let lock = world.lock();
    let before = world.devnet.lamports(&world.vault.address());
    let nowhere = Wallet::derived("no program").address();
    let failing = world.form(lock, &[Instruction::new_with_bytes(nowhere, &[], vec![])]);
    world.send(&failing, true).unwrap();
    world.devnet.advance(1);
    let missing = Some(Err(TransactionError::ProgramAccountNotFound));
    assert_eq!(world.devnet.result(&signature(&failing)), missing);
    assert_ne!(world.lock(), lock);
    assert_eq!(world.devnet.lamports(&world.vault.address()), before - FEE);
}

/// As a node answers: the age is judged before the history. Turns red if the bytes pay again, or if a preflight calls
/// them processed.
#[test]
fn identical_bytes_do_nothing_again() {
    let world = World::manual();
    let paid = world.payout(world.lock(), 7);
    world.send(&paid, false).unwrap();
    world.devnet.advance(1);
    let after = world.devnet.lamports(&world.vault.address());
    let again = refused(&world.send(&paid, false).unwrap());
    assert_eq!(again, (-32002, "Transaction simulation failed: Blockhash not found".to_owned()));
    let silent = world.send(&paid, true).unwrap();
    assert_eq!(silent.body.get("result"), Some(&json!(signature(&paid).to_string())));
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 7);
    assert_eq!(world.devnet.lamports(&world.vault.address()), after, "and cost nothing");
}

/// Turns red if two forms under one lock both land, whichever came first.
#[test]
fn of_two_transactions_under_one_nonce_one_lands() {
    let world = World::manual();
    let lock = world.lock();
    let (one, two) = (world.payout(lock, 3), world.payout(lock, 4));
    world.send(&one, false).unwrap();
    world.send(&two, false).unwrap();
    world.devnet.settle();
    assert_eq!(world.devnet.result(&signature(&one)), Some(Ok(())));
    assert_eq!(world.devnet.result(&signature(&two)), None);
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 3);
}

/// Turns red if a nonce advances twice under one blockhash: then the value of the second would be the first's.
#[test]
fn a_nonce_advances_once_a_block() {
    let world = World::manual();
    let first = world.payout(world.lock(), 1);
    let then = world.payout(next(world.devnet.blockhash()), 2);
    world.devnet.submit(first);
    world.devnet.submit(then.clone());
    world.devnet.advance(1);
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 1);
    assert_eq!(world.devnet.pooled(), 1, "it waits for the next blockhash");
    world.devnet.advance(1);
    assert_eq!(world.devnet.result(&signature(&then)), Some(Ok(())));
}

/// Turns red if a form expires, which a durable nonce is there to prevent.
#[test]
fn a_form_lands_long_after_it_was_signed() {
    let world = World::manual();
    let paid = world.payout(world.lock(), 1);
    world.devnet.advance(400);
    assert!(world.send(&paid, false).unwrap().body.get("result").is_some());
    world.devnet.advance(1);
    assert_eq!(world.devnet.result(&signature(&paid)), Some(Ok(())));
}

/// The void: turns red if a lock cannot be spent by the advance alone, or if a stranger can spend it.
#[test]
fn a_void_spends_the_lock_and_a_stranger_does_not() {
    let world = World::manual();
    let lock = world.lock();
    let alice = world.alice.address();
    let theft = advance_nonce_account(&world.lane, &alice);
    let stolen = sign_message(&[theft], &[&world.alice], lock).unwrap();
    world.devnet.submit(stolen.clone());
    world.devnet.advance(1);
    assert_eq!((world.devnet.result(&signature(&stolen)), world.lock()), (None, lock));
    let void = world.form(lock, &[]);
    world.send(&void, false).unwrap();
    world.devnet.advance(1);
    assert_eq!(world.devnet.result(&signature(&void)), Some(Ok(())));
    assert_ne!(world.lock(), lock);
}

/// A nonce counts in the first instruction alone. Turns red if an advance elsewhere, or another instruction about the
/// account in the first place, makes an old hash valid.
#[test]
fn an_advance_behind_another_instruction_is_no_durable_nonce() {
    let world = World::manual();
    let (vault, alice) = (world.vault.address(), world.alice.address());
    let advance = || advance_nonce_account(&world.lane, &vault);
    let moved = transfer(&vault, &alice, 1_000_000);
    let given = authorize_nonce_account(&world.lane, &vault, &alice);
    for first in [moved, given] {
        let both = sign_message(&[first, advance()], &[&world.vault], world.lock()).unwrap();
        assert_eq!(refused(&world.send(&both, false).unwrap()).0, -32002);
        world.devnet.submit(both.clone());
        world.devnet.advance(1);
        assert_eq!(world.devnet.result(&signature(&both)), None);
    }
}

/// Turns red if a memo that is not UTF-8, which the program refuses, fails without spending the lock.
#[test]
fn a_refused_memo_spends_the_lock_too() {
    let world = World::manual();
    let lock = world.lock();
    let memo = Instruction::new_with_bytes(MEMO_PROGRAM, &[0xff, 0xfe], vec![]);
    let failing = world.form(lock, &[memo]);
    world.send(&failing, true).unwrap();
    world.devnet.advance(1);
    assert!(matches!(world.devnet.result(&signature(&failing)), Some(Err(_))));
    assert_ne!(world.lock(), lock);
}
