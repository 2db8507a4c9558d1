//! Transactions of another program under a key of the pool: what they paid is not paid again, what concerns
//! no transfer is explained, and what cannot be trusted keeps the chain from sending.

use super::operators::ChainEnv;
use engine::operators::{AdminAction, Verdict};
use kernel::attempt::Attempt;
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::operators::Subject;
use sim::chain::{Moment, Paid, relay_terms};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Two lanes that were used, and a chain that persons paused.
fn used_lanes(env: &ChainEnv) -> u64 {
    let first = env.pays(&["alice", "bob", "carol", "dave", "erin"]);
    env.run(30_000);
    assert_eq!(env.states(&first), ["COMPLETED"; 5]);
    env.pause()
}

fn paid(id: Id, account: &str, amount: u128) -> Paid {
    Paid { id, account: account.into(), asset: AssetId(3), amount: Amount(amount) }
}

fn kinds(env: &ChainEnv) -> Vec<String> {
    env.open_cases().into_iter().map(|(kind, _)| kind).collect()
}

fn attempts(env: &ChainEnv, lane: &str) -> Vec<Attempt> {
    let (journal, chain) = (env.journal(), env.chain_id());
    let lane: Arc<str> = lane.into();
    let found = env.block_on(async move { journal.attempts_of_lane(chain, lane, 9).await });
    found.unwrap_or_else(|cause| panic!("{cause}"))
}

/// Turns red where one lane alone is looked at before the chain goes on: the other one pays the transfer
/// again. (Run: without the look before the first claim, and with a look at the lane that was found.)
#[test]
fn what_another_program_paid_is_not_paid_again() {
    for lane in ["key-1", "key-2"] {
        let mut env = ChainEnv::open(None);
        let number = used_lanes(&env);
        let ids = env.pays_again(&["alice", "bob"]);
        env.run(5_000);
        assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"; 2]);
        let lock = env.chain().spends_elsewhere(lane, vec![paid(ids[0], "alice", 100)]);
        env.run(5_000);
        // a process that begins looks at every lane, whichever it uses first
        env.restart();
        env.lifts(number);
        env.run(60_000);
        assert_eq!(env.states(&ids), ["COMPLETED"; 2], "{lane}");
        for id in &ids {
            assert_eq!(env.chain().paid().get(id).map(Vec::len), Some(1), "{lane}: {id}");
        }
        let of = attempts(&env, lane).into_iter().find(|attempt| attempt.lock == lock);
        let of = of.expect("it is stored as an attempt");
        assert!(of.closed.is_some() && of.forms.iter().all(|form| form.bytes.is_empty()));
        assert_eq!(of.members.iter().map(|member| member.id).collect::<Vec<_>>(), [ids[0]]);
        assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]), "{lane}");
        assert_eq!(env.chain().faults(), [""; 0]);
    }
}

/// Turns red where a transaction that concerns no transfer keeps the pool from going on, or where its lock is
/// taken again.
#[test]
fn what_concerns_no_transfer_is_explained_and_the_chain_goes_on() {
    let env = ChainEnv::open(None);
    let number = used_lanes(&env);
    let locks: Vec<_> = (0..3).map(|_| env.chain().spends_elsewhere("key-1", Vec::new())).collect();
    env.run(5_000);
    let ids = env.pays_again(&["alice", "bob", "carol", "dave", "erin"]);
    env.lifts(number);
    env.run(90_000);
    assert_eq!(env.states(&ids), ["COMPLETED"; 5]);
    let stored = attempts(&env, "key-1");
    for lock in &locks {
        let of = stored.iter().find(|attempt| attempt.lock == *lock).expect("it is stored");
        assert!(of.closed.is_some() && of.members.is_empty() && of.sent, "{of:?}");
    }
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]));
    assert_eq!(env.chain().faults(), [""; 0]);
    assert!(ids.iter().all(|id| env.chain().paid().get(id).map(Vec::len) == Some(1)));
}

