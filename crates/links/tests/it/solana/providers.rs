//! Providers that lag, leave out or lie: one of them proves nothing, and one of three hinders nothing.
//!
//! Red with wrong builds that close an attempt by one provider's word (`one_lying_provider_proves_nothing`), or that
//! take one index for the history of a lane (`an_index_with_a_gap_hides_no_use_of_a_lane`).

use super::world::{World, said};
use devnet::solana::{Edit, Fault, Lie, Rule, Signature};
use kernel::attempt::Attempt;
use kernel::ports::chain::{Chain, LaneMark};
use serde_json::json;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction::{InstructionError, TransactionError};

fn name(attempt: &Attempt) -> Signature {
    let bytes: [u8; 64] = attempt.forms[0].name.as_ref().try_into().unwrap();
    Signature::from(bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_lying_provider_proves_nothing() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    // it shows another nonce, as if the lock were spent, of a payment that never landed
    let other = world.lock(1).to_bytes();
    let liar = world.endpoint(1);
    let data = nonce_data(&world, &other);
    let nonce = Fault::Edited { edits: vec![Edit::set("/value/2/data/0", json!(data))] };
    liar.add(Rule::always(nonce).on(&["getMultipleAccounts"]));
    world.not_yet(&port, &attempt).await;
    liar.clear();
    // it says that what failed succeeded, and that what succeeded failed
    let no_account = devnet::solana::Wallet::derived("no account").address();
    let failing = world.pay(&port, world.record(&no_account, 5)).await;
    world.send(&port, &failing).await;
    world.devnet.settle();
    liar.add(Rule::always(Lie::Outcome { err: None }));
    assert_eq!(world.not_yet(&port, &failing).await, "PROVIDERS_DISAGREE");
    liar.clear();
    assert_eq!(said(&world.verdict(&port, &failing).await).0, "rejected");
    let attempt = world.pay_behind(&port, Some(&failing.lock), world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let err = Some(failure());
    liar.add(Rule::always(Lie::Outcome { err }));
    assert_eq!(world.not_yet(&port, &attempt).await, "PROVIDERS_DISAGREE");
    liar.clear();
    // it does not know it, or shows other balances
    liar.add(Rule::always(Lie::Unknown));
    assert_eq!(world.not_yet(&port, &attempt).await, "FEW_PROVIDERS");
    liar.clear();
    let at = "/meta/postTokenBalances/0/uiTokenAmount/amount";
    let edits = vec![Edit::set(at, json!("1"))];
    liar.add(Rule::always(Fault::Edited { edits }).on(&["getTransaction"]));
    assert_eq!(world.not_yet(&port, &attempt).await, "PROVIDERS_DISAGREE");
    liar.clear();
    assert_eq!(said(&world.verdict(&port, &attempt).await).0, "done");
}

/// Turns red where one provider says which account of a wallet is paid: it could name one that does not exist, and what
/// fails there would be the receiver's refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_does_not_choose_the_account_that_is_paid() {
    let world = World::new(2);
    let port = world.port();
    let request = world.request(&port, 0, None, world.member()).await;
    let other = json!("11111111111111111111111111111111");
    let owner = Fault::Edited { edits: vec![Edit::set("/value/0/owner", other)] };
    world.endpoint(0).add(Rule::always(owner).on(&["getMultipleAccounts"]));
    assert_eq!(port.sign(&request).await.unwrap_err().cause.class, "PROVIDERS_DISAGREE");
    world.clear();
    assert!(port.sign(&request).await.is_ok());
}

/// All of them show it paid, and the balances say that nothing was. Turns red where the outcome alone is a payment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_moved_nothing_is_no_payment() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let at = "/meta/preTokenBalances/*/uiTokenAmount/amount";
    let even = Fault::Edited {
        edits: vec![
            Edit::set(at, json!("5")),
            Edit::set("/meta/postTokenBalances/*/uiTokenAmount/amount", json!("5")),
        ],
    };
    world.everywhere(&Rule::always(even).on(&["getTransaction"]));
    assert_eq!(world.not_yet(&port, &attempt).await, "EVENTS_MISMATCH");
    world.clear();
    // an answer without an outcome is none
    let none = Fault::Edited { edits: vec![Edit::set("/meta", json!({}))] };
    world.everywhere(&Rule::always(none).on(&["getTransaction"]));
    assert_eq!(world.not_yet(&port, &attempt).await, "BAD_REPLY");
    world.clear();
    assert_eq!(said(&world.verdict(&port, &attempt).await).0, "done");
}

