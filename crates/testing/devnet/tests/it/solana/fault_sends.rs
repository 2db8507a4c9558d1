//! What goes wrong on the way of a sent transaction: each fault, and what the chain really did.

use super::world::{SUPPLY, World, refused, signature};
use devnet::solana::{Fault, Lie, Rule};
use serde_json::json;

/// Turns red if the transaction of a dropped reply is lost: then no adapter that counts an unanswered send as not sent
/// could fail.
#[test]
fn a_reply_is_dropped_after_acceptance() {
    let world = World::manual();
    world.script(0, Rule::times(Fault::DropReply, 1).on(&["sendTransaction"]));
    let paid = world.payout(world.lock(), 1);
    assert!(world.send(&paid, false).is_err());
    assert_eq!(world.devnet.pooled(), 1);
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 1);
}

/// Turns red if a refused connection, a 429 or a 502 lets the transaction through.
#[test]
fn refused_requests_reach_no_pool() {
    let world = World::manual();
    world.script(0, Rule::times(Fault::Refuse, 1));
    world.script(0, Rule::times(Fault::Status { code: 429 }, 1));
    world.script(0, Rule::times(Fault::Answer { code: 502, body: json!("bad gateway") }, 1));
    let paid = world.payout(world.lock(), 1);
    assert!(world.send(&paid, false).is_err());
    assert_eq!(world.send(&paid, false).unwrap().status, 429);
    assert_eq!(world.send(&paid, false).unwrap().status, 502);
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY);
}

/// Turns red if a late transaction is early, or never comes.
#[test]
fn a_transaction_is_included_late() {
    let world = World::manual();
    world.script(0, Rule::times(Fault::Late { blocks: 5 }, 1));
    let paid = world.payout(world.lock(), 1);
    world.send(&paid, false).unwrap();
    world.devnet.advance(5);
    assert_eq!(world.devnet.result(&signature(&paid)), None);
    world.devnet.advance(1);
    assert_eq!(world.devnet.result(&signature(&paid)), Some(Ok(())));
}

/// Never, then an hour late: turns red if withheld bytes reach the chain before they are released, are lost, or pay beside
/// a replacement under their lock.
#[test]
fn a_withheld_transaction_is_released_or_dead() {
    let world = World::manual();
    world.script(0, Rule::times(Fault::Withhold, 2));
    let first = world.payout(world.lock(), 1);
    world.send(&first, false).unwrap();
    world.devnet.advance(200);
    assert_eq!((world.devnet.withheld(), world.devnet.pooled()), (vec![signature(&first)], 0));
    assert_eq!(world.devnet.release(), 1);
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 1);

    let lock = world.lock();
    let (held, replacement) = (world.payout(lock, 2), world.payout(lock, 3));
    world.send(&held, false).unwrap();
    world.send(&replacement, false).unwrap();
    world.devnet.settle();
    world.devnet.release();
    world.devnet.settle();
    assert_eq!(world.devnet.balance(&world.alices), SUPPLY + 4);
}

/// Turns red if bytes that one provider keeps to itself cannot land through another.
#[test]
fn withheld_bytes_land_through_another_provider() {
    let world = World::two();
    world.script(1, Rule::always(Fault::Withhold));
    let paid = world.payout(world.lock(), 1);
    super::world::send_to(&world.second(), &paid, false).unwrap();
    world.devnet.advance(3);
    assert_eq!(world.devnet.result(&signature(&paid)), None);
    world.send(&paid, false).unwrap();
    super::world::send_to(&world.second(), &paid, false).unwrap();
    world.devnet.settle();
    assert_eq!(world.devnet.result(&signature(&paid)), Some(Ok(())));
    assert!(world.devnet.withheld().is_empty());
}

/// Refused in words, accepted in fact, and the other way. Turns red if `forward` does nothing.
#[test]
fn an_endpoint_lies_about_a_send() {
    let world = World::manual();
    for (forward, paid) in [(false, 0), (true, 1)] {
        let message = "Node is behind by 42 slots".to_owned();
        let data = Some(json!({"numSlotsBehind": 42}));
        world.script(0, Rule::times(Lie::Rejected { code: -32005, message, data, forward }, 1));
        let sent = world.send(&world.payout(world.lock(), 1), false).unwrap();
        assert_eq!(refused(&sent).0, -32005);
        assert_eq!(sent.body.pointer("/error/data/numSlotsBehind"), Some(&json!(42)));
        world.devnet.settle();
        assert_eq!(world.devnet.balance(&world.alices), SUPPLY + paid, "forward: {forward}");
    }
}
