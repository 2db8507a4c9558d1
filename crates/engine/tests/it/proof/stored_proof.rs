//! What is stored of the proof: a start and a resume go on there, and count no rows themselves.

use crate::fixture::defaults::{FUNDING, NEVER};
use crate::fixture::running::create;
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction};
use kernel::ids::Id;
use testkit::{MINUTE, wait_until};

/// The proof is stored where it spares a start this number of transfers.
const WORTH: u64 = 10_000;
const STORED: &str = "SELECT value FROM service_state WHERE name = 'resource/proven'";

/// Runs more than [`WORTH`] transfers to their end; then the store has how far they are proven.
async fn worth_storing(service: &TestService) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..200 {
        let engine = service.engine.clone();
        callers.spawn(async move {
            for _ in 0..=WORTH / 200 {
                create(&engine, FUNDING, caller % 9 + 1, 1).await.expect("it is opened");
            }
        });
    }
    callers.join_all().await;
    let open = service.engine.journal().open_below(Id(u128::MAX)).await.expect("the journal");
    service.wait_for_end(&open).await;
    for _ in 0..2 {
        assert!(service.engine.reconciler.check_now().await.expect("a round").ok);
    }
}

fn stored(service: &TestService) -> String {
    let read = |row: &rusqlite::Row<'_>| row.get(0);
    service.tool().query_row(STORED, [], read).expect("it is stored")
}

async fn recounted(service: &TestService) -> bool {
    let report = service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok, "{report:?}");
    report.recounted
}

/// The background's count; it is not waited for where it does not come.
async fn counted_in_background(service: &TestService) -> bool {
    let reconciler = &service.engine.reconciler;
    wait_until(MINUTE, async || reconciler.report().is_some_and(|report| report.recounted)).await
}

/// HALT by hand, and the resume of two persons.
async fn halted_and_resumed(service: &TestService, key: &str) {
    let halted = service.execute_as("ada", &format!("halt-{key}"), AdminAction::Halt).await;
    halted.expect("it is halted");
    let resume = AdminAction::Resume { accept: Vec::new() };
    let proposed = service.execute_as("ada", key, resume).await.expect("it is proposed").outcome;
    let ActionResult::Proposed { approval } = proposed else { panic!("{proposed:?}") };
    service.execute_as("bob", key, AdminAction::Approve(approval)).await.expect("it is resumed");
    assert_eq!(service.engine.halted(), None);
}

/// Turns red where a start or a resume counts every row before it answers, where the background does
/// not count them behind it, or where a count that was changed by hand is believed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_and_a_resume_go_on_from_what_is_stored_and_the_background_counts() {
    let mut service = TestService::open(true, NEVER).await;
    worth_storing(&service).await;
    // a round of the checker's task would take the first place of those below
    service.rounds_by_hand = true;
    service.restart().await;
    let text = stored(&service);
    assert!(!recounted(&service).await, "a start goes on from the stored count");
    assert!(counted_in_background(&service).await, "behind a start");
    halted_and_resumed(&service, "1").await;
    let proof = service.engine.reconciler.report().expect("the resume's proof");
    assert!(proof.ok && !proof.recounted, "a resume goes on from the stored count: {proof:?}");
    assert!(!recounted(&service).await);
    assert!(counted_in_background(&service).await, "behind a resume");
    // one character of the MAC
    let other = if text.starts_with('0') { "1" } else { "0" };
    let forged = format!("{other}{}", text.get(1..).expect("a MAC"));
    let change = "UPDATE service_state SET value = ? WHERE name = 'resource/proven'";
    assert_eq!(service.tool().execute(change, [&forged]).expect("it is changed"), 1);
    service.restart().await;
    assert!(recounted(&service).await, "what is not ours is not believed");
}

/// Money that moved from one user to another shows in no sum: a resume behind the HALT for it counts all
/// rows itself, whatever is stored, and lifts nothing.
///
/// Turns red where a resume behind a break believes the stored count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_behind_a_break_counts_all_rows_itself() {
    let service = TestService::open(true, NEVER).await;
    worth_storing(&service).await;
    let text = stored(&service);
    crate::fixture::tamper::Tamper::Users.with(&service).await;
    assert!(!service.engine.reconciler.count_now().await.expect("a count").ok);
    assert!(service.engine.halted().is_some());
    assert_ne!(stored(&service), text, "the count is believed no more");
    // as if another process had stored it again before it knew of the HALT
    let change = "UPDATE service_state SET value = ? WHERE name = 'resource/proven'";
    assert_eq!(service.tool().execute(change, [&text]).expect("it is changed"), 1);
    let resume = AdminAction::Resume { accept: Vec::new() };
    let proposed = service.execute_as("ada", "1", resume).await.expect("it is proposed").outcome;
    let ActionResult::Proposed { approval } = proposed else { panic!("{proposed:?}") };
    let resumed = service.execute_as("bob", "1", AdminAction::Approve(approval)).await;
    assert!(resumed.is_err(), "{resumed:?}");
    assert!(service.engine.halted().is_some());
}
