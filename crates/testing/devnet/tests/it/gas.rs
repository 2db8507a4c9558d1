//! What a call burns: the campaign compares every call with NEAR's own virtual machine, and this holds to it
//! what the campaign found.

use crate::client::{World, call, transfer};
use devnet::near::near_primitives::action::Action;
use serde_json::json;

/// Turns red if the host functions or the instructions are not charged as on the network, where NEAR's own
/// virtual machine burns 0.734 TGas for such a transfer (`cargo xtask campaign gas` has every call).
#[test]
fn a_transfer_burns_what_it_burns_on_near() {
    let world = World::manual().unwrap();
    let burnt = burnt_by_a_transfer(&world);
    assert!((719_000_000_000..749_000_000_000).contains(&burnt), "{burnt}");
}

/// Turns red if a call burns more because it is the first of its kind on this chain: an interpreter that
/// translates a function when it is first called takes fuel for that.
#[test]
fn the_first_transfer_burns_what_the_next_does() {
    let world = World::manual().unwrap();
    let [first, next] = [burnt_by_a_transfer(&world), burnt_by_a_transfer(&world)];
    assert!(first.abs_diff(next) < 1_000_000_000, "{first} {next}");
}

/// Turns red if a method that does not exist is charged for the contract's code: a node looks for it first.
#[test]
fn a_missing_method_burns_the_fees_alone() {
    let world = World::manual().unwrap();
    let missing = call("ft_burn", &json!({}), 10_000_000_000_000, 0);
    let burnt = burnt_by(&world, missing);
    let existing = call("ft_metadata", &json!({}), 10_000_000_000_000, 0);
    assert!(burnt < 900_000_000_000, "{burnt}");
    assert!(burnt_by(&world, existing) > burnt + 200_000_000_000);
}

/// The gas of a transfer in the contract, without the fees of its receipt and its action.
fn burnt_by_a_transfer(world: &World) -> u64 {
    let fees = 888_000_000_000;
    burnt_by(world, transfer("alice.devnet", 7, Some("01ARZ3NDEKTSV4RRFFQ69G5FAV"))) - fees
}

fn burnt_by(world: &World, action: Action) -> u64 {
    let signed = world.sign(world.next_nonce().unwrap(), vec![action]);
    world.devnet.submit(signed.clone());
    world.devnet.settle();
    let seen = world.devnet.observe(signed.get_hash()).unwrap();
    seen.outcome.receipts_outcome.first().unwrap().outcome.gas_burnt.as_gas()
}

/// Turns red if a long loop of the contract needs the stack of the thread that executes it.
#[test]
fn a_long_memo_is_read() {
    let world = World::manual().unwrap();
    let memo = "x".repeat(8_000);
    let burnt = burnt_by(&world, transfer("alice.devnet", 7, Some(&memo)));
    assert!(burnt > 1_500_000_000_000, "{burnt}");
}
