//! Many rounds of the proof while transfers run, replies are lost and the engine is killed: no
//! alarm.

use crate::fixture::defaults::{FUNDING, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::running::create;
use crate::fixture::test_service::TestService;
use engine::Refused;
use kernel::code::Code;
use kernel::ids::Id;
use kernel::ports::clock::Rng as _;
use std::time::Duration;
use testkit::{MINUTE, UniqueRng, wait_until};

/// The round that the last report is of.
fn round(service: &TestService) -> u64 {
    service.engine.reconciler.report().map_or(0, |report| report.round)
}

/// Creates transfers of all users until the proof's round `rounds`, as many at once as there are users.
async fn busy(service: &TestService, rounds: u64) {
    let mut users = tokio::task::JoinSet::new();
    for user in 1..10_u64 {
        let engine = service.engine.clone();
        users.spawn(async move {
            for _ in 0..50_000 {
                let from = if UniqueRng.next().is_multiple_of(3) { SPOT } else { FUNDING };
                // now and then more than there is
                let amount = u128::from(UniqueRng.next() % 2_000) + 1;
                match create(&engine, from, user, amount).await {
                    Ok(_) => {}
                    Err(Refused::Code(Code::Halted)) => return,
                    refused @ Err(_) => panic!("{refused:?}"),
                }
            }
        });
    }
    let over = async || round(service) >= rounds || service.engine.halted().is_some();
    let _in_time = wait_until(MINUTE, over).await;
    // callers go away in the middle; what they opened goes on
    users.shutdown().await;
    assert_eq!(service.engine.halted(), None);
    assert!(round(service) >= rounds, "only {} rounds", round(service));
}

async fn no_alarm(fuse: bool) {
    let mut service = TestService::open(fuse, 5).await;
    service.faulty_spot.set_fault(CallFault::Random);
    for _ in 0..4 {
        let engine = service.engine.clone();
        let mut checks = tokio::task::JoinSet::new();
        // the engine's own rounds rest for long: here one follows the other
        checks.spawn(async move {
            while engine.reconciler.check_now().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        busy(&service, 10).await;
        checks.shutdown().await;
        service.restart().await;
    }
    service.faulty_spot.set_fault(CallFault::None);
    let open = service.engine.journal().open_below(Id(u128::MAX)).await.expect("the journal");
    service.wait_for_end(&open).await;
    service.assert_in_order().await;
}

/// Turns red where a round reads the journal before the ledgers: what happens in between then
/// looks like an operation that was not asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_alarm_under_load_with_faults_fused() {
    no_alarm(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_alarm_under_load_with_faults_plain() {
    no_alarm(false).await;
}
