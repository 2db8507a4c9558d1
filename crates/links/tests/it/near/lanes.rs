//! Keys that are used elsewhere: the pool stops, an attempt whose nonce another program spent is dead, and what is not shown proves
//! nothing.
//!
//! Red with a wrong build that takes a spent nonce for the proof that nothing of ours landed
//! (`a_spent_nonce_alone_is_no_proof`), or that goes on from the chain's nonce (`a_key_that_is_ahead_stops_the_pool`); and
//! with one that takes a key that is not there for that proof (`a_key_that_is_gone_is_no_proof`): without a look at the
//! nonce behind the block before, at the chunks of its last block, at a second provider.

use super::world::{RELAY, VALIDITY, World};
use devnet::near::near_primitives::account::AccessKey;
use devnet::near::near_primitives::action::{
    Action, AddKeyAction, DeleteKeyAction, TransferAction,
};
use devnet::near::near_primitives::types::Balance;
use devnet::near::{Fault, Lie, Rule, Wallet};
use kernel::answer::Answer;
use kernel::attempt::Attempt;
use kernel::ports::chain::{AttemptProof, Chain, KEY_ABSENT, LANE_AHEAD, LaneMark};
use links::near::NearChain;
use serde_json::json;

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

/// An attempt that no block has, and the wallets' transactions that took its nonce or later ones.
struct PassedAttempt {
    world: World,
    port: NearChain,
    attempt: Attempt,
    spent_by: Vec<String>,
}

/// The key spent a nonce of its own before; then wallets take the nonces that are so far beyond the attempt's.
async fn passed_attempt(providers: usize, beyond: impl IntoIterator<Item = u64>) -> PassedAttempt {
    let world = World::new(providers);
    let port = world.port();
    let mut earlier = world.pay(&port, world.members(1)).await;
    world.see_through(&port, &mut earlier).await;
    let attempt = world.pay(&port, world.members(2)).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    world.devnet.advance(5);
    let lock: u64 = attempt.lock.0.parse().unwrap();
    let spend = |more| use_elsewhere(&world, &world.relay, lock + more);
    let spent_by = beyond.into_iter().map(spend).collect();
    world.devnet.advance(VALIDITY);
    PassedAttempt { world, port, attempt, spent_by }
}

/// Turns red where an attempt whose nonce a wallet took waits for ever, where a nonce that was passed over does,
/// and where what the wallet did cannot be read from the proof on (run: the adapter of before, LOCK_SPENT for ever).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_whose_nonce_another_transaction_spent_is_dead() {
    for beyond in [vec![0], vec![1], vec![0, 1], vec![3, 4, 9]] {
        let PassedAttempt { world, port, attempt, spent_by } =
            passed_attempt(2, beyond.clone()).await;
        let proof = world.look(&port, &attempt).await;
        let AttemptProof::SpentElsewhere(spent) = proof else {
            unreachable!("{beyond:?}: {proof:?}")
        };
        assert_eq!(&*spent.evidence.code, "SPENT_ELSEWHERE");
        let doc = spent.evidence.doc.as_deref().unwrap_or_default();
        assert!(doc.contains(&spent_by[0]), "{doc}");
        let mark = LaneMark {
            lane: attempt.lane.clone(),
            lock: spent.before.lock,
            anchor: Some(spent.before.height),
            seen: None,
        };
        let ahead = port.ahead(std::slice::from_ref(&mark)).await.unwrap();
        assert_eq!(ahead.len(), 1);
        let found = port.foreign(&mark).await.unwrap();
        assert_eq!(found.len(), spent_by.len(), "{beyond:?}");
        for (one, hash) in found.iter().zip(&spent_by) {
            assert!(one.facts.contains(hash) && one.pays.is_none(), "{}", one.facts);
        }
        // the bytes reach the chain, too late
        world.clear();
        world.devnet.release();
        world.devnet.settle();
        assert_eq!(world.paid(&attempt.members), [0, 0]);
    }
}

