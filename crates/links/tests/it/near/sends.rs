//! Sends whose outcome is not told: whatever a provider answers, each transfer is paid once.
//!
//! Red with a wrong build that signs under a new nonce where an attempt is not clear
//! (`a_replacement_takes_the_same_nonce`), that takes an answer to a send for its outcome
//! (`no_answer_to_a_send_decides`), or that counts looks (`what_is_unknown_for_long_and_lands_is_paid_once`).

use super::world::{VALIDITY, World, words};
use devnet::near::near_primitives::errors::InvalidTxError;
use devnet::near::near_primitives::transaction::SignedTransaction;
use devnet::near::{Fault, Lie, Rule};
use kernel::attempt::{Form, Purpose};
use kernel::ids::Id;
use kernel::ports::chain::{AttemptProof, Chain};
use kernel::ports::sending::{NOT_SENT, SendPermission};
use kernel::record::System;
use links::near::NearSettings;
use std::sync::Arc;

const DONE: [(&str, bool); 2] = [("done", false); 2];

fn signed(form: &Form) -> SignedTransaction {
    borsh::from_slice(&form.bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_to_a_send_decides() {
    let world = World::new(2);
    let port = world.port();
    let nonce = InvalidTxError::InvalidNonce { tx_nonce: 1, ak_nonce: 2 };
    let too_large = InvalidTxError::NonceTooLarge { tx_nonce: 2, upper_bound: 1 };
    let faults = [
        Fault::DropReply,
        Fault::Refuse,
        Lie::Timeout.into(),
        Fault::Status { code: 503 },
        Fault::Status { code: 429 },
        Fault::Answer { code: 200, body: serde_json::json!({"jsonrpc": "2.0", "result": 5}) },
        Lie::Invalid { error: InvalidTxError::Expired, forward: true }.into(),
        Lie::Invalid { error: nonce, forward: true }.into(),
        // a replica that is behind judges the nonce by a height of long ago
        Lie::Invalid { error: too_large, forward: true }.into(),
        Fault::Late { blocks: 9 },
    ];
    let mut last = None;
    for fault in faults {
        let members = world.members(2);
        let lane = port.lanes("ft_transfer").remove(0);
        let mut attempt = world.pay(&port, members.clone()).await;
        let lock = port.next_lock(&lane, last.as_ref(), &members).await.unwrap();
        assert_eq!(attempt.lock, lock, "a closed attempt's nonce is the chain's");
        world.everywhere(&Rule::times(fault.clone(), 1).on(&["send_tx"]));
        let verdicts = world.see_through(&port, &mut attempt).await;
        assert_eq!(words(&verdicts), DONE, "{fault:?}");
        // identical bytes, by anyone who has them
        for form in &attempt.forms {
            world.devnet.submit(signed(form));
        }
        world.devnet.settle();
        assert_eq!(world.paid(&members), [1, 1], "{fault:?}");
        assert_eq!(attempt.forms.len(), 1, "{fault:?}: nothing was signed again");
        last = Some(attempt.lock);
        world.clear();
        world.clock.forward(60_000);
    }
}

/// Ten minutes of blocks of 0.6 s, with a look at every 25 of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_unknown_for_long_and_lands_is_paid_once() {
    let world = World::new(2);
    let port = world.port_with(NearSettings { validity_blocks: 5_000, ..world.settings() });
    let members = world.members(2);
    let mut attempt = world.pay(&port, members.clone()).await;
    world.everywhere(&Rule::always(Fault::Withhold));
    for _ in 0..40 {
        assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
        world.devnet.advance(25);
        world.clock.forward(15_000);
    }
    assert_eq!(world.paid(&members), [0, 0]);
    // it lands, and both providers say that they do not know it
    world.devnet.release();
    world.devnet.settle();
    world.everywhere(&Rule::always(Lie::Unknown));
    for _ in 0..5 {
        world.devnet.advance(8);
        let class = world.not_yet(&port, &attempt).await;
        assert!(["NOT_FOUND", "NOT_FINAL"].contains(&class), "{class}");
    }
    world.clear();
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((words(&verdicts), world.paid(&members)), (DONE.to_vec(), vec![1, 1]));
}

/// The chain takes the first form for valid, while the adapter counts it as expired: both may land.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replacement_takes_the_same_nonce() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let mut attempt = world.pay(&port, members.clone()).await;
    world.withhold();
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND");
    world.devnet.advance(VALIDITY);
    assert_eq!(world.not_yet(&port, &attempt).await, "NOT_FOUND", "the final block is not past it");
    world.devnet.advance(3);
    let proof = world.look(&port, &attempt).await;
    assert_eq!(proof, AttemptProof::Form(Purpose::Pay));
    world.replace(&port, &mut attempt).await;
    let [first, second] = &attempt.forms[..] else { unreachable!("two forms") };
    assert_ne!(first.name, second.name);
    let (old, new) = (signed(first), signed(second));
    assert_eq!(old.transaction.nonce(), new.transaction.nonce());
    assert_eq!(old.transaction.public_key(), new.transaction.public_key());
    assert_eq!(old.transaction.actions(), new.transaction.actions());
    // the network kept the old one, and both arrive
    world.clear();
    world.devnet.submit(new);
    assert_eq!(world.devnet.release(), 1);
    world.devnet.submit(old);
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((words(&verdicts), world.paid(&members)), (DONE.to_vec(), vec![1, 1]));
}

