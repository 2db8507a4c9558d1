//! The normal case, a Spot that was started again, and those that only look like it.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::folders::{books, copied, spot_at};
use crate::fixture::test_service::TestService;
use kernel::flow::life::Leg;
use kernel::ids::{Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Incarnation, Key, Known, Op, StoredOutcome};
use kernel::ports::clock::Rng as _;
use kernel::ports::ledger::{AccountStatus, Ledger, Reply, Stored};
use kernel::record::Account;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use testkit::{MINUTE, UniqueRng, wait_for, wait_until};
use tokio::sync::Semaphore;

/// Transfers whose deposit or withdraw was executed at Spot, without a reply.
async fn unheard(service: &TestService) -> Vec<Id> {
    service.faulty_spot.set_fault(CallFault::LoseReplies);
    let mut ids = Vec::new();
    for user in 1..6 {
        ids.push(service.open_transfer(FUNDING, user, 7).await);
        ids.push(service.open_transfer(SPOT, user, 5).await);
    }
    let executed = wait_until(MINUTE, async || {
        let (highest, ..) = books(&service.faulty_spot.spot()).await;
        highest >= service.known_spot().await.expect("Spot is known").highest + 10
    });
    assert!(executed.await, "the operations were not executed");
    ids
}

/// Waits until the journal knows Spot by another incarnation than this one.
async fn wait_for_other_incarnation(service: &TestService, before: Incarnation) -> Known {
    let other = wait_for(MINUTE, async || {
        let now = service.known_spot().await.expect("Spot is known");
        (now.incarnation != before).then_some(now)
    });
    other.await.expect("Spot is known by another incarnation")
}

/// Turns red where `Put::Receipt` is left out of the adoption: the receipts are missing then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_folder_is_adopted_with_what_it_did() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    for under_way in [true, false] {
        let ids = unheard(&service).await;
        let before = service.known_spot().await.expect("Spot is known");
        // whatever is adopted is not called yet
        service.faulty_spot.set_fault(CallFault::LoseRequestsOf(ids.iter().copied().collect()));
        if under_way {
            service.reopen_spot().await;
            // somebody calls it, and finds out that it is another incarnation
            service.open_transfer(FUNDING, 9, 3).await;
        } else {
            service.restart().await;
        }
        let after = wait_for_other_incarnation(&service, before.incarnation).await;
        assert!(after.highest >= before.highest + 10, "{before:?} {after:?}");
        let db = service.tool();
        for id in &ids {
            let sql = "SELECT count(*) FROM operations WHERE req_id = ? AND ledger = 2";
            let found: i64 = db.query_row(sql, [id.to_string()], |row| row.get(0)).expect("it");
            assert_eq!(found, 1, "{id} has no receipt");
        }
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_end(&ids).await;
        assert!(service.states(&ids).await.values().all(|state| *state == "COMMITTED"));
        service.assert_in_order().await;
    }
    service.work(1).await;
    service.assert_in_order().await;
}

/// Turns red where `adoption` asks the journal alone: an answer that came a moment before is not
/// a receipt yet, and the copy does not know it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_must_be_known_though_no_receipt_is_stored() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let copy = copied(&service.spot_folder());
    // an answer that leads to no receipt: an operator's, after a leg that nobody heard of
    unheard(&service).await;
    let frozen = service.set_spot_status(9, AccountStatus::Frozen, "freeze").await;
    assert_eq!(frozen, Ok(true));
    let known = service.engine.known(SPOT).expect("it is adopted").highest;
    let receipts = service.known_spot().await.expect("it is known").highest;
    assert!(known > receipts, "{known} {receipts}");
    let wrong = spot_at(copy.path()).await;
    let before = books(&wrong).await;
    assert_eq!(before.0, receipts);
    service.faulty_spot.route_to(Some(wrong.clone()));
    service.faulty_spot.set_fault(CallFault::None);
    let reason = service.wait_for_stored_halt().await;
    assert!(reason.contains("SPOT forgot operations"), "{reason}");
    assert_eq!(books(&wrong).await, before);
}

