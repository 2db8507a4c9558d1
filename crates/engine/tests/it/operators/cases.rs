//! Cases: one per episode, opened by what the journal says, closed by the fact that ends it.
//!
//! Wrong builds that were run, each of which turns one of these red: the age of TARGET_PENDING taken
//! from the last write; retries of the target counted as failures of the compensation; a case opened
//! again after a restart; no `RETRY` event; cases never closed; the silence of a ledger, or a hasty
//! user, never noticed; a contradiction that pauses nothing; a case of an open
//! transfer that is opened after its end, or after the transfer went on to another state.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::audit::prove;
use engine::operators::AdminAction;
use kernel::code::Code;
use kernel::ids::{Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::operators::{Case, Scope, Severity, Subject};
use kernel::ports::admin_queries::AdminQueries as _;
use kernel::ports::audit::Audit as _;
use kernel::ports::journal::{OperatorQueries as _, UnitWriter as _};
use kernel::ports::ledger::Ledger as _;
use kernel::record::Account;
use kernel::unit::{Put, Unit, Wrote};
use std::sync::Arc;
use std::time::Duration;
use testkit::{seal_key, wait_until};

fn of(id: Id) -> String {
    format!("transfer/{id}")
}

/// The details of a history's `RETRY` events.
async fn retries(service: &TestService, id: Id) -> Vec<String> {
    let told = service.history(id).await.into_iter();
    told.filter(|(what, ..)| what == "RETRY").filter_map(|(.., detail)| detail).collect()
}

/// Waits for several rounds of the watch.
async fn rounds() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_retries_are_one_case_over_restarts_until_the_end() {
    let mut service = TestService::open_with(true, NEVER, |s| s.alerts.after_retries = 10).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_episodes(&[("STUCK", of(id), true)]).await;
    assert!(service.records(&[id]).await.iter().all(|record| record.head.retries >= 10));
    service.restart().await;
    rounds().await;
    service.wait_for_episodes(&[("STUCK", of(id), true)]).await;
    service.wait_for_gauge("STUCK/WARNING", 1).await;
    service.wait_for_gauge("CONSERVATION/CRITICAL", 0).await;
    // between two rounds it may be in a hand
    service.wait_for_gauge("internal/SPOT", 1).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    service.wait_for_episodes(&[("STUCK", of(id), false)]).await;
    rounds().await;
    assert_eq!(retries(&service, id).await, ["STUCK opened", "STUCK closed"]);
    service.wait_for_gauge("STUCK/WARNING", 0).await;
    service.wait_for_gauge("internal/SPOT", 0).await;
}

/// The watch looks, and what it saw may be over before its case is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_that_was_seen_before_the_end_is_not_opened_after_it() {
    let service = TestService::open_with(true, NEVER, |s| s.alerts.after_retries = 10).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    service.hinder_before("INSERT ON cases");
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_retries(id, 20).await;
    // the watch leaves out what is younger
    service.clock.forward(2_000);
    rounds().await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    service.unhinder();
    rounds().await;
    assert_eq!(service.episodes(), []);
    assert_eq!(retries(&service, id).await, [""; 0]);
}

/// It still has no end, and where it stands now is another question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_that_was_seen_in_an_earlier_state_is_not_opened() {
    let service = TestService::open(false, NEVER).await;
    let first = service.open_transfer(FUNDING, 1, 10).await;
    service.wait_for_end(&[first]).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    let cases =
        "CREATE TRIGGER no_cases BEFORE INSERT ON cases BEGIN SELECT raise(ABORT, 'no'); END";
    service.tool().execute_batch(cases).unwrap();
    service.clock.forward(61_000);
    rounds().await;
    service.hinder("NEW.available > OLD.available AND NEW.user_id = 1");
    service.disable_at_spot(1).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_state(id, "COMPENSATING").await;
    service.tool().execute_batch("DROP TRIGGER no_cases").unwrap();
    rounds().await;
    assert_eq!(service.episodes(), []);
    service.unhinder();
    service.wait_for_end(&[id]).await;
    assert_eq!(retries(&service, id).await, [""; 0]);
}

