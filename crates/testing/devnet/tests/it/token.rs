//! The token: what its wasm does, and that its Rust form does the same.

use crate::client::{SUPPLY, World, call, transfer};
use devnet::{
    Outcome,
    near::{EventKind, near_primitives::views::FinalExecutionStatus},
};
use serde_json::{Value, json};

/// Turns red if a memo is lost, or an event names another amount or account.
#[test]
fn an_event_carries_the_memo() {
    let world = World::manual().unwrap();
    let memo = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let actions = vec![transfer("alice.devnet", 7, Some(memo)), transfer("bob.devnet", 8, None)];
    world.devnet.submit(world.sign(world.next_nonce().unwrap(), actions));
    world.devnet.settle();
    let events = world.devnet.events(&world.token);
    let [minted, first, second] = &events[..] else { panic!("{events:?}") };
    assert_eq!((minted.kind, minted.amount), (EventKind::Mint, SUPPLY));
    assert_eq!(first.kind, EventKind::Transfer);
    assert_eq!(first.from.as_ref(), Some(&world.relay.account));
    assert_eq!(first.to.as_ref().map(|to| to.as_str()), Some("alice.devnet"));
    assert_eq!((first.amount, first.memo.as_deref()), (7, Some(memo)));
    assert_eq!((second.amount, second.memo.as_deref()), (8, None));
}

/// Registering twice succeeds and gives the deposit back: turns red if it fails or keeps the money.
#[test]
fn registering_twice_refunds() {
    let world = World::manual().unwrap();
    let price = world.devnet.storage_price(&world.token).unwrap();
    assert_eq!(price, 1_250_000_000_000_000_000_000);
    let held = |world: &World| world.devnet.near_balance(&world.token).ok_or("no token");
    let before = held(&world).unwrap();
    let dave = ["dave.devnet".parse().unwrap()];
    world.devnet.register(&world.token, &dave).unwrap();
    assert_eq!(held(&world).unwrap(), before + price);
    world.devnet.register(&world.token, &dave).unwrap();
    assert_eq!(held(&world).unwrap(), before + price);
    assert!(world.devnet.is_registered(&world.token, &dave[0]).unwrap());
}

/// A receiver may leave and pocket the deposit: turns red if a transfer to it then succeeds.
#[test]
fn a_receiver_unregisters() {
    let world = World::manual().unwrap();
    let erin = world.devnet.create_account("erin.devnet", 10).unwrap();
    world.devnet.register(&world.token, std::slice::from_ref(&erin.account)).unwrap();
    let before = world.devnet.near_balance(&erin.account).unwrap();
    world.devnet.unregister(&world.token, &erin).unwrap();
    assert!(!world.devnet.is_registered(&world.token, &erin.account).unwrap());
    let after = world.devnet.near_balance(&erin.account).unwrap();
    assert!(after > before, "the deposit is worth more than the gas");
    let paid = world.devnet.run(&world.relay, &world.token, vec![transfer("erin.devnet", 1, None)]);
    assert!(paid.is_err_and(|error| error.contains("erin.devnet is not registered")));
}

