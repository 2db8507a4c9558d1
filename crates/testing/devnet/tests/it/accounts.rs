//! Accounts, keys and money of the chain itself.

use crate::client::{World, call, transfer};
use devnet::near::{
    Wallet,
    near_primitives::{
        account::{AccessKey, AccessKeyPermission, FunctionCallPermission},
        action::{Action, AddKeyAction, DeleteKeyAction, StakeAction, TransferAction},
        types::Balance,
    },
};
use serde_json::json;

/// A key that may only call cannot pay, since a token wants one yocto: turns red if it can.
#[test]
fn a_function_call_key_cannot_attach_a_deposit() {
    let world = World::manual().unwrap();
    let account = world.relay.account.clone();
    let limited = Wallet::derived(account.clone(), "limited");
    let permission = AccessKeyPermission::FunctionCall(FunctionCallPermission {
        allowance: None,
        receiver_id: world.token.to_string(),
        method_names: vec!["ft_transfer".to_owned()],
    });
    let add = AddKeyAction {
        public_key: limited.public_key(),
        access_key: AccessKey { nonce: 0, permission },
    };
    world.devnet.run(&world.relay, &account, vec![Action::AddKey(Box::new(add))]).unwrap();
    let nonce = world.devnet.nonce(&account, &limited.public_key()).unwrap() + 1;
    let sign = |actions| limited.sign(nonce, world.devnet.final_hash(), &world.token, actions);
    let cases = [
        (vec![transfer("alice.devnet", 1, None)], "DepositWithFunctionCall"),
        (vec![call("ft_transfer", &json!({}), 1, 0); 2], "RequiresFullAccess"),
    ];
    for (actions, expected) in cases {
        let answer = world.send(&sign(actions), "INCLUDED").unwrap();
        let found = answer
            .body
            .pointer("/error/data/TxExecutionError/InvalidTxError/InvalidAccessKeyError");
        assert_eq!(found, Some(&json!(expected)), "{}", answer.body);
    }
    let other = world.send(&sign(vec![call("mint", &json!({}), 1, 0)]), "INCLUDED").unwrap();
    let found = other.body.pointer(
        "/error/data/TxExecutionError/InvalidTxError/InvalidAccessKeyError/MethodNameMismatch",
    );
    assert!(found.is_some(), "{}", other.body);
}

/// Turns red if a deleted key still signs, or if adding it again revives what it signed before.
#[test]
fn a_deleted_key_is_dead_and_its_old_bytes_stay_dead() {
    let world = World::manual().unwrap();
    let account = world.relay.account.clone();
    let second = world.devnet.add_keys(&world.relay, 1).unwrap().pop().unwrap();
    let nonce = world.devnet.nonce(&account, &second.public_key()).unwrap();
    let actions = vec![transfer("alice.devnet", 1, None)];
    let old = second.sign(nonce + 1, world.devnet.final_hash(), &world.token, actions);
    let delete = DeleteKeyAction { public_key: second.public_key() };
    world.devnet.run(&world.relay, &account, vec![Action::DeleteKey(Box::new(delete))]).unwrap();
    assert_eq!(world.devnet.nonce(&account, &second.public_key()), None);
    let answer = world.send(&old, "INCLUDED").unwrap();
    let found = answer.body.pointer(
        "/error/data/TxExecutionError/InvalidTxError/InvalidAccessKeyError/AccessKeyNotFound",
    );
    assert!(found.is_some(), "{}", answer.body);

    world.devnet.add_keys(&world.relay, 1).unwrap();
    let answer = world.send(&old, "INCLUDED").unwrap();
    let found = answer.body.pointer("/error/data/TxExecutionError/InvalidTxError/InvalidNonce");
    assert!(found.is_some(), "{}", answer.body);
}

/// Prepaid gas is bought before it is burnt: turns red if an account can promise more than it has.
#[test]
fn prepaid_gas_is_bought_first() {
    let world = World::manual().unwrap();
    let poor = world.devnet.create_account("poor.devnet", 1).unwrap();
    let args = json!({"receiver_id": "alice.devnet", "amount": "1"});
    let nonce = world.devnet.nonce(&poor.account, &poor.public_key()).unwrap() + 1;
    let dear = call("ft_transfer", &args, 1_000_000_000_000_000, 1);
    let signed = poor.sign(nonce, world.devnet.final_hash(), &world.token, vec![dear]);
    let answer = world.send(&signed, "INCLUDED").unwrap();
    let pointer = "/error/data/TxExecutionError/InvalidTxError/NotEnoughBalance/signer_id";
    assert_eq!(answer.body.pointer(pointer), Some(&json!("poor.devnet")), "{}", answer.body);
}

/// Turns red if gas that was bought and not burnt is not given back to the signer.
#[test]
fn what_is_not_burnt_comes_back() {
    let world = World::manual().unwrap();
    let before = world.devnet.near_balance(&world.relay.account).unwrap();
    world.devnet.submit(world.transfers(&["alice.devnet"]).unwrap());
    world.devnet.settle();
    let after = world.devnet.near_balance(&world.relay.account).unwrap();
    let spent = before - after;
    // About 2.2 TGas at 1e8 yocto, where ten and more were bought at 1e9.
    assert!((100_000_000_000_000_000_000..400_000_000_000_000_000_000).contains(&spent), "{spent}");
}

/// Turns red if an action that this chain does not execute is let in.
#[test]
fn what_is_not_executed_is_refused() {
    let world = World::manual().unwrap();
    let stake =
        StakeAction { stake: Balance::from_yoctonear(1), public_key: world.relay.public_key() };
    let signed = world.sign(world.next_nonce().unwrap(), vec![Action::Stake(Box::new(stake))]);
    let answer = world.send(&signed, "INCLUDED").unwrap();
    let pointer = "/error/data/TxExecutionError/InvalidTxError/ActionsValidation/\
                   UnsupportedProtocolFeature/protocol_feature";
    assert_eq!(answer.body.pointer(pointer), Some(&json!("Stake")), "{}", answer.body);
}

/// Turns red if a transfer to an account that does not exist vanishes instead of coming back.
#[test]
fn money_for_a_missing_account_comes_back() {
    let world = World::manual().unwrap();
    let (held, burnt) = world.devnet.money();
    let missing = "missing.devnet".parse().unwrap();
    let gift = TransferAction { deposit: Balance::from_near(5) };
    let failed = world.devnet.run(&world.relay, &missing, vec![Action::Transfer(gift)]);
    assert!(failed.is_err_and(|error| error.contains("AccountDoesNotExist")));
    let (held_after, burnt_after) = world.devnet.money();
    assert_eq!(held + burnt, held_after + burnt_after);
}
