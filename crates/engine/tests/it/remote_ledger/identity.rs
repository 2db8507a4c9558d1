//! A link that suddenly leads to another Spot than the journal knows, while work is under way.
//!
//! All of these turn red where `adoption` lets a ledger be called without a look (the retries then
//! run in the wrong folder), and where HALT is not stored; those that swap while the engine runs also
//! where `Controls::suspect` does nothing (no check finds out); those of another identity also where
//! `concerning` names no transfer.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::folders::{books, copied, spot_at};
use crate::fixture::running::create;
use crate::fixture::test_service::TestService;
use engine::Refused;
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use ledgers::spot::Spot;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A folder that is not the one that the journal knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    Emptied,
    Older,
    Cloned,
    Foreign,
}

/// Transfers on their way: of some the reply was lost, of others the request.
async fn pending(service: &TestService) -> Vec<Id> {
    let mut ids = Vec::new();
    service.faulty_spot.set_fault(CallFault::LoseReplies);
    for user in 1..4 {
        ids.push(service.open_transfer(FUNDING, user, 7).await);
        ids.push(service.open_transfer(SPOT, user, 5).await);
    }
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    for user in 4..7 {
        ids.push(service.open_transfer(FUNDING, user, 7).await);
        ids.push(service.open_transfer(SPOT, user, 5).await);
    }
    // on a slow disk an opening is durable long before the source is debited
    for from_funding in ids.iter().step_by(2) {
        service.wait_for_state(*from_funding, "TARGET_PENDING").await;
    }
    ids
}

/// One deposit after the other, of transfers that were not opened here.
async fn lived_in(spot: &Arc<Spot>, operations: u64) {
    let op = |n: u64| Op {
        key: Key { id: Id::new(n, u128::from(n)), leg: Leg::Deposit },
        account: Account::User(UserId(n % 5 + 1)),
        other: None,
        asset: AssetId(3),
        amount: Amount(10),
    };
    spot.execute(spot.known(), (1..=operations).map(op).collect()).await;
}

/// The folder, made while the house is at work.
async fn made(folder: Folder, service: &TestService) -> TempDir {
    match folder {
        Folder::Emptied => tempfile::tempdir().expect("a folder"),
        Folder::Older => {
            let older = copied(&service.spot_folder());
            service.work(1).await;
            older
        }
        Folder::Cloned => {
            // copied in the middle of the work; the original goes on
            let (cloned, _) = tokio::join!(
                async {
                    tokio::time::sleep(Duration::from_millis(8)).await;
                    copied(&service.spot_folder())
                },
                service.work(2)
            );
            cloned
        }
        Folder::Foreign => {
            let foreign = tempfile::tempdir().expect("a folder");
            lived_in(&spot_at(foreign.path()).await, 500).await;
            foreign
        }
    }
}

/// Nothing is opened, and nothing that was on its way moves.
async fn stands_still(service: &TestService, ids: &[Id], wrong: &Spot) {
    let before = (service.states(ids).await, books(wrong).await);
    let refused = service.create(FUNDING, 9, 3).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!((service.states(ids).await, books(wrong).await), before);
}

async fn leads_to(folder: Folder, fuse: bool, running: bool) {
    let mut service = TestService::open(fuse, NEVER).await;
    service.work(1).await;
    let dir = made(folder, &service).await;
    let ids = pending(&service).await;
    let right = service.faulty_spot.spot();
    let wrong = spot_at(dir.path()).await;
    let before = books(&wrong).await;
    let at_funding = service.states(&ids).await;
    if !running {
        service.stop().await;
    }
    service.faulty_spot.route_to(Some(wrong.clone()));
    service.faulty_spot.set_fault(CallFault::None);
    if running {
        // others come while it is found out
        for user in 7..10 {
            let came = create(&service.engine, FUNDING, user, 2).await;
            let halted = matches!(came, Err(Refused::Code(Code::Halted)));
            assert!(came.is_ok() || halted, "{came:?}");
        }
    } else {
        service.start().await;
    }
    let reason = service.wait_for_stored_halt().await;
    assert_eq!(books(&wrong).await, before, "{folder:?}: something was executed");
    assert!(reason.contains("SPOT"), "{reason}");
    for id in &ids {
        assert!(reason.contains(&id.to_string()), "{folder:?}: {id} is not named: {reason}");
    }
    if matches!(folder, Folder::Older | Folder::Cloned) {
        assert!(reason.contains("forgot") && reason.contains("it answered for"), "{reason}");
    }
    assert_eq!(service.states(&ids).await, at_funding);
    let kind = ("CRITICAL".to_owned(), "WRONG_LEDGER".to_owned(), reason.to_string());
    assert_eq!(service.cases(), [kind]);
    stands_still(&service, &ids, &wrong).await;
    // HALT survives a restart, wherever the way leads then
    service.stop().await;
    service.start().await;
    assert_eq!(service.engine.halted(), Some(reason.clone()));
    stands_still(&service, &ids, &wrong).await;
    service.stop().await;
    service.faulty_spot.route_to(Some(right.clone()));
    service.start().await;
    assert_eq!(service.engine.halted(), Some(reason));
    stands_still(&service, &ids, &right).await;
    assert_eq!(books(&wrong).await, before);
}

macro_rules! folders {
    ($($name:ident: $folder:ident, $fuse:literal, $running:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            leads_to(Folder::$folder, $fuse, $running).await;
        }
    )*};
}

folders! {
    an_emptied_folder_executes_nothing: Emptied, true, true;
    an_older_folder_executes_nothing: Older, true, true;
    a_cloned_folder_executes_nothing: Cloned, true, true;
    a_foreign_folder_executes_nothing: Foreign, true, true;
    an_emptied_folder_at_the_start_executes_nothing: Emptied, false, false;
    an_older_folder_at_the_start_executes_nothing: Older, false, false;
    a_cloned_folder_at_the_start_executes_nothing: Cloned, false, false;
    a_foreign_folder_at_the_start_executes_nothing: Foreign, false, false;
}