/// Turns red if a paused token pays.
#[test]
fn a_paused_token_pays_nothing() {
    let world = World::manual().unwrap();
    world.devnet.set_paused(&world.token, true).unwrap();
    let pay =
        || world.devnet.run(&world.relay, &world.token, vec![transfer("alice.devnet", 1, None)]);
    assert!(pay().is_err_and(|error| error.contains("The contract is paused")));
    world.devnet.set_paused(&world.token, false).unwrap();
    pay().unwrap();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// The transfer that calls its receiver: two receipts, and all of it comes back from an account that has
/// no contract. Turns red if callbacks do not see results.
#[test]
fn a_transfer_that_calls_is_resolved() {
    let world = World::manual().unwrap();
    let args = json!({"receiver_id": "bob.devnet", "amount": "5", "msg": ""});
    let action = call("ft_transfer_call", &args, 100_000_000_000_000, 1);
    let signed = world.sign(world.next_nonce().unwrap(), vec![action]);
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let seen = world.devnet.observe(signed.get_hash()).unwrap();
    assert_eq!(seen.outcome.status, FinalExecutionStatus::SuccessValue(b"\"0\"".to_vec()));
    assert_eq!(world.balance("bob.devnet").unwrap(), 0);
    assert_eq!(world.balance("relay.devnet").unwrap(), SUPPLY);
}

/// One run of everything on both forms. Turns red if the Rust form stores other bytes, emits other
/// lines, refuses with other words or pays other amounts than the wasm.
#[test]
fn both_forms_of_the_token_do_the_same() {
    let wasm = story(&World::manual().unwrap()).unwrap();
    let native = story(&World::native().unwrap()).unwrap();
    for (wasm, native) in wasm.iter().zip(&native) {
        assert_eq!(wasm, native);
    }
    assert_eq!(wasm.len(), native.len());
}

/// What a list of calls came to: results and texts, then logs, then what is stored.
fn story(world: &World) -> Outcome<Vec<String>> {
    let least = world.devnet.storage_price(&world.token)?;
    let to = |receiver: &str, amount: &str| json!({"receiver_id": receiver, "amount": amount});
    let steps: [(&str, Value, u128); 17] = [
        ("ft_transfer", to("alice.devnet", "10"), 1),
        ("ft_transfer", to("alice.devnet", "10"), 0),
        ("ft_transfer", to("alice.devnet", "0"), 1),
        ("ft_transfer", to("relay.devnet", "1"), 1),
        ("ft_transfer", to("dave.devnet", "1"), 1),
        ("ft_transfer", to("alice.devnet", "99999999999"), 1),
        ("ft_transfer", to("not an account", "1"), 1),
        ("ft_transfer", to("alice.devnet", "-1"), 1),
        (
            "ft_transfer",
            json!({"receiver_id": "bob.devnet", "amount": "3", "memo": "a \"b\" é"}),
            1,
        ),
        ("storage_deposit", json!({"account_id": "dave.devnet"}), least - 1),
        ("storage_deposit", json!({"account_id": "dave.devnet"}), least + 5),
        ("storage_deposit", json!({"account_id": "dave.devnet"}), least),
        ("storage_deposit", json!({}), least),
        ("mint", json!({"account_id": "alice.devnet", "amount": "1"}), 0),
        ("storage_unregister", json!({}), 1),
        ("storage_unregister", json!({"force": true}), 1),
        ("storage_unregister", json!({}), 1),
    ];
    let before = world.devnet.near_balance(&world.token).ok_or("no token")?;
    let mut told = Vec::new();
    for (method, args, deposit) in steps {
        let action = call(method, &args, 30_000_000_000_000, deposit);
        let signed = world.sign(world.next_nonce()?, vec![action]);
        let hash = signed.get_hash();
        world.devnet.submit(signed);
        world.devnet.settle();
        let seen = world.devnet.observe(hash).ok_or("not there")?;
        let logs: Vec<_> =
            seen.outcome.receipts_outcome.iter().flat_map(|one| &one.outcome.logs).collect();
        // What the contract keeps of the deposits; what a caller pays for gas is another sum on each.
        let held = world.devnet.near_balance(&world.token).ok_or("no token")? - before;
        told.push(format!("{method} {args}: {:?} {logs:?} {held}", seen.outcome.status));
    }
    for (method, args) in [
        ("ft_metadata", json!({})),
        ("ft_total_supply", json!({})),
        ("storage_balance_bounds", json!({})),
        ("storage_balance_of", json!({"account_id": "alice.devnet"})),
        ("storage_balance_of", json!({"account_id": "relay.devnet"})),
    ] {
        let seen = world.devnet.view(&world.token, method, args.to_string().into_bytes())?;
        told.push(format!("{method}: {}", String::from_utf8_lossy(&seen)));
    }
    told.extend(world.devnet.stored(&world.token));
    Ok(told)
}
