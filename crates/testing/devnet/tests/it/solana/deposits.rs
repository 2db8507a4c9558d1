//! Deposits as a watcher sees them: by the token program, by an inner instruction, in both versions of a transaction.

use super::world::{SUPPLY, World, signature, transaction};
use devnet::solana::{
    Address, MEMO_PROGRAM, OLD_MEMO_PROGRAM, TOKEN_PROGRAM, sign_message, sign_versioned,
};
use serde_json::{Value, json};
use solana_address_lookup_table_interface::instruction::{
    create_lookup_table, extend_lookup_table,
};
use solana_instruction::Instruction;
use solana_message::{AddressLookupTableAccount, VersionedMessage, v0};
use spl_associated_token_account_interface::{
    address::get_associated_token_address,
    instruction::{create_associated_token_account, recover_nested},
};

/// Balance of a token account before and after, by the index of its key.
fn balances(shown: &Value, account: &Address) -> (u64, u64) {
    let keys = shown["transaction"]["message"]["accountKeys"].as_array().unwrap().iter();
    let loaded = &shown["meta"]["loadedAddresses"];
    let loaded = ["writable", "readonly"].iter().flat_map(|kind| loaded[kind].as_array().unwrap());
    let account = json!(account.to_string());
    let index = keys.chain(loaded).position(|key| *key == account).unwrap();
    let amount = |field: &str| {
        let list = shown["meta"][field].as_array().unwrap().iter();
        let mut own = list.filter(|entry| entry["accountIndex"] == json!(index));
        let entry = own.next().unwrap();
        assert_eq!(entry["programId"], json!(TOKEN_PROGRAM.to_string()));
        entry["uiTokenAmount"]["amount"].as_str().unwrap().parse().unwrap()
    };
    (amount("preTokenBalances"), amount("postTokenBalances"))
}

/// Turns red if the real program moves nothing, or if the node shows other balances than it moved.
#[test]
fn a_checked_transfer_with_a_memo() {
    let world = World::manual();
    let deposit = world.deposited(25, &["nexus:8Bk5"]);
    world.devnet.settle();
    let shown = transaction(&world.url, &deposit, "finalized");
    assert_eq!(balances(&shown, &world.account), (SUPPLY, SUPPLY + 25));
    assert_eq!(balances(&shown, &world.alices), (SUPPLY, SUPPLY - 25));
    assert_eq!((&shown["meta"]["err"], &shown["version"]), (&Value::Null, &json!("legacy")));
    assert_eq!(shown["meta"]["fee"], json!(5_000));
    let moved = world.devnet.movements(&world.account).pop().unwrap();
    assert_eq!(
        (moved.before, moved.after, moved.memos),
        (SUPPLY, SUPPLY + 25, vec!["nexus:8Bk5".to_owned()])
    );
}

/// Two deposits in one transaction, with memos of both programs. Turns red if one hides the other.
#[test]
fn two_transfers_and_two_memos_in_one_transaction() {
    let world = World::manual();
    let pays = |amount| world.devnet.payment(&world.alice, &world.account, amount).unwrap();
    let memo = |program, text: &str| Instruction::new_with_bytes(program, text.as_bytes(), vec![]);
    let all = [pays(1), memo(OLD_MEMO_PROGRAM, "one"), pays(2), memo(MEMO_PROGRAM, "zwei")];
    world.devnet.run(&all, &[&world.alice]).unwrap();
    world.devnet.settle();
    let moved = world.devnet.movements(&world.account).pop().unwrap();
    assert_eq!((moved.before, moved.after), (SUPPLY, SUPPLY + 3));
    assert_eq!(moved.memos, ["one", "zwei"]);
    let page = json!([world.account.to_string(), {"limit": 1}]);
    let page = crate::client::rpc(&world.url, "getSignaturesForAddress", &page).unwrap();
    assert_eq!(page[0]["memo"], json!("[3] one; [4] zwei"));
}