/// Turns red where a memo is trusted: another amount, another receiver, a transfer that is over, one that
/// no journal knows.
#[test]
fn what_names_a_transfer_in_another_way_keeps_the_chain_stopped() {
    for wrong in ["amount", "receiver", "over", "unknown"] {
        let env = ChainEnv::open(None);
        let over = env.pays(&["alice"]);
        let number = used_lanes_after(&env);
        let ids = env.pays_again(&["alice", "bob"]);
        env.run(5_000);
        let actions = match wrong {
            "amount" => vec![paid(ids[0], "alice", 99)],
            "receiver" => vec![paid(ids[0], "carol", 100)],
            "over" => vec![paid(over[0], "alice", 100)],
            _ => vec![paid(Id(1 << 100), "alice", 100)],
        };
        let lock = env.chain().spends_elsewhere("key-1", actions);
        env.run(5_000);
        let before = env.log().len();
        env.lifts(number);
        env.run(60_000);
        assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"; 2], "{wrong}");
        let after = env.log().split_off(before);
        assert!(!after.contains(&Moment::Broadcast), "{wrong}: something was sent");
        assert_eq!(
            env.open_cases(),
            [("FOREIGN_PAYMENT".to_owned(), Subject::Chain(env.chain_id()))]
        );
        let stored = attempts(&env, "key-1");
        let of =
            stored.iter().find(|attempt| attempt.lock == lock).expect("the evidence is stored");
        assert!(of.members.is_empty() && of.closed.is_some(), "{wrong}: {of:?}");
        // what a person lifts does not come back
        let [pause] = env.pauses()[..] else { panic!("{wrong}: {:?}", env.pauses()) };
        env.lifts(pause);
        env.run(60_000);
        assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]), "{wrong}");
        assert_eq!(env.states(&ids), ["COMPLETED"; 2], "{wrong}");
    }
}

/// Turns red where one payment that is not trusted has the whole transaction thrown away: what it paid exactly is
/// claimed again once two persons let the chain go on.
#[test]
fn each_payment_of_a_transaction_is_judged_by_itself() {
    judged_by_itself(None);
}

#[expect(clippy::indexing_slicing, clippy::expect_used, reason = "the body of a test")]
fn judged_by_itself(wrong: Option<&str>) {
    let mut env = ChainEnv::open(wrong);
    let over = env.pays(&["alice"]);
    let number = used_lanes_after(&env);
    let ids = env.pays_again(&["alice", "bob", "carol", "dave", "erin"]);
    env.run(5_000);
    let unknown = Id(1 << 100);
    let actions = vec![
        paid(unknown, "alice", 100),
        paid(ids[0], "alice", 100),
        paid(ids[1], "bob", 99),
        paid(over[0], "alice", 100),
        // the first one that is exact closes it, and one more is one too many
        paid(ids[2], "carol", 5),
        paid(ids[2], "carol", 100),
        paid(ids[2], "carol", 100),
        paid(ids[3], "dave", 100),
    ];
    let lock = env.chain().spends_elsewhere("key-1", actions);
    env.run(5_000);
    let before = env.log().len();
    env.lifts(number);
    env.run(60_000);
    // they are closed from the chain while it stands, and after a restart as well
    for _ in 0..2 {
        let states = ["COMPLETED", "QUEUED_TRANSFER", "COMPLETED", "COMPLETED", "QUEUED_TRANSFER"];
        assert_eq!(env.states(&ids), states);
        assert_eq!(kinds(&env), ["FOREIGN_PAYMENT"]);
        assert!(!env.log().split_off(before).contains(&Moment::Broadcast), "something was sent");
        env.restart();
        env.run(30_000);
    }
    let stored = attempts(&env, "key-1");
    let of = stored.iter().find(|attempt| attempt.lock == lock).expect("it is stored");
    let members: Vec<Id> = of.members.iter().map(|member| member.id).collect();
    assert_eq!((members, of.closed.is_some()), (vec![ids[0], ids[2], ids[3]], true));
    let facts = env.facts("FOREIGN_PAYMENT");
    for part in [
        format!("no transfer {unknown} is known"),
        format!("{} should pay 100", ids[1]),
        format!("{} is COMPLETED, and does not wait", over[0]),
        format!("{} should pay 100", ids[2]),
        format!("{} is paid once more by it", ids[2]),
        format!("{} waits for this, and is closed by it", ids[0]),
        format!("{} waits for this, and is closed by it", ids[3]),
    ] {
        assert!(facts.contains(&part), "{part}: {facts}");
    }
    let [pause] = env.pauses()[..] else { panic!("{:?}", env.pauses()) };
    env.lifts(pause);
    env.run(90_000);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]));
    assert_eq!(env.states(&ids), ["COMPLETED"; 5]);
    let chain = env.chain().paid();
    let times: Vec<usize> = ids.iter().map(|id| chain.get(id).map_or(0, Vec::len)).collect();
    // the other program's are counted: what it paid exactly has one of ours no more
    assert_eq!(times, [1, 2, 3, 1, 1]);
}

#[test]
fn a_transaction_that_is_thrown_away_with_its_members_is_found() {
    let played = catch_unwind(AssertUnwindSafe(|| judged_by_itself(Some("foreign-thrown-away"))));
    assert!(played.is_err(), "it was not found");
}