/// Turns red where a block from before the form was signed says that its lock is spent, or free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_lags_proves_nothing() {
    let world = World::new(2);
    let port = world.port();
    let first = world.pay(&port, world.member()).await;
    world.send(&port, &first).await;
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &first).await).0, "done");
    world.devnet.advance(20);
    let attempt = world.pay_behind(&port, Some(&first.lock), world.member()).await;
    // the lagging one shows the nonce from before: another one than the lock
    world.endpoint(1).lag(70);
    assert_eq!(world.not_yet(&port, &attempt).await, "BEHIND");
    let lane = &attempt.lane;
    let lock = port.next_lock(lane, Some(&first.lock), &[]).await;
    assert_eq!(lock.unwrap_err().class, "BEHIND");
    // a process that begins has seen no later block, and all of them lag
    world.endpoint(0).lag(70);
    let begun = world.port();
    for _ in 0..2 {
        assert_eq!(world.not_yet(&begun, &attempt).await, "BEHIND");
        world.clock.forward(60_000);
    }
    world.endpoint(0).lag(0);
    world.send(&port, &attempt).await;
    world.devnet.settle();
    world.endpoint(1).lag(0);
    assert_eq!(said(&world.verdict(&port, &attempt).await).0, "done");
    assert_eq!(world.paid(&attempt.members[0]), 1);
}

/// The index of one provider leaves out what another program did with a lane, or that of both does. Turns red where the
/// value that it left is taken for the lock behind ours: what it paid would never be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_with_a_gap_hides_no_use_of_a_lane() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let foreign: VersionedTransaction = world.foreign(world.lock(0), &[]);
    let hidden = foreign.signatures[0].to_string();
    world.devnet.submit(foreign);
    world.devnet.settle();
    let gap = |hidden: &str| Rule::always(Lie::Gap { signatures: vec![hidden.to_owned()] });
    let mark = LaneMark {
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        anchor: attempt.forms[0].anchor,
        seen: None,
    };
    world.endpoint(1).add(gap(&hidden));
    let next = world.port().next_lock(&attempt.lane, Some(&attempt.lock), &[]).await;
    assert_eq!(next.unwrap_err().class, "LANE_AHEAD");
    assert_eq!(world.port().foreign(&mark).await.unwrap().len(), 1);
    // it hides the transaction too: that is no agreement
    world.endpoint(1).add(Rule::always(Lie::Unknown).of(&hidden));
    let next = world.port().next_lock(&attempt.lane, Some(&attempt.lock), &[]).await;
    assert_eq!(next.unwrap_err().class, "NOT_SHOWN");
    world.endpoint(1).clear();
    // the one that spent the mark's lock is left out by all: where the walk ends is not known
    world.everywhere(&gap(&name(&attempt).to_string()));
    assert!(world.port().foreign(&mark).await.is_err());
    world.clear();
    assert_eq!(world.port().foreign(&mark).await.unwrap().len(), 1);
}

/// Turns red where one of three that lies in any of these ways keeps a payment open, or a lane from its next lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_hinders_nothing() {
    let world = World::new(3);
    let port = world.port();
    let mut last = None;
    let genesis_hash = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d".to_owned();
    let other = json!(nonce_data(&world, &[9; 32]));
    for lie in [
        Rule::always(Fault::Refuse),
        Rule::always(Lie::OtherChain { genesis_hash }),
        Rule::always(Lie::Unknown),
        Rule::always(Lie::Outcome { err: Some(failure()) }),
        Rule::always(Fault::Edited { edits: vec![Edit::set("/value/2/data/0", other)] })
            .on(&["getMultipleAccounts"]),
        Rule::always(Fault::Edited {
            edits: vec![Edit::set("/value", json!([null, null, null, null]))],
        })
        .on(&["getMultipleAccounts"]),
        Rule::always(Fault::Edited { edits: vec![Edit::set("", json!([]))] })
            .on(&["getSignaturesForAddress"]),
        Rule::always(Fault::Stale { blocks: 200 }),
    ] {
        let what = format!("{lie:?}");
        world.endpoint(0).add(lie);
        let attempt = world.pay_behind(&port, last.as_ref(), world.member()).await;
        world.send(&port, &attempt).await;
        world.devnet.settle();
        assert_eq!(said(&world.verdict(&port, &attempt).await).0, "done", "{what}");
        world.endpoint(0).clear();
        world.clock.forward(60_000);
        last = Some(attempt.lock);
    }
}

/// The data of the first lane's account, with another nonce.
fn nonce_data(world: &World, nonce: &[u8; 32]) -> String {
    use base64::Engine as _;
    let mut data = world.devnet.account(&world.lane(0)).unwrap().data;
    data[40..72].copy_from_slice(nonce);
    base64::engine::general_purpose::STANDARD.encode(data)
}

/// The error of a transfer that failed, as a lie shows it.
fn failure() -> TransactionError {
    TransactionError::InstructionError(3, InstructionError::Custom(1))
}
