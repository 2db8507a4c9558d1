//! Keys that are used elsewhere: the pool stops, and what is not explained is not dead.
//!
//! Red with a wrong build that takes a spent nonce for the proof that nothing of ours landed
//! (`a_spent_nonce_alone_is_no_proof`), or that goes on from the chain's nonce (`a_key_that_is_ahead_stops_the_pool`).

use super::world::{RELAY, VALIDITY, World};
use devnet::near::Wallet;
use devnet::near::near_primitives::action::{Action, TransferAction};
use devnet::near::near_primitives::types::Balance;
use kernel::attempt::Attempt;
use kernel::ports::chain::{Chain, LANE_AHEAD, LaneMark, Proof};

/// The hash of the other program's transaction.
fn use_elsewhere(world: &World, wallet: &Wallet, nonce: u64) -> String {
    let nothing = Action::Transfer(TransferAction { deposit: Balance::ZERO });
    let base = world.devnet.final_hash();
    let signed = wallet.sign(nonce, base, &RELAY.parse().unwrap(), vec![nothing]);
    let hash = signed.get_hash().to_string();
    world.devnet.submit(signed);
    world.devnet.settle();
    hash
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_nonce_alone_is_no_proof() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.members(2)).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    world.devnet.advance(5);
    let other = use_elsewhere(&world, &world.relay, attempt.lock.0.parse().unwrap());
    for _ in 0..4 {
        world.devnet.advance(VALIDITY);
        let proof = world.look(&port, &attempt).await;
        let Proof::NotYet(cause) = &proof else { unreachable!("{proof:?}") };
        assert_eq!(cause.class, "LOCK_SPENT");
        assert!(cause.to_string().contains(&other), "what spent it is said: {cause}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_ahead_stops_the_pool() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let mut attempt = world.pay(&port, members.clone()).await;
    world.see_through(&port, &mut attempt).await;
    let nonce: u64 = attempt.lock.0.parse().unwrap();
    drop(use_elsewhere(&world, &world.relay, nonce + 5));
    let lanes = port.lanes("ft_transfer");
    let next = port.next_lock(&lanes[0], Some(&attempt.lock), &members).await;
    assert_eq!(next.unwrap_err().class, LANE_AHEAD);
    // so does a nonce beyond an open attempt
    let open = world.claim_on(&port, 1, members.clone()).await;
    let second = world.keys()[1].clone();
    world.withhold();
    drop(world.look(&port, &open).await);
    let beyond = open.lock.0.parse::<u64>().unwrap() + 1;
    drop(use_elsewhere(&world, &second, beyond));
    world.devnet.advance(VALIDITY);
    assert_eq!(world.not_yet(&port, &open).await, "LOCK_SPENT");
    let mark = |attempt: &Attempt| LaneMark {
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        anchor: None,
    };
    let ahead = port.ahead(&[mark(&attempt), mark(&open)]).await.unwrap();
    let ahead: Vec<_> = ahead.iter().map(|one| &one.lane).collect();
    assert_eq!(ahead, [&lanes[0], &lanes[1]]);
    // and nothing of it is left behind where the keys are other ones
    assert_eq!(port.ahead(&[]).await, Ok(Vec::new()));
}
