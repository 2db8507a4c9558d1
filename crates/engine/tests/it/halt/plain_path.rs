//! The plain path (`engine.fuse = false`) through a HALT, end to end: what was called before it is
//! answered and recorded, nothing new is claimed or called, and all of it ends behind the resume.
//!
//! Each of these wrong builds was run and turns the test here red: a claim is written under HALT
//! (neither the plan nor the guard looks); a ledger is called under HALT; an answer under HALT is not
//! recorded.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::operators::{ActionResult, AdminAction};
use kernel::code::Code;
use kernel::ids::Id;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use testkit::{MINUTE, wait_until};
use tokio::sync::Semaphore;

/// How many of them stand in each state.
async fn counted(service: &TestService, ids: &[Id]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for state in service.states(ids).await.into_values() {
        *counts.entry(state).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_is_answered_and_goes_on_behind_the_resume() {
    let tune = |settings: &mut engine::Settings| settings.open_timeout_ms = 3_000;
    let service = TestService::open_with(false, NEVER, tune).await;
    service.work(1).await;
    // Spot executes, and its replies are held back
    let held = Arc::new(Semaphore::new(0));
    let executed = service.faulty_spot.spot().known().highest;
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for user in 1..6 {
        there.push(service.open_transfer(FUNDING, user, 20).await);
        back.push(service.open_transfer(SPOT, user, 10).await);
    }
    service.wait_for_state(there[0], "TARGET_PENDING").await;
    service.wait_for_state(back[0], "SOURCE_PENDING").await;
    service.faulty_spot.wait_for_operation(executed + 2).await;
    let halted =
        service.execute_as("ada", "1", AdminAction::Halt).await.expect("it is halted").outcome;
    let ActionResult::Halted { on_wire, quiet: false, .. } = halted else { panic!("{halted:?}") };
    assert!(on_wire.len() >= 2, "one each way: {on_wire:?}");
    let refused = service.create(FUNDING, 7, 5).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
    let before = service.faulty_spot.spot().known().highest;
    service.faulty_spot.set_fault(CallFault::None);
    held.add_permits(1_000);
    service.wait_for_end(&there[..1]).await;
    service.wait_for_state(back[0], "SOURCE_DONE").await;
    let answered = async || {
        let (went, came) = (counted(&service, &there).await, counted(&service, &back).await);
        (went["COMMITTED"] + came["SOURCE_DONE"], went, came)
    };
    let all = wait_until(MINUTE, async || answered().await.0 >= on_wire.len()).await;
    assert!(all, "{:?}", answered().await);
    // and time for more
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (answered, went, came) = answered().await;
    assert_eq!(answered, on_wire.len(), "what was called is recorded: {went:?} {came:?}");
    let expected = ["COMMITTED", "INIT", "SOURCE_PENDING", "SOURCE_DONE", "TARGET_PENDING"];
    assert!(went.keys().all(|state| expected.contains(state)), "{went:?}");
    assert!(
        came.keys().all(|state| ["SOURCE_PENDING", "SOURCE_DONE", "INIT"].contains(state)),
        "{came:?}"
    );
    assert_eq!(service.faulty_spot.spot().known().highest, before, "Spot was called under HALT");
    let again = service.execute_as("ada", "1", AdminAction::Halt).await.expect("a repeat").outcome;
    assert!(matches!(again, ActionResult::Halted { quiet: true, .. }), "{again:?}");
    let resume = AdminAction::Resume { accept: Vec::new() };
    let proposed = service.execute_as("ada", "2", resume).await.expect("it is proposed").outcome;
    let ActionResult::Proposed { approval } = proposed else { panic!("{proposed:?}") };
    service.execute_as("bob", "1", AdminAction::Approve(approval)).await.expect("it is resumed");
    let all = [there, back].concat();
    service.wait_for_end(&all).await;
    assert_eq!(counted(&service, &all).await, [("COMMITTED", all.len())].into());
    service.work(1).await;
    service.assert_in_order().await;
}
