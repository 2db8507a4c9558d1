//! HALT by hand, and its end: two persons, a proof, named exceptions.
//!
//! Each of these wrong builds was run and turns a test here red: a halt answers at once, or says at
//! once that all is quiet; a claim is written under HALT (neither the plan nor the guard looks: each
//! alone holds it back); a ledger is called under HALT; a proposer approves, also under another
//! issuer; a resume takes no proof; a proof accepts a key with any amount, or one that is not broken;
//! an accepted break excuses any amount; accepted breaks are forgotten; a ledger is never looked at
//! again.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::folders::spot_at;
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::operators::{ActionResult, AdminAction, Objection, OutstandingCall};
use engine::reconciliation::Report;
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::Key;
use kernel::operators::{Accepted, ApprovalStatus};
use kernel::record::System;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

fn resume(accept: &[(&str, i128)]) -> AdminAction {
    let one = |(key, amount): &(&str, i128)| Accepted { key: (*key).into(), amount: *amount };
    AdminAction::Resume { accept: accept.iter().map(one).collect() }
}

/// Proposed by ada, approved by bob.
async fn resumed(
    service: &TestService,
    key: &str,
    action: AdminAction,
) -> Result<ActionResult, Objection> {
    service.execute_with_approval(key, action).await.map(|done| done.outcome)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_names_what_was_on_the_wire_and_records_its_answer() {
    for fuse in [true, false] {
        let mut service = TestService::open_with(fuse, NEVER, |s| s.open_timeout_ms = 3_000).await;
        let held = Arc::new(Semaphore::new(0));
        let before = service.faulty_spot.spot().known().highest;
        service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
        let late = service.open_transfer(FUNDING, 1, 500).await;
        service.wait_for_state(late, "TARGET_PENDING").await;
        service.faulty_spot.wait_for_operation(before + 1).await;
        let halted = service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
        let key = Key { id: late, leg: Leg::Deposit };
        let on_wire = vec![OutstandingCall { system: System::Ledger(SPOT), key }];
        let wanted = |quiet| ActionResult::Halted {
            halt: Some(1),
            on_wire: on_wire.clone(),
            calls: 1,
            quiet,
            stored: true,
        };
        assert_eq!(halted.outcome, wanted(false), "fuse={fuse}");
        assert_eq!(service.service_status().await.halted.as_deref(), Some("ada 1: a test"));
        let refused = service.create(FUNDING, 2, 5).await;
        assert!(matches!(refused, Err(Refused::Code(Code::Halted))), "{refused:?}");
        held.add_permits(9);
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_end(&[late]).await;
        assert_eq!(
            service.states(&[late]).await.get(&late),
            Some(&"COMMITTED"),
            "an answer counts"
        );
        let again = service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
        assert_eq!((again.replayed, again.outcome), (true, wanted(true)));
        service.restart().await;
        assert_eq!(service.engine.halted().as_deref(), Some("ada 1: a test"));
        assert_eq!(service.gauges.get("halted"), Some(1));
        assert_eq!(
            resumed(&service, "2", resume(&[])).await,
            Ok(ActionResult::Resumed { accepted: vec![] })
        );
        assert_eq!(service.gauges.get("halted"), Some(0));
        service.work(1).await;
        service.assert_in_order().await;
    }
}

/// What stands before a claim stays there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_claimed_or_called_until_two_persons_resume() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let held = Arc::new(Semaphore::new(0));
    let before = service.faulty_spot.spot().known().highest;
    service.faulty_spot.set_fault(CallFault::DelayReplies(held.clone()));
    // the withdraw at Spot is on the wire: its answer must not claim the deposit
    let out = service.open_transfer(SPOT, 1, 10).await;
    service.wait_for_state(out, "SOURCE_PENDING").await;
    service.faulty_spot.wait_for_operation(before + 1).await;
    service.faulty_spot.set_fault(CallFault::None);
    let halt = service.execute_as("ada", "1", AdminAction::Halt);
    let release = async {
        service.wait_for_halt().await;
        held.add_permits(9);
    };
    let (halted, ()) = tokio::join!(halt, release);
    assert!(matches!(halted.unwrap().outcome, ActionResult::Halted { quiet: true, calls: 1, .. }));
    service.wait_for_state(out, "SOURCE_DONE").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    service.wait_for_state(out, "SOURCE_DONE").await;

    let id = service.propose_as("ada", "2", resume(&[])).await;
    assert_eq!(
        service.execute_as("ada", "3", AdminAction::Approve(id)).await,
        Err(Objection::SamePerson)
    );
    // one subject is one person, whatever issuer wrote it, and however it is spelt
    let alike = [
        "another issuer|ada",
        "portage|ada\u{200b}",
        "portage|Ada",
        "former|ａｄａ",
        "portage|ada ",
    ];
    for (n, caller) in alike.into_iter().enumerate() {
        let (key, reason) = (n.to_string().into(), "a test".into());
        let other = engine::operators::Actor { caller: caller.into(), key, reason };
        let same = service.engine.operators.execute(other, AdminAction::Approve(id)).await;
        assert_eq!(same, Err(Objection::SamePerson), "{caller:?}");
    }
    service.wait_for_state(out, "SOURCE_DONE").await;
    let none = service.execute_as("bob", "0", AdminAction::Approve(Id(1))).await;
    assert_eq!(none, Err(Objection::NotFound("approval")));
    assert!(service.execute_as("bob", "1", AdminAction::Approve(id)).await.is_ok());
    service.wait_for_end(&[out]).await;
    let twice = service.execute_as("eve", "1", AdminAction::Approve(id)).await;
    assert_eq!(twice, Err(Objection::Decided(ApprovalStatus::Approved)));
    let gone = service.execute_as("ada", "4", resume(&[])).await.unwrap_err();
    assert!(matches!(gone, Objection::NotPossible(_)), "{gone:?}");
    service.assert_in_order().await;
}