/// A copy that is level with the journal is a restart to every process; the one that it followed must
/// never come back. Turns red where the journal adopts an incarnation a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incarnation_that_another_followed_halts() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let original = service.faulty_spot.spot();
    let copy = copied(&service.spot_folder());
    service.faulty_spot.route_to(Some(spot_at(copy.path()).await));
    // a status is asked for: nothing is executed, so both stay level
    let level = service.known_spot().await.expect("it is known");
    let set = |key| service.set_spot_status(9, AccountStatus::Active, key);
    assert_eq!(set("a").await.map_err(|cause| cause.class), Err("WRONG_LEDGER"));
    wait_for_other_incarnation(&service, level.incarnation).await;
    assert_eq!(service.engine.halted(), None);
    let before = books(&original).await;
    service.faulty_spot.route_to(Some(original.clone()));
    let id = service.open_transfer(FUNDING, 1, 7).await;
    let reason = service.wait_for_stored_halt().await;
    assert!(reason.contains("SPOT came back as an incarnation that another"), "{reason}");
    assert!(reason.contains(&id.to_string()), "{reason}");
    assert_eq!(books(&original).await, before);
}

/// Turns red where `said` does not lead to adoption: a status change, or the horizon, is then told
/// to no process for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_to_notice_leads_to_adoption() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    for hour in 1..3_u64 {
        let before = service.known_spot().await.expect("it is known").incarnation;
        service.reopen_spot().await;
        // whoever asks whether it answers has asked since, and does not call it silent for hours
        tokio::time::sleep(Duration::from_millis(100)).await;
        // the horizon's task is the only one that calls now
        service.clock.forward(hour * 7_200_000);
        wait_for_other_incarnation(&service, before).await;
    }
    service.work(1).await;
    service.assert_in_order().await;
}

/// Turns red where a fence's receipt is stored as another refusal: the ledger lists a fence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_that_is_found_rolls_back() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let there = service.open_transfer(FUNDING, 1, 7).await;
    let back = service.open_transfer(SPOT, 2, 5).await;
    // a fence whose answer nobody heard, as a verdict before the crash would leave it
    let spot = service.faulty_spot.spot();
    for (id, leg) in [(there, Leg::Deposit), (back, Leg::Withdraw)] {
        let Reply::Answered(_, Stored::Found(found)) =
            spot.fence(spot.known(), Key { id, leg }).await
        else {
            panic!("it is fenced")
        };
        assert_eq!(found.outcome, StoredOutcome::Fenced);
    }
    drop(spot);
    service.faulty_spot.set_fault(CallFault::None);
    service.restart().await;
    service.wait_for_end(&[there, back]).await;
    let states = service.states(&[there, back]).await;
    assert_eq!((states[&there], states[&back]), ("ROLLED_BACK", "FAILED"));
    service.assert_in_order().await;
    service.restart().await;
    service.assert_in_order().await;
}

/// Turns red where a journal that met no Spot takes any, or does not ask for everything it did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_journal_takes_no_used_folder() {
    for forgotten in [false, true] {
        let mut used = TestService::open(true, NEVER).await;
        let ids = used.work(2).await;
        if forgotten {
            let (spot, all) = (used.faulty_spot.spot(), Id(u128::MAX));
            let told = spot.horizon(spot.known(), all, [].into()).await;
            assert!(matches!(told, Reply::Answered(..)));
            assert_eq!(books(&spot).await.2, []);
        }
        used.stop().await;
        let mut fresh = TestService::open(true, NEVER).await;
        fresh.stop().await;
        // without the file that says how far the journal came, no folder is known to have had one
        for name in [store::sqlite::FILE, store::sqlite::LAST_UNIT] {
            std::fs::remove_file(fresh.dir.path().join(name)).expect("the journal");
        }
        for tail in ["-wal", "-shm"] {
            let file = format!("{}{tail}", store::sqlite::FILE);
            drop(std::fs::remove_file(fresh.dir.path().join(file)));
        }
        let spot = used.faulty_spot.spot();
        let before = books(&spot).await;
        fresh.faulty_spot.route_to(Some(spot.clone()));
        fresh.start().await;
        let reason = fresh.wait_for_stored_halt().await;
        assert!(reason.contains("SPOT"), "{reason}");
        if forgotten {
            assert!(reason.contains("does not list its operations above 0"), "{reason}");
        } else {
            assert!(
                reason.contains(&format!(
                    " of {0} (100 units of asset 3: {0}/SPOT/DEPOSIT=100)",
                    ids[0]
                )),
                "{reason}"
            );
            assert!(reason.contains("more"), "{reason}");
        }
        assert_eq!(fresh.known_spot().await, None);
        assert_eq!(books(&spot).await, before);
    }
}