/// Red with a wrong build that takes an executed transaction for a final one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_closes_an_attempt_before_it_is_final() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.members(2)).await;
    let hash = signed(&attempt.forms[0]).get_hash();
    for open in 0..12 {
        let proof = world.look(&port, &attempt).await;
        if world.devnet.is_final(hash) {
            assert!(matches!(proof, AttemptProof::Closed(_)), "{proof:?}");
            assert!(open > 2, "it was executed before it was final");
            return;
        }
        assert!(matches!(proof, AttemptProof::NotYet(_)), "{proof:?}");
        world.devnet.advance(1);
    }
    unreachable!("it is final in the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_goes_on_with_what_was_stored() {
    let world = World::new(2);
    let members = world.members(2);
    let mut attempt = world.pay(&world.port(), members.clone()).await;
    world.everywhere(&Rule::times(Fault::DropReply, 1).on(&["send_tx"]));
    drop(world.look(&world.port(), &attempt).await);
    world.devnet.settle();
    let next = world.port();
    let verdicts = world.see_through(&next, &mut attempt).await;
    assert_eq!((words(&verdicts), world.paid(&members)), (DONE.to_vec(), vec![1, 1]));
    // the next attempt's nonce is the one behind it
    let lane = attempt.lane.clone();
    let lock = next.next_lock(&lane, Some(&attempt.lock), &members).await.unwrap();
    let number = |lock: &kernel::attempt::Lock| lock.0.parse::<u64>().unwrap();
    assert_eq!(number(&lock), number(&attempt.lock) + 1);
}

struct Never;

impl SendPermission for Never {
    fn may_send(&self, _: System, _: &[Id]) -> bool {
        false
    }

    fn last_halt(&self) -> u64 {
        0
    }
}

/// The engine allowed it, and a HALT came while the connection was made.
///
/// Wrong build that turns it red: a transaction whose body is given as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_transaction_is_sent_that_may_not_be_sent_any_more() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let attempt = world.pay(&port, members.clone()).await;
    let permission: Arc<dyn SendPermission> = Arc::new(Never);
    port.ask_before_sending(&permission);
    let sent = port.broadcast(std::slice::from_ref(&attempt)).await;
    assert!(matches!(&sent[..], [Err(cause)] if cause.class == NOT_SENT), "{sent:?}");
    world.devnet.settle();
    assert_eq!(world.paid(&members), [0, 0]);
    // it is asked all the same, and no provider is to blame
    assert!(port.providers().iter().all(|provider| provider.failures == 0));
    assert!(matches!(port.prove(&[attempt]).await[..], [AttemptProof::NotYet(_)]));
}