/// Turns red where one provider's word, a block that is not shown, or a transaction that one of two hides is a proof.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_nonce_alone_is_no_proof() {
    let PassedAttempt { world, port, attempt, .. } = passed_attempt(1, [0]).await;
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");

    let PassedAttempt { world, port, attempt, .. } = passed_attempt(2, [0]).await;
    let error = json!({ "name": "HANDLER_ERROR", "cause": { "name": "UNKNOWN_CHUNK" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": error });
    let pruned = Rule::always(Fault::Answer { code: 200, body }).on(&["chunk"]);
    world.devnet.endpoint(1).unwrap().add(pruned);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");

    let PassedAttempt { world, port, attempt, .. } = passed_attempt(2, [0]).await;
    let empty = json!({ "jsonrpc": "2.0", "id": 1, "result": { "transactions": [] } });
    let hides = Rule::always(Fault::Answer { code: 200, body: empty }).on(&["chunk"]);
    world.devnet.endpoint(0).unwrap().add(hides);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");
    world.clear();
    let proof = world.look(&port, &attempt).await;
    assert!(matches!(proof, AttemptProof::SpentElsewhere(_)), "{proof:?}");
}

/// Turns red where a key that was used is taken as it is now, and where one that the chain added later is looked
/// for where it was not (run: the chain's nonce of now counts).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_counts_from_where_the_journal_was_complete() {
    let world = World::new(2);
    let port = world.port();
    let lanes = port.lanes("ft_transfer");
    let complete = world.devnet.height();
    world.devnet.settle();
    let unused = port.new_lanes(&lanes, Some(complete)).await.unwrap().unwrap();
    assert_eq!(unused.len(), 2);
    assert!(unused.iter().all(|one| one.start.as_ref() == Some(&one.now)), "{unused:?}");
    let began: u64 = unused[0].now.lock.0.parse().unwrap();
    drop(use_elsewhere(&world, &world.relay, began + 3));
    let new = port.new_lanes(&lanes[..1], None).await.unwrap().unwrap();
    assert_eq!(new[0].start.as_ref(), Some(&new[0].now), "the journal is new to the chain");
    let found = port.new_lanes(&lanes[..1], Some(complete)).await.unwrap().unwrap();
    let start = found[0].start.clone().unwrap();
    assert_eq!((&*start.lock.0, start.height), (&*began.to_string(), complete));
    assert_eq!(*found[0].now.lock.0, *(began + 3).to_string());
    // no provider keeps the block
    let lost = port.new_lanes(&lanes[..1], Some(0)).await.unwrap().unwrap();
    assert!(complete > 0, "the chain begins above 0");
    assert_eq!(lost[0].start, None, "{lost:?}");
}

/// Turns red where a key that nodes say to be unknown with an error of its own is none that the account has not, where it
/// is not known of which block that is (run: height 0, which is behind), and where another error says the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_may_be_absent_by_an_error() {
    let world = World::new(2);
    let port = world.port();
    let (lane, members) = (port.lanes("ft_transfer")[0].clone(), world.members(1));
    for (name, class) in [("UNKNOWN_ACCESS_KEY", KEY_ABSENT), ("UNKNOWN_BLOCK", "NODE_REFUSED")] {
        let rule = Rule::always(Lie::Refused { name: name.to_owned() });
        world.everywhere(&rule.on(&["query view_access_key"]));
        let lock = port.next_lock(&lane, None, &members).await;
        assert_eq!(lock.unwrap_err().class, class, "{name}");
        world.clear();
    }
    let lock = port.next_lock(&lane, None, &members).await;
    assert!(lock.is_ok(), "{lock:?}");
}

