//! Transactions that fail: nothing of them took place, and the place of the failing action only isolates.
//!
//! Red with a wrong build that refuses the member whose action failed (`an_unregistered_receiver_of_a_hundred_is_isolated`,
//! `one_that_fails_alone_is_refused_only_registered_and_funded`).

use super::providers::outcome;
use super::world::{RELAY, World, code, words};
use devnet::near::near_primitives::errors::{ActionError, ActionErrorKind, FunctionCallError};
use devnet::near::near_primitives::views::FinalExecutionStatus;
use kernel::ports::chain::Chain;
use kernel::record::Record;
use links::near::NearChain;

const DEAD: (&str, bool) = ("dead", false);
const DONE: (&str, bool) = ("done", false);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unregistered_receiver_of_a_hundred_is_isolated() {
    let world = World::new(2);
    let port = world.port();
    let mut members = world.members(99);
    // its name is in the contract's words, and stops nothing
    members.insert(41, world.record("paused.devnet", 10));
    let mut attempt = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut attempt).await;
    let mut wanted = vec![DEAD; 99];
    wanted.insert(41, ("dead", true));
    assert_eq!(words(&verdicts), wanted);
    assert_eq!(world.paid(&members), [0; 100]);
    // the 99 others are paid in the next transaction, and the one alone is registered and not refused
    let culprit = members.remove(41);
    let mut rest = world.pay(&port, members.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut rest).await), [DONE; 99]);
    let mut alone = world.pay(&port, vec![culprit.clone()]).await;
    let verdicts = world.see_through(&port, &mut alone).await;
    assert_eq!(
        (words(&verdicts), code(&verdicts)),
        (vec![("dead", true)], "NOT_REGISTERED".into())
    );
    world.devnet.register(&world.token, &["paused.devnet".parse().unwrap()]).unwrap();
    let mut alone = world.pay(&port, vec![culprit.clone()]).await;
    assert_eq!(words(&world.see_through(&port, &mut alone).await), [DONE]);
    assert_eq!((world.paid(&members), world.paid(&[culprit])), (vec![1; 99], vec![1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_fails_alone_is_refused_only_registered_and_funded() {
    let world = World::new(2);
    let port = world.port();
    // its own account is registered and has the money: the contract refuses the transfer itself
    let own = world.record(RELAY, 10);
    for again in 0..2 {
        let mut alone = world.pay(&port, vec![own.clone()]).await;
        let verdicts = world.see_through(&port, &mut alone).await;
        assert_eq!(
            (words(&verdicts), code(&verdicts)),
            (vec![("dead", true)], "RECEIVER_REFUSED".into())
        );
        let rests = port.rests_for("ft_transfer", &own);
        assert!(rests.is_some_and(|ms| ms > again * 10_000), "{rests:?}");
    }
    // the contract serves others: it is this receiver
    let mut other = world.pay(&port, world.members(1)).await;
    assert_eq!(words(&world.see_through(&port, &mut other).await), [DONE]);
    let mut alone = world.pay(&port, vec![own]).await;
    let verdicts = world.see_through(&port, &mut alone).await;
    assert_eq!(words(&verdicts), [("rejected", true)]);
    assert_eq!(code(&verdicts), "RECEIVER_REFUSED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_are_one_transaction() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(100);
    assert_eq!(port.cap("ft_transfer"), 100);
    let mut attempt = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((verdicts.len(), world.paid(&members)), (100, vec![1; 100]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_are_registered_in_one_transaction_and_paid_in_the_next() {
    let world = World::new(2);
    let port = world.port();
    let accounts: Vec<String> = (0..100).map(|n| format!("new{n}.devnet")).collect();
    for account in &accounts {
        world.devnet.create_account(account, 1).unwrap();
    }
    let members: Vec<Record> = accounts.iter().map(|account| world.record(account, 10)).collect();
    assert_eq!(port.cap("storage_deposit"), 100);
    let mut registers = world.claim(&port, "storage_deposit", members.clone()).await;
    let verdicts = world.see_through(&port, &mut registers).await;
    assert_eq!(words(&verdicts), [DONE; 100]);
    let mut pays = world.pay(&port, members.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut pays).await), [DONE; 100]);
    assert_eq!(world.paid(&members), [1; 100]);
}

/// The chain holds the transaction as failed; both providers give another reason for it.
async fn fails_because(world: &World, port: &NearChain, error: ActionError) -> String {
    let mut members = world.members(3);
    members.push(world.record("unregistered.devnet", 10));
    let mut attempt = world.pay(port, members).await;
    drop(world.look(port, &attempt).await);
    world.devnet.settle();
    world.everywhere(&outcome(FinalExecutionStatus::Failure(error.into())));
    let verdicts = world.see_through(port, &mut attempt).await;
    assert_eq!(words(&verdicts), [DEAD; 4]);
    world.clear();
    code(&verdicts)
}

/// Turns red where a call that had too little gas gets no more of it the next time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ran_out_of_gas_blames_no_receiver_and_gets_more() {
    let world = World::new(2);
    let port = world.port();
    let text = "Exceeded the prepaid gas.".to_owned();
    let kind = ActionErrorKind::FunctionCallError(FunctionCallError::ExecutionError(text));
    let error = ActionError { index: Some(3), kind };
    assert_eq!(fails_because(&world, &port, error).await, "OUT_OF_GAS");
    // a call has 10 TGas, or its share of 300; now 20, so that 15 calls are the most
    assert_eq!(port.cap("ft_transfer"), 15);
    let members = world.members(15);
    let mut attempt = world.pay(&port, members.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DONE; 15]);
    assert_eq!(world.paid(&members), [1; 15]);
}

/// Turns red where a failure that names no action is tried again in the same company for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_without_an_index_halves_the_next_batches() {
    let world = World::new(2);
    let port = world.port();
    let kind = ActionErrorKind::DelegateActionExpired;
    for half in [50, 25] {
        let error = ActionError { index: None, kind: kind.clone() };
        assert_eq!(fails_because(&world, &port, error).await, "BATCH_FAILED");
        assert_eq!(port.cap("ft_transfer"), half);
    }
    // each success doubles it again
    for twice in [50, 100] {
        let mut attempt = world.pay(&port, world.members(2)).await;
        assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DONE; 2]);
        assert_eq!(port.cap("ft_transfer"), twice);
    }
}

/// Turns red where a batch whose payments took place stays open since what the token calls behind them failed, and where
/// that is not told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_behind_the_payments_takes_none_back() {
    let world = World::new(2);
    let port = world.port();
    world.devnet.fail_behind_transfers();
    let members = world.members(30);
    let mut attempt = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!(words(&verdicts), [("done", false); 30]);
    assert_eq!(world.paid(&members), [1; 30]);
    let told = port.concerns();
    let [one] = &told[..] else { panic!("{told:?}") };
    assert!(one.kind == "EVENTS_SURPLUS" && one.facts.contains("hook.of.nowhere"), "{one:?}");
}
