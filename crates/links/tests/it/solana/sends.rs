//! Sends that are lost, late or repeated, blocks that are taken back, and what another form is for.
//!
//! Red with wrong builds that take `confirmed` for final (`a_block_that_is_taken_back_proves_nothing`), or what is not
//! found for dead (`what_is_not_found_is_never_dead`).

use super::world::{World, said};
use devnet::solana::{Fault, Rule};
use kernel::attempt::Purpose;
use kernel::ports::chain::AttemptProof;
use links::solana::SolanaChain;

async fn done(world: &World, port: &SolanaChain, attempt: &kernel::attempt::Attempt) {
    assert_eq!(said(&world.verdict(port, attempt).await).0, "done");
    assert_eq!(world.paid(&attempt.members[0]), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_is_taken_back_proves_nothing() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.advance(3);
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND", "confirmed is not final");
    assert_eq!(world.devnet.roll_back(3, false).unwrap().len(), 1);
    world.devnet.advance(60);
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
    world.send(&port, &attempt).await;
    world.devnet.settle();
    done(&world, &port, &attempt).await;
}

/// Turns red where silence, an age, or two providers that find nothing end an attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_found_is_never_dead() {
    let world = World::new(2);
    let mut settings = world.settings();
    settings.replace_after_slots = u64::MAX;
    let port = world.port_with(settings);
    let attempt = world.pay(&port, world.member()).await;
    world.withhold();
    world.send(&port, &attempt).await;
    for _ in 0..3 {
        world.devnet.advance(400);
        world.clock.forward(86_400_000);
        assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
    }
    world.clear();
    world.devnet.release();
    world.devnet.settle();
    done(&world, &port, &attempt).await;
}

/// Turns red where a reply is believed, or a lost one makes another payment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_to_sends_decide_nothing() {
    let world = World::new(2);
    let port = world.port();
    let sends = &["sendTransaction"];
    let refused = devnet::solana::Lie::Rejected {
        code: -32_002,
        message: "Transaction simulation failed".to_owned(),
        data: None,
        forward: true,
    };
    let mut last = None;
    for fault in [
        Rule::always(Fault::DropReply),
        Rule::always(Fault::Status { code: 429 }),
        Rule::always(refused),
        Rule::always(Fault::Late { blocks: 100 }),
    ] {
        let attempt = world.pay_behind(&port, last.as_ref(), world.member()).await;
        world.everywhere(&fault.on(sends));
        world.send(&port, &attempt).await;
        world.clear();
        world.clock.forward(60_000);
        assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
        for _ in 0..3 {
            world.send(&port, &attempt).await;
        }
        world.devnet.advance(150);
        world.devnet.settle();
        done(&world, &port, &attempt).await;
        last = Some(attempt.lock);
    }
}

/// Turns red where two forms of a lock both land, where another form is asked for at once or beyond the cap, and where
/// the form that landed is overlooked beside the newest one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_waits_gets_forms_with_higher_fees() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.member()).await;
    world.withhold();
    world.send(&port, &attempt).await;
    for _ in 0..2 {
        assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
        world.devnet.advance(100);
        world.clock.forward(10_000);
        let proof = world.prove(&port, &attempt).await;
        assert!(matches!(proof, AttemptProof::Form(Purpose::Pay)), "{proof:?}");
        let signed = world.another_form(&port, &attempt, Purpose::Pay).await.unwrap();
        attempt.forms.push(signed.form);
        world.send(&port, &attempt).await;
    }
    world.devnet.advance(100);
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND", "its fee is at the cap");
    world.clear();
    assert_eq!(world.devnet.release(), 3);
    world.devnet.settle();
    done(&world, &port, &attempt).await;
    assert_eq!(world.devnet.balance(&world.alices), 101);
}

/// What a payment costs its providers: no more than six requests at each of two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_takes_few_requests() {
    let world = World::new(2);
    let port = world.port();
    let first = world.pay(&port, world.member()).await;
    world.send(&port, &first).await;
    world.devnet.settle();
    done(&world, &port, &first).await;
    let before = world.meter.calls();
    let attempt = world.pay_behind(&port, Some(&first.lock), world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    done(&world, &port, &attempt).await;
    let calls = world.meter.calls() - before;
    assert!(calls <= 2 * 6, "{calls} requests at two providers");
}