/// MON-001. The clock of the case is the event that led to the call: each retry writes the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn target_pending_is_critical_after_a_minute_in_it() {
    let mut service = TestService::open(false, NEVER).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    service.clock.forward(40_000);
    service.restart().await;
    service.clock.forward(15_000);
    rounds().await;
    assert_eq!(service.episodes(), []);
    service.clock.forward(6_000);
    service.wait_for_episodes(&[("TARGET_PENDING", of(id), true)]).await;
    assert_eq!(service.cases().first().map(|(severity, ..)| &**severity), Some("CRITICAL"));
    service.clock.forward(240_000);
    let both = |open| [("TARGET_PENDING", of(id), open), ("STUCK", of(id), open)];
    service.wait_for_episodes(&both(true)).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    service.wait_for_episodes(&both(false)).await;
    service.engine.reconciler.check_now().await.unwrap();
    assert_eq!(service.engine.halted(), None);
}

/// MON-002, by the failures of the refund alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failed_compensations_are_critical() {
    for fuse in [true, false] {
        let service =
            TestService::open_with(fuse, NEVER, |s| s.alerts.compensation_failures = 25).await;
        let first = service.open_transfer(FUNDING, 1, 10).await;
        service.wait_for_end(&[first]).await;
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        let id = service.open_transfer(FUNDING, 1, 500).await;
        service.wait_for_retries(id, 25).await;
        service.hinder("NEW.available > OLD.available AND NEW.user_id = 1");
        service.disable_at_spot(1).await;
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_state(id, "COMPENSATING").await;
        rounds().await;
        let now = service.records(&[id]).await;
        let failed = now.first().map_or(0, |record| record.head.retries);
        assert!(failed < 25, "fuse={fuse}: it is early enough: {failed}");
        assert_eq!(service.episodes(), [], "fuse={fuse}: {failed}");
        service.wait_for_episodes(&[("COMPENSATION", of(id), true)]).await;
        service.unhinder();
        service.wait_for_end(&[id]).await;
        service.wait_for_episodes(&[("COMPENSATION", of(id), false)]).await;
        assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_ledger_is_a_case_until_it_answers() {
    let service = TestService::open(true, NEVER).await;
    service.faulty_spot.set_fault(CallFault::Silent);
    rounds().await;
    service.clock.forward(50_000);
    rounds().await;
    assert_eq!(service.episodes(), []);
    service.clock.forward(11_000);
    service.wait_for_episodes(&[("LEDGER_SILENT", "ledger/SPOT".to_owned(), true)]).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.clock.forward(5_000);
    service.wait_for_episodes(&[("LEDGER_SILENT", "ledger/SPOT".to_owned(), false)]).await;
}

/// MON-004: a user who creates too fast is a case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hasty_user_is_a_case_until_a_calm_minute() {
    let service = TestService::open_with(true, NEVER, |s| s.limits.warn_per_minute = 5).await;
    for n in 0..6 {
        service.open_transfer(FUNDING, 1, 10 + n).await;
    }
    for n in 0..5 {
        service.open_transfer(FUNDING, 2, 10 + n).await;
    }
    service.wait_for_episodes(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), true)]).await;
    service.clock.forward(45_000);
    rounds().await;
    service.wait_for_episodes(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), true)]).await;
    service.clock.forward(80_000);
    service.wait_for_episodes(&[("ABNORMAL_FREQUENCY", "user/1".to_owned(), false)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contradiction_is_a_case_until_the_pause_ends() {
    let service = TestService::open(true, NEVER).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    let spot = service.faulty_spot.spot();
    let op = Op {
        key: Key { id, leg: kernel::flow::life::Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset: COIN,
        amount: Amount(499),
    };
    spot.execute(spot.known(), Arc::from([op])).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_episodes(&[("CONTRADICTION", of(id), true)]).await;
    let paused = service.service_status().await.paused;
    let [pause] = paused.as_slice() else { panic!("{paused:?}") };
    assert_eq!(pause.scope, Scope::Flow(service.engine.flows().named("internal").unwrap()));
    rounds().await;
    service.wait_for_episodes(&[("CONTRADICTION", of(id), true)]).await;
    // lifted, the case is closed; and where the flow meets it again, that is another episode
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    service.execute_as("ada", "1", AdminAction::Unpause(pause.number)).await.unwrap();
    service.wait_for_episodes(&[("CONTRADICTION", of(id), false)]).await;
    service.faulty_spot.set_fault(CallFault::None);
    service
        .wait_for_episodes(&[("CONTRADICTION", of(id), false), ("CONTRADICTION", of(id), true)])
        .await;
    let wanted = ["CONTRADICTION opened", "CONTRADICTION closed", "CONTRADICTION opened"];
    assert_eq!(retries(&service, id).await, wanted);
    let refused = service.create(SPOT, 2, 1).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
}

/// Turns red where the audit's proof needs a case that is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_that_is_forgotten_leaves_the_audit_as_it_is() {
    let service = TestService::open(true, NEVER).await;
    for kind in ["FIRST", "SECOND"] {
        let (severity, subject, facts) = (Severity::Warning, Subject::Service, "a test".into());
        let case = Put::Case(Case { kind, severity, subject, facts });
        service.store().write(vec![Unit::puts(vec![case])]).await;
    }
    let open = service.store().open_cases().await.expect("cases");
    let first = open.iter().find(|case| &*case.kind == "FIRST").expect("the first").number;
    let comment = AdminAction::Comment { case: first, text: "seen".into() };
    service.execute_as("ada", "1", comment).await.expect("it is noted");
    let (kind, fact) = ("FIRST".into(), "over".into());
    let close = Put::Close { kind, subject: Subject::Service, fact };
    service.store().write(vec![Unit::puts(vec![close, Put::ForgetCases(u64::MAX)])]).await;
    assert!(service.store().case(first).await.expect("an answer").is_none());
    let mut trail = service.store().trail().await.expect("a trail");
    let found = prove(&mut *trail, seal_key(), None).await.expect("a proof");
    assert_eq!((found.faults, found.unproven), (vec![], vec![]));
}

/// The service has no bus. Of two cases one was closed, and is old at the next start.
///
/// Turns red where no task forgets closed cases, or the publisher's alone, and where one that is open goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_that_were_closed_long_ago_are_deleted() {
    for (kept, left) in [(1, 1), (90 * 86_400_000, 2), (0, 2)] {
        // the first life looks for none, so that the second one begins with the bound
        let mut service = TestService::open_with(true, NEVER, |s| s.cases_kept_ms = 0).await;
        service.settings.cases_kept_ms = kept;
        let (kind, severity) = ("MESSAGE_MISMATCH", Severity::Warning);
        for n in 1..=2 {
            let subject = Subject::Transfer(Id::new(0, n));
            let facts = "a test".into();
            let mut puts = vec![Put::Case(Case { kind, severity, subject, facts })];
            if n == 1 {
                puts.push(Put::Close { kind: kind.into(), subject, fact: "over".into() });
            }
            let wrote = service.store().write(vec![Unit::puts(puts)]).await;
            assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
        }
        service.restart().await;
        service.clock.forward(600_000);
        let mut cases = Vec::new();
        let forgotten = wait_until(Duration::from_secs(5), async || {
            cases = service.store().cases(None, None, None, 10).await.expect("cases");
            cases.len() == 1
        });
        assert_eq!((forgotten.await, cases.len()), (left == 1, left), "{kept}: {cases:?}");
        assert!(cases.iter().any(|case| case.closed.is_none()), "{kept}: {cases:?}");
    }
}