/// A journal that was set back while its Spot lived on: clients were told of what it no longer knows,
/// and a repeated key would pay again. Turns red where an incarnation that is known is called without a
/// look at what it did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_was_set_back_halts() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    service.stop().await;
    let old = copied(service.dir.path());
    service.start().await;
    let told = service.work(1).await;
    service.stop().await;
    for tail in ["", "-wal", "-shm"] {
        let file = format!("{}{tail}", store::sqlite::FILE);
        drop(std::fs::remove_file(service.dir.path().join(&file)));
        if old.path().join(&file).exists() {
            std::fs::copy(old.path().join(&file), service.dir.path().join(&file)).expect("a copy");
        }
    }
    let spot = service.faulty_spot.spot();
    let before = books(&spot).await;
    service.start().await;
    let reason = service.wait_for_stored_halt().await;
    let first = told.first().expect("one of them");
    assert!(reason.contains("did what no transfer asked for"), "{reason}");
    assert!(reason.contains(&first.to_string()), "{reason}");
    assert_eq!(books(&spot).await, before);
}

/// An operation with the right key and another amount, account or asset, found at a start. Turns
/// red where `claimed` compares the key alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claimed_key_with_other_money_halts() {
    let other = [
        |op: &mut Op| op.amount = Amount(op.amount.0 + 1),
        |op: &mut Op| op.account = Account::User(UserId(8)),
        |op: &mut Op| op.asset = kernel::ids::AssetId(4),
        // a leg that it never had there
        |op: &mut Op| op.key.leg = Leg::Withdraw,
    ];
    for change in other {
        let mut service = TestService::open(true, NEVER).await;
        service.work(1).await;
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        let id = service.open_transfer(FUNDING, 1, 7).await;
        service.stop().await;
        let mut op = Op {
            key: Key { id, leg: Leg::Deposit },
            account: Account::User(UserId(1)),
            other: None,
            asset: COIN,
            amount: Amount(7),
        };
        change(&mut op);
        let spot = service.faulty_spot.spot();
        let reply = spot.execute(spot.known(), [op].into()).await;
        assert!(matches!(reply, Reply::Answered(..)), "{reply:?}");
        drop(spot);
        service.faulty_spot.set_fault(CallFault::None);
        service.reopen_spot().await;
        service.start().await;
        let reason = service.wait_for_stored_halt().await;
        assert!(reason.contains("SPOT did what no transfer asked for"), "{reason}");
        assert!(reason.contains(&id.to_string()), "{reason}");
    }
}

/// Turns red where an answer of the incarnation before is taken for one of the new one's: the
/// receipt is then of an operation that the copy never did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_of_the_one_before_does_not_count() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let copy = copied(&service.spot_folder());
    let (original, held) = (service.faulty_spot.spot(), Arc::new(Semaphore::new(0)));
    let before = books(&original).await.0;
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    let late = service.open_transfer(FUNDING, 1, 7).await;
    let executed = wait_until(MINUTE, async || original.known().highest > before).await;
    assert!(executed, "the core did not execute it");
    service.faulty_spot.route_to(Some(spot_at(copy.path()).await));
    service.faulty_spot.set_fault(CallFault::None);
    // the copy is level with all that anybody heard: it is adopted, and works
    let next = service.open_transfer(FUNDING, 2, 7).await;
    service.wait_for_end(&[next]).await;
    held.add_permits(1);
    service.wait_for_end(&[late]).await;
    service.assert_in_order().await;
    assert_eq!(books(&service.faulty_spot.spot()).await.0, before + 2);
}

/// A folder that comes and goes: nothing is lost and no case is opened. Turns red where a new
/// incarnation that is not known yet is halted at instead of matched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_under_work_raise_no_alarm() {
    let service = TestService::open(true, 20).await;
    service.work(1).await;
    service.faulty_spot.set_fault(CallFault::Random);
    let mut ids = BTreeSet::new();
    for start in 0..10_u64 {
        for user in 1..10 {
            let from = if (user + start) % 2 == 0 { FUNDING } else { SPOT };
            ids.insert(
                service.open_transfer(from, user, u128::from(UniqueRng.next() % 9) + 1).await,
            );
        }
        service.reopen_spot().await;
    }
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&ids.into_iter().collect::<Vec<_>>()).await;
    service.assert_in_order().await;
}
