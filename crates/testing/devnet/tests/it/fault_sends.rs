//! What goes wrong on the way of a sent transaction: each fault, and what the chain really did.

use crate::client::{World, transfer};
use devnet::{
    Outcome,
    near::{Fault, Lie, Options, Rule, near_primitives::errors::InvalidTxError},
};
use serde_json::json;

fn script(world: &World, rule: Rule) -> Outcome {
    world.devnet.endpoint(0).ok_or("no endpoint")?.add(rule);
    Ok(())
}

/// Turns red if the transaction of a dropped reply is not in the pool: then no test of a relay that
/// counts an unanswered send as not sent could fail.
#[test]
fn a_reply_is_dropped_after_acceptance() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Fault::DropReply, 1).on(&["send_tx"])).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    assert!(world.send(&signed, "NONE").is_err());
    assert_eq!(world.devnet.pooled(), 1);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
    assert_eq!(world.send(&signed, "FINAL").unwrap().status, 200, "the rule was for one request");
}

/// Turns red if a refused connection or a 429 lets the transaction through.
#[test]
fn refused_requests_reach_no_pool() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Fault::Refuse, 1)).unwrap();
    script(&world, Rule::times(Fault::Status { code: 429 }, 1)).unwrap();
    script(&world, Rule::times(Fault::Answer { code: 502, body: json!("bad gateway") }, 1))
        .unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    assert!(world.send(&signed, "NONE").is_err());
    assert_eq!(world.send(&signed, "NONE").unwrap().status, 429);
    assert_eq!(world.send(&signed, "NONE").unwrap().status, 502);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 0);
}

/// Turns red if a late transaction enters a block early, or never.
#[test]
fn a_transaction_is_included_late() {
    let world = World::manual().unwrap();
    script(&world, Rule::always(Fault::Late { blocks: 5 })).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    world.send(&signed, "NONE").unwrap();
    world.devnet.advance(5);
    assert!(world.devnet.observe(signed.get_hash()).is_none());
    world.devnet.advance(1);
    assert!(world.devnet.observe(signed.get_hash()).is_some());
}

/// Never, then late: turns red if withheld bytes reach the chain before they are released, or if they
/// are lost.
#[test]
fn a_transaction_is_withheld_and_released() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Fault::Withhold, 1)).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    assert_eq!(world.send(&signed, "NONE").unwrap().status, 200);
    world.devnet.advance(20);
    assert_eq!(world.balance("alice.devnet").unwrap(), 0);
    assert_eq!(world.devnet.withheld(), [signed.get_hash()]);
    assert_eq!(world.devnet.release(), 1);
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// The same-nonce rule on trial: a withheld transaction and its replacement under the same nonce. Turns
/// red if releasing the first one after the second pays again.
#[test]
fn a_withheld_transaction_is_dead_once_its_nonce_is_used() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Fault::Withhold, 1)).unwrap();
    let nonce = world.next_nonce().unwrap();
    let first = world.sign(nonce, vec![transfer("alice.devnet", 1, Some("paid once"))]);
    world.send(&first, "NONE").unwrap();
    world.devnet.advance(1);
    let replacement = world.sign(nonce, vec![transfer("alice.devnet", 1, Some("paid once"))]);
    world.send(&replacement, "NONE").unwrap();
    world.devnet.settle();
    world.devnet.release();
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// And the wrong build beside it: a new nonce for bytes that were sent pays twice, and the chain shows it.
#[test]
fn a_new_nonce_for_withheld_bytes_pays_twice() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Fault::Withhold, 1)).unwrap();
    let nonce = world.next_nonce().unwrap();
    let first = world.sign(nonce, vec![transfer("alice.devnet", 1, Some("one id"))]);
    world.send(&first, "NONE").unwrap();
    world.devnet.release();
    let careless = world.sign(nonce + 1, vec![transfer("alice.devnet", 1, Some("one id"))]);
    world.send(&careless, "NONE").unwrap();
    world.devnet.settle();
    let events = world.devnet.events(&world.token);
    let paid = events.iter().filter(|event| event.memo.as_deref() == Some("one id"));
    assert_eq!(paid.count(), 2);
}

/// Turns red if a timeout means that nothing was accepted.
#[test]
fn a_timeout_says_nothing_of_the_transaction() {
    let world = World::manual().unwrap();
    script(&world, Rule::times(Lie::Timeout, 1)).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let answer = world.send(&signed, "FINAL").unwrap();
    assert_eq!(answer.status, 408);
    assert_eq!(answer.body.pointer("/error/cause/name"), Some(&json!("TIMEOUT_ERROR")));
    world.devnet.settle();
    assert_eq!(world.balance("alice.devnet").unwrap(), 1);
}

/// A newer node gives a timeout a cause, which no type of this chain's version knows. Turns red if a
/// scripted answer is one to another request.
#[test]
fn an_answer_of_a_newer_node_is_scripted() {
    let world = World::manual().unwrap();
    let body = json!({"jsonrpc": "2.0", "error": {
        "name": "HANDLER_ERROR", "code": -32000, "message": "Server error", "data": "Timeout",
        "cause": {"name": "TIMEOUT_ERROR", "info": {"cause": "PENDING", "status": "INCLUDED"}},
    }});
    script(&world, Rule::times(Fault::Answer { code: 408, body }, 1)).unwrap();
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let answer = world.send(&signed, "FINAL").unwrap();
    assert_eq!(answer.status, 408);
    assert_eq!(answer.body.get("id"), Some(&json!("it")));
    assert_eq!(answer.body.pointer("/error/cause/info/cause"), Some(&json!("PENDING")));
}

/// A lie about a send: refused in words, accepted in fact. Turns red if `forward` does nothing.
#[test]
fn an_endpoint_lies_about_a_send() {
    let world = World::manual().unwrap();
    for (forward, paid) in [(false, 0), (true, 1)] {
        let error = InvalidTxError::Expired;
        script(&world, Rule::times(Lie::Invalid { error, forward }, 1)).unwrap();
        let signed = world.transfers(&["alice.devnet"]).unwrap();
        let answer = world.send(&signed, "INCLUDED").unwrap();
        let found = answer.body.pointer("/error/data/TxExecutionError/InvalidTxError");
        assert_eq!(found, Some(&json!("Expired")), "{}", answer.body);
        world.devnet.settle();
        assert_eq!(world.balance("alice.devnet").unwrap(), paid, "forward: {forward}");
    }
}

/// Turns red if a paused chain goes on, or does not resume.
#[test]
fn block_production_is_paused() {
    let interval = std::time::Duration::from_millis(10);
    let world =
        World::new(Options { blocks: devnet::near::Blocks::Every(interval), ..Options::default() })
            .unwrap();
    world.devnet.pause_blocks(true);
    let still = world.devnet.height();
    std::thread::sleep(interval * 10);
    assert_eq!(world.devnet.height(), still);
    world.devnet.pause_blocks(false);
    let signed = world.transfers(&["alice.devnet"]).unwrap();
    let answer = world.send(&signed, "FINAL").unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(world.devnet.height() > still);
}