/// What stands in a call that was not answered is not called again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_not_repeated_until_two_persons_resume() {
    for fuse in [true, false] {
        let service = TestService::open(fuse, NEVER).await;
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        let there = service.open_transfer(FUNDING, 1, 10).await;
        let back = service.open_transfer(SPOT, 2, 10).await;
        service.wait_for_state(there, "TARGET_PENDING").await;
        service.wait_for_state(back, "SOURCE_PENDING").await;
        service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
        let before = service.faulty_spot.spot().known().highest;
        service.faulty_spot.set_fault(CallFault::None);
        // many times the longest backoff
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(service.faulty_spot.spot().known().highest, before, "fuse={fuse}: called");
        service.wait_for_state(there, "TARGET_PENDING").await;
        service.wait_for_state(back, "SOURCE_PENDING").await;
        assert!(resumed(&service, "2", resume(&[])).await.is_ok());
        service.wait_for_end(&[there, back]).await;
        service.assert_in_order().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_resume_leaves_the_halt() {
    let service = TestService::open(true, NEVER).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    let id = service.propose_as("ada", "2", resume(&[])).await;
    assert_eq!(
        service.execute_as("ada", "3", AdminAction::Reject(id)).await.unwrap().outcome,
        ActionResult::Refused
    );
    let late = service.execute_as("bob", "1", AdminAction::Approve(id)).await;
    assert_eq!(late, Err(Objection::Decided(ApprovalStatus::Rejected)));
    assert!(service.engine.halted().is_some());
}

/// MON-003. A break is accepted by key and amount; any other halts again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_named_breaks_are_accepted_and_any_other_halts_again() {
    let mut service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let steal = |units: u32| {
        format!(
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) - {units}) \
             WHERE user_id = 3 AND asset_id = 3"
        )
    };
    service.tool().execute_batch(&steal(7)).unwrap();
    let report = service.engine.reconciler.check_now().await.unwrap();
    let [broken] = report.breaks.as_slice() else { panic!("{report:?}") };
    assert_eq!((&*broken.key, broken.amount), ("FUNDING/3/total", -7));
    service.wait_for_episodes(&[("CONSERVATION", "service".to_owned(), true)]).await;
    let named = |refused: Result<ActionResult, Objection>| match refused {
        Err(Objection::Breaks(breaks)) => breaks.iter().map(|b| b.key.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    // the proof for a resume counts every account, too
    let both = ["FUNDING/3/account/3", "FUNDING/3/total"];
    assert_eq!(named(resumed(&service, "1", resume(&[])).await), both);
    let one = resume(&[("FUNDING/3/total", -7)]);
    assert_eq!(named(resumed(&service, "one", one).await), ["FUNDING/3/account/3"]);
    for wrong in [("FUNDING/3/total", -8), ("FUNDING/3/world", -7)] {
        let key = format!("{wrong:?}");
        let refused = resumed(&service, &key, resume(&[wrong])).await;
        assert!(matches!(&refused, Err(Objection::NotPossible(_))), "{wrong:?}: {refused:?}");
    }
    assert!(service.engine.halted().is_some());
    let right = both.map(|key| (key, -7));
    assert!(resumed(&service, "2", resume(&right)).await.is_ok());
    service.wait_for_episodes(&[("CONSERVATION", "service".to_owned(), false)]).await;
    service.restart().await;
    service.work(1).await;
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(report.ok && report.breaks.is_empty(), "{report:?}");
    let shown = report.accepted.iter().any(|b| *b.key == *"FUNDING/3/total" && b.amount == -7);
    assert!(shown, "{report:?}");
    assert_eq!(service.engine.halted(), None);

    service.tool().execute_batch(&steal(1)).unwrap();
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert_eq!(report.breaks.first().map(|b| b.amount), Some(-1), "the rest of it is a break");
    assert!(service.engine.halted().is_some());
    let both = [
        ("CONSERVATION", "service".to_owned(), false),
        ("CONSERVATION", "service".to_owned(), true),
    ];
    service.wait_for_episodes(&both).await;
}

/// Turns red where what was accepted excuses its amount for ever (run: the release before): it is gone again without a
/// word, and so is the same amount when it is taken a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_is_expected_from_then_on() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let mint = |units: i64| {
        let sql = format!(
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + {units}) \
             WHERE user_id = 3 AND asset_id = 3"
        );
        service.tool().execute_batch(&sql).unwrap();
    };
    // made, taken back, and made once more: each time two persons have to look
    for (n, units) in [5, -5, 5, 2].into_iter().enumerate() {
        mint(units);
        let report = service.engine.reconciler.check_now().await.unwrap();
        let [broken] = report.breaks.as_slice() else { panic!("{n}: {report:?}") };
        assert_eq!((&*broken.key, broken.amount), ("FUNDING/3/total", units.into()), "{n}");
        assert!(service.engine.halted().is_some(), "{n}");
        let both = ["FUNDING/3/account/3", "FUNDING/3/total"].map(|key| (key, units.into()));
        resumed(&service, &format!("resume-{n}"), resume(&both)).await.unwrap();
        let report = service.engine.reconciler.check_now().await.unwrap();
        assert!(report.ok, "{n}: {report:?}");
        assert_eq!(service.engine.halted(), None, "{n}");
    }
    let report = service.engine.reconciler.check_now().await.unwrap();
    let shown = report.accepted.iter().find(|found| found.key == "FUNDING/3/total");
    assert_eq!(shown.map(|found| found.amount), Some(7), "{report:?}");
}

