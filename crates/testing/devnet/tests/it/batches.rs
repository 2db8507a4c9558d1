//! A batch is all or nothing, and its error names the action.

use crate::client::{SUPPLY, World, call, transfer};
use devnet::Outcome;
use serde_json::{Value, json};

fn failure(world: &World, hash: devnet::near::near_primitives::hash::CryptoHash) -> Outcome<Value> {
    let tx = world.tx(hash, "FINAL")?;
    let found = tx.body.pointer("/result/status/Failure/ActionError").cloned();
    found.ok_or_else(|| tx.body.to_string())
}

/// Turns red if the actions before the failing one keep their effects, or the index is another's.
#[test]
fn one_unregistered_receiver_undoes_the_batch() {
    let world = World::manual().unwrap();
    let nonce = world.next_nonce().unwrap();
    let signed =
        world.transfers(&["alice.devnet", "bob.devnet", "dave.devnet", "carol.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let error = failure(&world, signed.get_hash()).unwrap();
    assert_eq!(
        error,
        json!({
            "index": 2,
            "kind": {"FunctionCallError": {"ExecutionError":
                "Smart contract panicked: The account dave.devnet is not registered"}},
        })
    );
    for account in ["alice.devnet", "bob.devnet", "carol.devnet"] {
        assert_eq!(world.balance(account).unwrap(), 0, "{account}");
    }
    assert_eq!(world.balance("relay.devnet").unwrap(), SUPPLY);
    assert_eq!(world.next_nonce().unwrap(), nonce + 1, "the nonce is consumed all the same");
}

/// Turns red if an oracle counts the logs of a failed receipt, which a node shows like any others.
#[test]
fn the_logs_of_a_failed_batch_are_shown_and_are_no_events() {
    let world = World::manual().unwrap();
    let signed = world.transfers(&["alice.devnet", "dave.devnet"]).unwrap();
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let tx = world.tx(signed.get_hash(), "FINAL").unwrap();
    let logs = tx.body.pointer("/result/receipts_outcome/0/outcome/logs").cloned();
    let logs = logs.unwrap_or_default();
    let first = logs.get(0).and_then(Value::as_str).unwrap_or_default();
    assert!(first.starts_with("EVENT_JSON:"), "{logs}");
    let transfers = world.devnet.events(&world.token);
    assert!(transfers.iter().all(|event| event.from.is_none()), "{transfers:?}");
}

/// Turns red if deposits of a failed batch are kept by the contract, or money appears or vanishes.
#[test]
fn deposits_come_back_and_no_near_is_lost() {
    let world = World::manual().unwrap();
    let (held, burnt) = world.devnet.money();
    let token_before = world.devnet.near_balance(&world.token);
    for to in [&["alice.devnet", "dave.devnet"][..], &["alice.devnet", "bob.devnet"]] {
        world.devnet.submit(world.transfers(to).unwrap());
        world.devnet.settle();
    }
    let token_after = world.devnet.near_balance(&world.token);
    let two_yocto = token_before.map(|before| before + 2);
    assert_eq!(token_after, two_yocto, "only the batch that succeeded");
    let (held_after, burnt_after) = world.devnet.money();
    assert_eq!(held + burnt, held_after + burnt_after);
    assert!(burnt_after > burnt);
}

/// Turns red if a batch of a hundred does not fit, or one of a hundred and one does.
#[test]
fn a_hundred_actions_are_the_limit() {
    let world = World::manual().unwrap();
    let hundred = vec![transfer("alice.devnet", 1, Some("01ARZ3NDEKTSV4RRFFQ69G5FAV")); 100];
    let signed = world.sign(world.next_nonce().unwrap(), hundred);
    assert_eq!(signed.transaction.actions().len(), 100);
    world.devnet.submit(signed);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 100);

    let more = vec![transfer("alice.devnet", 1, None); 101];
    let answer = world.send(&world.sign(world.next_nonce().unwrap(), more), "INCLUDED").unwrap();
    let found =
        answer.body.pointer("/error/data/TxExecutionError/InvalidTxError/ActionsValidation");
    let expected = json!({"TotalNumberOfActionsExceeded":
        {"total_number_of_actions": 101, "limit": 100}});
    assert_eq!(found, Some(&expected), "{}", answer.body);
}

/// Turns red if the limit of prepaid gas is not one PGas, or equality is refused.
#[test]
fn prepaid_gas_has_a_limit() {
    let world = World::manual().unwrap();
    let args = json!({"receiver_id": "alice.devnet", "amount": "1"});
    let most = call("ft_transfer", &args, 1_000_000_000_000_000, 1);
    world.devnet.submit(world.sign(world.next_nonce().unwrap(), vec![most]));
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);

    let over = call("ft_transfer", &args, 1_000_000_000_000_001, 1);
    let answer =
        world.send(&world.sign(world.next_nonce().unwrap(), vec![over]), "INCLUDED").unwrap();
    let found = answer.body.pointer(
        "/error/data/TxExecutionError/InvalidTxError/ActionsValidation/TotalPrepaidGasExceeded",
    );
    assert!(found.is_some(), "{}", answer.body);
}

/// Turns red if a call runs on gas that it was not given.
#[test]
fn too_little_gas_fails_the_call_and_burns_it() {
    let world = World::manual().unwrap();
    let args = json!({"receiver_id": "alice.devnet", "amount": "1"});
    let signed = world
        .sign(world.next_nonce().unwrap(), vec![call("ft_transfer", &args, 300_000_000_000, 1)]);
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let error = failure(&world, signed.get_hash()).unwrap();
    let text = error.pointer("/kind/FunctionCallError/ExecutionError");
    assert_eq!(text, Some(&json!("Exceeded the prepaid gas.")));
    assert_eq!(world.balance("alice.devnet").unwrap(), 0);
}
