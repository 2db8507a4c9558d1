//! Transactions of another program under the vault's key.
//!
//! Red with wrong builds that take a foreign transaction for ours (`what_another_program_did_with_the_lock_is_no_payment`), or
//! that believe its memo (`a_memo_is_no_evidence`).

use super::world::World;
use devnet::solana::{Address, MEMO_PROGRAM};
use kernel::attempt::{Attempt, Lock};
use kernel::ports::chain::{AttemptProof, Chain, FOREIGN_FORM, ForeignUse, LaneMark, SpentLock};
use links::solana::SolanaChain;
use spl_memo_interface::instruction::build_memo;

fn mark(attempt: &Attempt) -> LaneMark {
    LaneMark {
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        anchor: attempt.forms[0].anchor,
        seen: None,
    }
}

async fn spent_elsewhere(world: &World, port: &SolanaChain, attempt: &Attempt) -> SpentLock {
    match world.prove(port, attempt).await {
        AttemptProof::SpentElsewhere(spent) => spent,
        other @ (AttemptProof::Closed(_) | AttemptProof::NotYet(_) | AttemptProof::Form(_)) => {
            unreachable!("another transaction spent it: {other:?}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_did_with_the_lock_is_no_payment() {
    let world = World::new(2);
    let port = world.port();
    let first = world.pay(&port, world.member()).await;
    world.send(&port, &first).await;
    world.devnet.settle();
    let attempt = world.pay_behind(&port, Some(&first.lock), world.member()).await;
    world.devnet.submit(world.foreign(world.lock(0), &[]));
    world.devnet.settle();
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let spent = spent_elsewhere(&world, &port, &attempt).await;
    assert_eq!((&spent.before.lock, &spent.left.lock), (&first.lock, &attempt.lock));
    assert!(spent.before.height < spent.left.height);
    assert!(spent.evidence.doc.is_some());
    assert_eq!(world.paid(&attempt.members[0]), 0);
    // from before it on it is read: it and nothing else
    let anchor = Some(spent.before.height);
    let from = LaneMark { lock: spent.before.lock, anchor, ..mark(&attempt) };
    let found = port.foreign(&from).await.unwrap();
    assert_eq!(found.iter().map(|one| &one.lock).collect::<Vec<_>>(), [&attempt.lock]);
    // the lane goes on
    assert!(port.next_lock(&attempt.lane, Some(&attempt.lock), &[]).await.is_ok());
    // of a lane that was never used before, the first lock
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.devnet.submit(world.foreign(world.lock(0), &[]));
    world.devnet.settle();
    let spent = spent_elsewhere(&world, &port, &attempt).await;
    assert_eq!(&*spent.before.lock.0, "unspent");
    let from = LaneMark { lock: spent.before.lock, ..mark(&attempt) };
    assert_eq!(port.foreign(&from).await.unwrap().len(), 1);
}

/// Several of them, one of which failed, behind each other. Turns red where one is left out, where they are in another
/// sequence, or where a failed one pays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_was_spent_beyond_a_mark_is_read_in_sequence() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let (member, mut locks) = (world.member(), Vec::new());
    let no_account = devnet::solana::Wallet::derived("no account").address();
    for to in [&world.alices, &no_account, &world.alices] {
        let lock = world.lock(0);
        locks.push(Lock(lock.to_string().into()));
        world.devnet.submit(world.paid_elsewhere(lock, to, 5, &member.id.to_string()));
        world.devnet.settle();
    }
    let found: Vec<ForeignUse> = port.foreign(&mark(&attempt)).await.unwrap();
    assert_eq!(found.iter().map(|one| one.lock.clone()).collect::<Vec<_>>(), locks);
    let pays: Vec<bool> = found.iter().map(|one| one.pays.is_some()).collect();
    assert_eq!(pays, [true, false, true]);
    assert_eq!(found[0].names, [member.id]);
    assert!(found[1].names.is_empty() && found[1].facts.contains("failed"), "{:?}", found[1]);
    let ahead = port.ahead(&[mark(&attempt)]).await.unwrap();
    assert_eq!(ahead.iter().map(|one| &one.lock).collect::<Vec<_>>(), [&locks[2]]);
    // from a later mark it goes on there
    let later = LaneMark { lock: locks[1].clone(), anchor: found[1].form.anchor, ..mark(&attempt) };
    assert_eq!(port.foreign(&later).await.unwrap().len(), 1);
}

/// Turns red where a transaction counts as the payment of a transfer since its memo names it, though it pays another account
/// or another amount, and where it pays at all what moves no token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memo_is_no_evidence() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let member = world.member();
    let id = member.id.to_string();
    let thief = world.devnet.create_wallet("thief").unwrap();
    let thiefs: Address = world.devnet.create_token_account(&thief.address()).unwrap();
    let amount = u64::try_from(member.target().amount.0).unwrap();
    let names = |lock| {
        [
            world.paid_elsewhere(lock, &thiefs, amount, &id),
            world.paid_elsewhere(lock, &world.alices, amount - 1, &id),
            world.foreign(lock, &[build_memo(&MEMO_PROGRAM, id.as_bytes(), &[])]),
        ]
    };
    for kind in 0..3 {
        world.devnet.submit(names(world.lock(0))[kind].clone());
        world.devnet.settle();
    }
    for used in port.foreign(&mark(&attempt)).await.unwrap() {
        assert_eq!(used.names, [member.id], "a person is told of it");
        let foreign = Attempt {
            lock: used.lock.clone(),
            members: [member.clone()].into(),
            forms: vec![used.form.clone()],
            ..attempt.clone()
        };
        assert_eq!(world.not_yet(&port, &foreign).await, FOREIGN_FORM, "{}", used.facts);
        let sent = port.broadcast(std::slice::from_ref(&foreign)).await.pop().unwrap();
        assert!(sent.is_err(), "what another program signed is not sent");
    }
}

/// With one provider nothing is explained, and nothing is declared dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_explains_nothing() {
    let world = World::new(1);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.devnet.submit(world.foreign(world.lock(0), &[]));
    world.devnet.settle();
    assert_eq!(world.not_yet(&port, &attempt).await, "ONE_PROVIDER");
    let from = LaneMark { lock: "unspent".into(), ..mark(&attempt) };
    assert_eq!(port.foreign(&from).await.unwrap_err().class, "ONE_PROVIDER");
    let no_account = devnet::solana::Wallet::derived("no account").address();
    let lock = attempt.lock.clone();
    let failing = world.pay_behind(&port, Some(&lock), world.record(&no_account, 5)).await;
    world.send(&port, &failing).await;
    world.devnet.settle();
    assert_eq!(world.not_yet(&port, &failing).await, "ONE_PROVIDER");
}