/// Two rows that no person accepted would excuse money that is made beside them, by SQL.
///
/// Turns red where the rows are believed as they are (run: the release before): the round is in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_no_action_accepted_excuse_nothing() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let made = [("FUNDING/3/account/3", 5), ("FUNDING/3/total", 5)];
    for (key, amount) in made {
        let sql = format!("INSERT INTO accepted_breaks VALUES ('{key}', '{amount}', 1)");
        service.tool().execute_batch(&sql).unwrap();
    }
    let report = service.engine.reconciler.check_now().await.unwrap();
    let keys = |report: &Report| report.breaks.iter().map(|b| b.key.clone()).collect::<Vec<_>>();
    let rows = ["accepted/FUNDING/3/account/3", "accepted/FUNDING/3/total"];
    assert_eq!(keys(&report), rows, "{report:?}");
    assert!(service.engine.halted().is_some());
    let mint = "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 5) \
                WHERE user_id = 3 AND asset_id = 3";
    service.tool().execute_batch(mint).unwrap();
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(keys(&report).contains(&"FUNDING/3/total".to_owned()), "{report:?}");
    // persons may accept all of it; then the same rows are theirs
    let all = made.into_iter().chain(rows.map(|key| (key, 5))).collect::<Vec<_>>();
    resumed(&service, "1", resume(&all)).await.unwrap();
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(report.ok, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_four_eyes_off_one_person_resumes_over_the_same_proof() {
    let service = TestService::open_with(true, NEVER, |settings| settings.four_eyes = false).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    service
        .tool()
        .execute_batch(
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 1) \
             WHERE user_id = 3 AND asset_id = 3",
        )
        .unwrap();
    let refused = service.execute_as("ada", "2", resume(&[])).await;
    assert!(matches!(refused, Err(Objection::Breaks(_))), "{refused:?}");
    assert!(service.engine.halted().is_some());
    let both = [("FUNDING/3/account/3", 1), ("FUNDING/3/total", 1)];
    let done = service.execute_as("ada", "3", resume(&both)).await.unwrap();
    assert!(matches!(done.outcome, ActionResult::Resumed { .. }));
    service.work(1).await;
}

/// Nothing is written where a ledger cannot be proven: who approves is told which one, and not that the outcome is
/// unknown.
///
/// Wrong build that turns it red: a proof's silence taken for an unknown outcome, as it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_names_the_ledger_that_cannot_be_proven() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    service.execute_as("ada", "1", AdminAction::Halt).await.unwrap();
    service.faulty_spot.set_fault(CallFault::Silent);
    let refused = resumed(&service, "2", resume(&[])).await;
    let Err(Objection::NotPossible(why)) = refused else { panic!("{refused:?}") };
    assert!(why.starts_with("SPOT cannot be proven now: "), "{why}");
    service.faulty_spot.set_fault(CallFault::None);
    assert!(resumed(&service, "3", resume(&[])).await.is_ok());
    service.work(1).await;
}

/// Another ledger halts; the right one is adopted when persons resume, and only then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_is_looked_at_again_when_persons_resume() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let mine = service.faulty_spot.spot();
    let stranger = tempfile::tempdir().unwrap();
    service.faulty_spot.route_to(Some(spot_at(stranger.path()).await));
    service.create(FUNDING, 1, 5).await.ok();
    service.wait_for_stored_halt().await;
    let case = |open| ("WRONG_LEDGER", "ledger/SPOT".to_owned(), open);
    service.wait_for_episodes(&[case(true)]).await;
    service.faulty_spot.route_to(Some(mine));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(service.engine.halted().is_some(), "no operator resumed");
    assert!(resumed(&service, "1", resume(&[])).await.is_ok());
    service.wait_for_episodes(&[case(false)]).await;
    service.work(1).await;
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(service.engine.halted(), None);
}
