//! The history of an address, page by page.

use super::world::{SUPPLY, World, history, refused, status, transaction};
use crate::client::{raw, rpc};
use devnet::solana::{Lie, Rule, Signature, WINDOW};
use serde_json::{Value, json};

/// The vault's account with this number of deposits, all final; newest first.
fn deposits(world: &World, count: u64) -> Vec<String> {
    let all = (1..=count).map(|amount| world.deposited(amount, &[]));
    let mut all: Vec<String> = all.map(|signature| signature.to_string()).collect();
    world.devnet.settle();
    all.reverse();
    all
}

/// The balance of the vault's account around a transaction.
fn around(world: &World, signature: &str) -> (u64, u64) {
    let signature: Signature = signature.parse().unwrap();
    let movements = world.devnet.movements(&world.account);
    let moved = movements.iter().find(|moved| moved.signature == signature).unwrap();
    (moved.before, moved.after)
}

/// Turns red if pages overlap, leave one out, or do not continue each other's balance.
#[test]
fn pages_continue_each_other() {
    let world = World::manual();
    let all = deposits(&world, 7);
    let mut seen: Vec<String> = Vec::new();
    loop {
        let mut config = json!({"limit": 3});
        if let Some(last) = seen.last() {
            config["before"] = json!(last);
        }
        let page = history(&world.url, &world.account, &config);
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        seen.extend(page);
    }
    assert_eq!(seen[..7], all);
    for pair in seen[..8].windows(2) {
        assert_eq!(around(&world, &pair[0]).0, around(&world, &pair[1]).1);
    }
    assert_eq!(around(&world, &seen[0]).1, SUPPLY + 28);
}

/// Turns red if `until` is in its own page, or ends it too early.
#[test]
fn a_page_ends_before_until() {
    let world = World::manual();
    let all = deposits(&world, 4);
    assert_eq!(history(&world.url, &world.account, &json!({"until": all[3]})), all[..3]);
    let between = json!({"until": all[3], "before": all[0]});
    assert_eq!(history(&world.url, &world.account, &between), all[1..3]);
}

/// As a node of this release: turns red if an unknown cursor is an error, or an unknown `before` begins anew.
#[test]
fn an_unknown_cursor_is_no_error() {
    let world = World::manual();
    let all = deposits(&world, 2);
    let unknown = Signature::from([7; 64]).to_string();
    let newest = history(&world.url, &world.account, &json!({"until": unknown, "limit": 2}));
    assert_eq!(newest, all);
    assert!(history(&world.url, &world.account, &json!({"before": unknown})).is_empty());
}

/// Turns red if a page shows what its commitment has not reached, or a failed transaction is left out.
#[test]
fn a_page_is_of_its_commitment() {
    let world = World::manual();
    deposits(&world, 1);
    let failing = world.payout(world.lock(), SUPPLY * 2);
    world.send(&failing, true).unwrap();
    world.devnet.advance(2);
    let page = |commitment: &str| {
        let params = json!([world.account.to_string(), {"commitment": commitment, "limit": 1}]);
        rpc(&world.url, "getSignaturesForAddress", &params).unwrap()[0].clone()
    };
    let failed = super::world::signature(&failing).to_string();
    assert_eq!(page("confirmed")["signature"], json!(failed));
    assert_ne!(page("confirmed")["err"], Value::Null);
    assert_eq!(page("confirmed")["confirmationStatus"], json!("confirmed"));
    assert_ne!(page("finalized")["signature"], json!(failed));
    let processed = json!([world.account.to_string(), {"commitment": "processed"}]);
    let answer = raw(&world.url, "getSignaturesForAddress", &processed).unwrap();
    let words = "Method does not support commitment below `confirmed`".to_owned();
    assert_eq!(refused(&answer), (-32602, words));
}

/// Turns red if the index of a provider has no gap though one was scripted, or if the chain has one too.
#[test]
fn an_index_leaves_one_out() {
    let world = World::two();
    let all = deposits(&world, 3);
    let gap = Lie::Gap { signatures: vec![all[1].clone()] };
    world.script(1, Rule::always(gap));
    let config = json!({"limit": 2});
    assert_eq!(history(&world.second(), &world.account, &config), [all[0].clone(), all[2].clone()]);
    assert_eq!(history(&world.url, &world.account, &config), all[..2]);
    let hidden: Signature = all[1].parse().unwrap();
    assert_ne!(transaction(&world.second(), &hidden, "finalized"), Value::Null, "by its signature");
}

/// Turns red if a provider that lost its cursor ends the page where one that knows it does.
#[test]
fn an_index_forgets_until() {
    let world = World::two();
    let all = deposits(&world, 3);
    world.script(1, Rule::times(Lie::UnknownUntil, 1));
    let config = json!({"until": all[2], "limit": 3});
    assert_eq!(history(&world.second(), &world.account, &config), all);
    assert_eq!(
        history(&world.second(), &world.account, &config),
        all[..2],
        "the rule was for one request"
    );
}

/// Without the flag a node knows what is recent only. Turns red if an old payment has no status, or a recent one none.
#[test]
fn old_statuses_need_a_search() {
    let world = World::manual();
    let deposit = world.deposited(5, &[]);
    let recent = |search: bool| {
        let params = json!([[deposit.to_string()], {"searchTransactionHistory": search}]);
        rpc(&world.url, "getSignatureStatuses", &params).unwrap()["value"][0].clone()
    };
    world.devnet.advance(WINDOW);
    assert_ne!(recent(false), Value::Null);
    world.devnet.advance(40);
    assert_eq!(recent(false), Value::Null);
    assert_ne!(recent(true), Value::Null);
    assert_eq!(status(&world.url, &Signature::from([9; 64])), Value::Null);
}