/// Turns red where a client that repeats its key after a restore is paid twice: before the transaction of the lost
/// transfer is read, or after it. (Run: an id of random numbers.)
#[test]
fn what_was_paid_before_a_restore_is_not_paid_again() {
    for early in [true, false] {
        let mut env = ChainEnv::open(None);
        let first = env.pays(&["alice", "bob", "carol", "dave", "erin"]);
        env.run(30_000);
        assert_eq!(env.states(&first), ["COMPLETED"; 5]);
        let backup = env.place.backup();
        let lost = env.pays_again(&["alice", "bob", "carol"]);
        env.run(30_000);
        assert_eq!(env.states(&lost), ["COMPLETED"; 3]);
        env.restore(backup);
        let early = early.then(|| env.pays_again(&["alice", "bob", "carol", "dave"]));
        env.run(30_000);
        assert_eq!(kinds(&env), ["FOREIGN_PAYMENT"]);
        let notes = env.place.case_comments("FOREIGN_PAYMENT").concat();
        let facts = env.facts("FOREIGN_PAYMENT") + &notes;
        assert!(lost.iter().all(|id| facts.contains(&format!("no transfer {id}"))), "{facts}");
        let [pause] = env.pauses()[..] else { panic!("{:?}", env.pauses()) };
        env.lifts(pause);
        env.run(5_000);
        let ids = early.unwrap_or_else(|| env.pays_again(&["alice", "bob", "carol", "dave"]));
        env.run(60_000);
        for _ in 0..2 {
            assert_eq!(env.states(&ids), ["COMPLETED"; 4]);
            let chain = env.chain().paid();
            let times = |ids: &[Id]| -> Vec<usize> {
                ids.iter().map(|id| chain.get(id).map_or(0, Vec::len)).collect()
            };
            assert_eq!((times(&lost), times(&ids)), (vec![1; 3], vec![0, 0, 0, 1]));
            assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]));
            env.restart();
            env.run(30_000);
        }
        assert_eq!(env.chain().faults(), [""; 0]);
    }
}

/// Turns red where the client's key alone makes a payment its own: with another amount or receiver it waits for a
/// person, and keeps no other transfer.
#[test]
fn a_key_that_was_paid_otherwise_before_a_restore_waits_for_a_person() {
    let mut env = ChainEnv::open(None);
    env.run(5_000);
    let backup = env.place.backup();
    let terms = |chain, to: &str, amount| relay_terms(chain, to, amount, "the key");
    let lost = env.opens(&["alice"], |chain, to| terms(chain, to, 100));
    env.run(30_000);
    assert_eq!(env.states(&lost), ["COMPLETED"]);
    env.restore(backup);
    env.run(30_000);
    let [pause] = env.pauses()[..] else { panic!("{:?}", env.pauses()) };
    env.lifts(pause);
    let again = env.opens(&["alice"], |chain, to| terms(chain, to, 200));
    let others = env.pays(&["bob", "carol"]);
    env.run(60_000);
    assert_eq!(env.states(&again), ["QUEUED_TRANSFER"]);
    assert_eq!(env.states(&others), ["COMPLETED"; 2]);
    assert_eq!(env.open_cases(), [("FOREIGN_PAYMENT".to_owned(), Subject::Transfer(again[0]))]);
    assert_eq!(env.chain().paid().get(&again[0]), None);
    // two persons end it, and with it the case
    let (id, verdict) = (again[0], Verdict::Rejected);
    let resolve = AdminAction::Resolve { id, verdict, evidence: Default::default() };
    let done = env.by_two_persons(resolve);
    assert!(done.is_ok(), "{done:?}");
    env.run(60_000);
    assert_eq!((env.states(&again), kinds(&env)), (vec!["FAILED"], vec![]));
}

fn used_lanes_after(env: &ChainEnv) -> u64 {
    env.run(30_000);
    env.pause()
}

/// Turns red where what no provider shows is taken for explained, where a restart does that, and where what
/// two persons accept covers more than what was seen.
#[test]
fn what_is_not_shown_stays_unexplained_until_persons_accept_it() {
    let mut env = ChainEnv::open(None);
    let number = used_lanes(&env);
    env.chain().used_elsewhere("key-1", 50);
    let ids = env.pays_again(&["alice"]);
    env.lifts(number);
    for _ in 0..2 {
        env.run(30_000);
        assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"]);
        assert_eq!(kinds(&env), ["LANE_AHEAD"]);
        env.restart();
    }
    env.run(30_000);
    let [pause] = env.pauses()[..] else { panic!("{:?}", env.pauses()) };
    // more than what they look at is no part of it
    env.chain().used_elsewhere("key-1", 60);
    env.lifts(pause);
    env.run(30_000);
    assert_eq!(
        (env.states(&ids), kinds(&env)),
        (vec!["QUEUED_TRANSFER"], vec!["LANE_AHEAD".into()])
    );
    let [pause] = env.pauses()[..] else { panic!("{:?}", env.pauses()) };
    env.lifts(pause);
    env.run(60_000);
    assert_eq!(env.states(&ids), ["COMPLETED"]);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]));
}