/// The associated-token-account program pays by a call of its own. Turns red if such a deposit has no inner instruction,
/// or moves nothing.
#[test]
fn a_deposit_by_an_inner_instruction() {
    let world = World::manual();
    let (vault, mint) = (world.vault.address(), world.mint);
    let nested = get_associated_token_address(&world.account, &mint);
    let create = create_associated_token_account(&vault, &world.account, &mint, &TOKEN_PROGRAM);
    let pays = world.devnet.payment(&world.alice, &nested, 40).unwrap();
    world.devnet.run(&[create, pays], &[&world.vault, &world.alice]).unwrap();
    let recover = recover_nested(&vault, &mint, &mint, &TOKEN_PROGRAM);
    let blockhash = world.devnet.blockhash();
    let recovered = sign_message(&[recover], &[&world.vault], blockhash).unwrap();
    let id = signature(&recovered);
    world.devnet.submit(recovered);
    world.devnet.settle();
    let shown = transaction(&world.url, &id, "finalized");
    assert_eq!(balances(&shown, &world.account), (SUPPLY, SUPPLY + 40), "{shown}");
    let inner = &shown["meta"]["innerInstructions"][0];
    assert_eq!(inner["index"], json!(0));
    let calls = inner["instructions"].as_array().unwrap();
    // TransferChecked is instruction 12 of the token program
    let transfers = calls.iter().filter(|call| {
        let data = bs58::decode(call["data"].as_str().unwrap()).into_vec().unwrap();
        assert_eq!(call["stackHeight"], json!(2));
        data.first() == Some(&12)
    });
    assert_eq!(transfers.count(), 1);
}

/// Turns red if a transaction of version 0 is shown without the addresses that it loads, or moves nothing.
#[test]
fn a_deposit_whose_accounts_come_from_a_lookup_table() {
    let world = World::manual();
    let alice = world.alice.address();
    let (create, table) = create_lookup_table(alice, alice, 0);
    let addresses = vec![world.account, world.mint];
    let extend = extend_lookup_table(table, alice, Some(alice), addresses.clone());
    world.devnet.run(&[create, extend], &[&world.alice]).unwrap();
    world.devnet.advance(1);
    let pays = world.devnet.payment(&world.alice, &world.account, 6).unwrap();
    let tables = [AddressLookupTableAccount { key: table, addresses }];
    let message = v0::Message::try_compile(&alice, &[pays], &tables, world.devnet.blockhash());
    let signed = sign_versioned(VersionedMessage::V0(message.unwrap()), &[&world.alice]).unwrap();
    let id = signature(&signed);
    assert!(world.send(&signed, false).unwrap().body.get("result").is_some());
    world.devnet.settle();
    let shown = transaction(&world.url, &id, "finalized");
    assert_eq!(shown["version"], json!(0));
    assert_eq!(shown["meta"]["loadedAddresses"]["writable"], json!([world.account.to_string()]));
    assert_eq!(balances(&shown, &world.account), (SUPPLY, SUPPLY + 6));
    let history = super::world::history(&world.url, &world.account, &json!({"limit": 1}));
    assert_eq!(history, [id.to_string()]);
    // a client that does not name the version is refused, not served half of it
    let answer =
        crate::client::raw(&world.url, "getTransaction", &json!([id.to_string()])).unwrap();
    assert_eq!(super::world::refused(&answer).0, -32015);
}

/// A receiver that the issuer froze. Turns red if the real program pays it.
#[test]
fn a_frozen_account_takes_no_payment() {
    let world = World::manual();
    world.devnet.freeze(&world.alices, true).unwrap();
    let lock = world.lock();
    let paid = world.payout(lock, 1);
    world.send(&paid, true).unwrap();
    world.devnet.settle();
    assert!(matches!(world.devnet.result(&signature(&paid)), Some(Err(_))));
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY);
    world.devnet.freeze(&world.alices, false).unwrap();
    world.send(&world.payout(world.lock(), 1), false).unwrap();
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 1);
}