/// The account's other key deletes the first one.
fn delete_key(world: &World) {
    let [first, second] = world.keys() else { unreachable!("two keys") };
    world.devnet.delete_key(second, first.public_key()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_whose_key_was_deleted_unspent_is_dead() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    // the key spent a nonce before
    let mut earlier = world.pay(&port, world.members(1)).await;
    world.see_through(&port, &mut earlier).await;
    let attempt = world.pay(&port, members.clone()).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    world.devnet.advance(7);
    delete_key(&world);
    world.devnet.advance(VALIDITY);
    let proof = world.look(&port, &attempt).await;
    let AttemptProof::Closed(verdicts) = proof else { unreachable!("{proof:?}") };
    for verdict in &verdicts {
        let Answer::Dead(why) = &verdict.answer else { unreachable!("{verdict:?}") };
        assert_eq!((&*why.code, verdict.alone), ("KEY_DELETED", false));
        let doc = why.doc.as_deref().unwrap_or_default();
        assert!(doc.contains(&format!(r#""nonce":{}"#, attempt.lock)), "{doc}");
    }
    // the bytes reach the chain, before and after the key is there again
    world.clear();
    world.devnet.release();
    world.devnet.settle();
    let [first, second] = world.keys() else { unreachable!("two keys") };
    let key = AddKeyAction { public_key: first.public_key(), access_key: AccessKey::full_access() };
    let add = vec![Action::AddKey(Box::new(key))];
    world.devnet.run(second, &second.account, add).unwrap();
    drop(port.broadcast(&[attempt]).await);
    world.devnet.settle();
    assert_eq!(world.paid(&members), [0, 0]);
}

/// Each of them is open for good: the key is gone, and what it did before is not shown, or by one alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_gone_is_no_proof() {
    let denies = |world: &World| world.everywhere(&Rule::always(Lie::Unknown));
    // it landed, and no provider finds it
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let attempt = world.pay(&port, members.clone()).await;
    drop(world.look(&port, &attempt).await);
    world.devnet.settle();
    denies(&world);
    delete_key(&world);
    world.devnet.advance(VALIDITY);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");
    assert_eq!(world.paid(&members), [1, 1]);

    // it landed in the very block that deleted the key
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    let attempt = world.pay(&port, members.clone()).await;
    let [first, second] = world.keys() else { unreachable!("two keys") };
    let nonce = world.devnet.nonce(&second.account, &second.public_key()).unwrap() + 1;
    let delete = DeleteKeyAction { public_key: first.public_key() };
    let delete = vec![Action::DeleteKey(Box::new(delete))];
    let signed = second.sign(nonce, world.devnet.final_hash(), &second.account, delete);
    drop(world.look(&port, &attempt).await);
    world.devnet.submit(signed);
    world.devnet.settle();
    denies(&world);
    world.devnet.advance(VALIDITY);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");
    assert_eq!(world.paid(&members), [1, 1]);

    // one provider hides the key, and finds nothing
    let world = World::new(2);
    let port = world.port();
    let members = world.members(1);
    let attempt = world.pay(&port, members.clone()).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    let hidden = Lie::HiddenKey { key: world.relay.public_key() };
    world.devnet.endpoint(0).unwrap().add(Rule::always(hidden));
    world.devnet.advance(VALIDITY + 5);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");

    // one provider alone
    let world = World::new(1);
    let port = world.port();
    let members = world.members(1);
    let attempt = world.pay(&port, members.clone()).await;
    world.withhold();
    drop(world.look(&port, &attempt).await);
    delete_key(&world);
    world.devnet.advance(VALIDITY);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");
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
    let proof = world.look(&port, &open).await;
    assert!(matches!(proof, AttemptProof::SpentElsewhere(_)), "{proof:?}");
    let mark = |attempt: &Attempt| LaneMark {
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        anchor: None,
        seen: None,
    };
    let ahead = port.ahead(&[mark(&attempt), mark(&open)]).await.unwrap();
    let ahead: Vec<_> = ahead.iter().map(|one| &one.lane).collect();
    assert_eq!(ahead, [&lanes[0], &lanes[1]]);
    // and nothing of it is left behind where the keys are other ones
    assert_eq!(port.ahead(&[]).await, Ok(Vec::new()));
}
