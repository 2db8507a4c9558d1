//! A ledger that lost operations for good: persons accept each of them, the ledger is adopted at its
//! lower number, and nothing of what was open there goes on by itself.
//!
//! Each of these wrong builds was run and turns tests here red: `Put::AdoptAfterLoss` written as
//! `Put::Adopt` (the ledger stays shorter than the journal, and the HALT is back); nothing stopped in
//! `adopts_after_loss` (the open transfers are sent again at once); `discount` that takes nothing off (the
//! sums break as the numbers come again); neither the round nor `accepted_loss` asks for what is lost (it
//! is resumed with nothing accepted); a loss taken where the ledger was not started anew; what was proven
//! left as it was; a process's own answers counted whichever incarnation gave them.

use crate::fixture::defaults::{FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::{CallFault, Lie};
use crate::fixture::folders::{copied, spot_at};
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection};
use engine::reconciliation::PROVEN;
use kernel::flow::life::Leg;
use kernel::ids::Id;
use kernel::operation::{Key, StoredOutcome};
use kernel::operators::{Accepted, Scope};
use kernel::ports::journal::UnitWriter as _;
use kernel::ports::ledger::{Ledger, Reply, Stored};
use kernel::reconcile::Break;
use kernel::unit::{Put, Unit, Wrote};
use std::fs;
use std::time::Duration;
use tempfile::TempDir;
use testkit::{MINUTE, seal_key};

/// A service whose Spot was set back to an older state, halted for that.
struct Shortened {
    service: TestService,
    /// What the journal knew before.
    was: u64,
    /// Transfers that ended, each with an operation that is lost.
    ended: Vec<Id>,
    /// Transfers whose call at Spot is open: Spot executed it, and lost it.
    open: Vec<Id>,
    /// A transfer whose withdrawal at Spot is lost, and that waits for Funding.
    paid: Id,
}

/// Puts the older state in the place of Spot's folder.
async fn set_back(service: &TestService, older: &TempDir) {
    service.faulty_spot.route_to(None);
    let folder = service.spot_folder();
    testbed::until(MINUTE, || fs::remove_dir_all(&folder).ok()).expect("it is removed");
    fs::rename(older.path(), &folder).expect("the older folder");
    service.faulty_spot.route_to(Some(spot_at(&folder).await));
}

impl Shortened {
    async fn service() -> Self {
        let mut service = TestService::open(true, NEVER).await;
        service.work(1).await;
        service.stop().await;
        let older = copied(&service.spot_folder());
        service.start().await;
        let ended = service.work(1).await;
        service.hinder("NEW.user_id = 9 AND NEW.account_type = 'FUNDING'");
        let paid = service.open_transfer(SPOT, 9, 4).await;
        service.wait_for_state(paid, "TARGET_PENDING").await;
        service.faulty_spot.set_fault(CallFault::LoseReplies);
        let before = service.faulty_spot.spot().known().highest;
        let mut open = Vec::new();
        for user in 1..4 {
            open.push(service.open_transfer(FUNDING, user, 7).await);
            open.push(service.open_transfer(SPOT, user, 5).await);
        }
        service.faulty_spot.wait_for_operation(before + 6).await;
        let was = service.known_spot().await.expect("Spot was met").highest;
        service.stop().await;
        service.unhinder();
        service.faulty_spot.set_fault(CallFault::None);
        set_back(&service, &older).await;
        service.start().await;
        let reason = service.wait_for_stored_halt().await;
        assert!(reason.contains("forgot"), "{reason}");
        Self { service, was, ended, open, paid }
    }

    /// What a round finds to be gone, as persons accept it.
    async fn lost(&self) -> Vec<Accepted> {
        // a round holds a ledger against what the round before read in the journal
        let _round = self.service.engine.reconciler.check_now().await.expect("a round");
        let report = self.service.engine.reconciler.check_now().await.expect("a round");
        accepted(&report.breaks)
    }

    /// The transfers that persons have to look at.
    async fn stopped(&self) -> Vec<Id> {
        let paused = self.service.service_status().await.paused;
        let id = |scope| match scope {
            Scope::Transfer(id) => Some(id),
            Scope::Flow(_)
            | Scope::Ledger(_)
            | Scope::Chain(_)
            | Scope::Asset(_)
            | Scope::Account(..)
            | Scope::Group(_) => None,
        };
        paused.into_iter().filter_map(|paused| id(paused.scope)).collect()
    }
}

fn accepted(breaks: &[Break]) -> Vec<Accepted> {
    breaks.iter().map(|b| Accepted { key: b.key.as_str().into(), amount: b.amount }).collect()
}

/// The way out, in every step of it, over two lives and until Spot has given each lost number again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_ledger_lost_for_good_is_accepted() {
    let mut shortened = Shortened::service().await;
    let lost = shortened.lost().await;
    let is = shortened.service.faulty_spot.spot().known().highest;
    let gone = i128::from(is) - i128::from(shortened.was);
    assert!(lost.contains(&Accepted { key: "SPOT/highest".into(), amount: gone }), "{lost:?}");
    // one of each ended transfer, and the withdrawal of the one that waits for Funding
    assert_eq!(lost.len(), shortened.ended.len() + 2, "{lost:?}");
    for id in shortened.ended.iter().chain([&shortened.paid]) {
        let named = |a: &&Accepted| a.key.starts_with(&id.to_string()) && a.key.ends_with("/lost");
        assert_eq!(lost.iter().filter(named).count(), 1, "{id}: {lost:?}");
    }
    // nothing less than all of it is enough, and each refusal says what is missing
    for (n, missing) in lost.iter().enumerate().take(3) {
        let less: Vec<_> = lost.iter().filter(|a| *a != missing).cloned().collect();
        let refused = shortened.service.resume_with_approval(&format!("less-{n}"), &less).await;
        let Err(Objection::Breaks(found)) = refused else { panic!("{missing:?}: {refused:?}") };
        assert_eq!(accepted(&found), std::slice::from_ref(missing));
    }
    let open = [shortened.open.as_slice(), &[shortened.paid]].concat();
    let before = shortened.service.states(&open).await;
    let resumed =
        shortened.service.resume_with_approval("all", &lost).await.expect("it is resumed");
    assert!(matches!(resumed.outcome, ActionResult::Resumed { .. }), "{resumed:?}");
    assert_eq!(shortened.service.engine.halted(), None);
    // nothing that was open there goes on, in this life or in the next
    let mut stopped = shortened.stopped().await;
    stopped.sort();
    let mut wanted = open.clone();
    wanted.sort();
    assert_eq!(stopped, wanted);
    for again in [false, true] {
        tokio::time::sleep(Duration::from_millis(120)).await;
        assert_eq!(shortened.service.states(&open).await, before, "again: {again}");
        shortened.service.engine.reconciler.count_all().await;
        let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
        assert!(report.ok && report.recounted, "again: {again}: {:?}", report.breaks);
        assert_eq!(report.accepted.len(), lost.len() - 1, "they are listed");
        // others do, and Spot gives the lost numbers again
        shortened.service.work(2).await;
        shortened.service.engine.reconciler.count_all().await;
        let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
        assert!(report.ok && report.recounted, "again: {again}: {:?}", report.breaks);
        if !again {
            shortened.service.restart().await;
        }
    }
    assert!(shortened.service.faulty_spot.spot().known().highest > shortened.was);
    never_executed(&shortened).await;
    // persons let them go on: each is sent once more, and ends
    for (n, id) in open.iter().enumerate() {
        let goes_on = AdminAction::ResumeTransfer(*id);
        shortened.service.execute_as("ada", &format!("on-{n}"), goes_on).await.expect("it goes on");
    }
    shortened.service.wait_for_end(&open).await;
    let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok, "{:?}", report.breaks);
    assert_eq!(shortened.service.engine.halted(), None);
}

/// What is lost was executed by no repeat.
async fn never_executed(shortened: &Shortened) {
    let spot = shortened.service.faulty_spot.spot();
    for id in &shortened.ended {
        for leg in [Leg::Withdraw, Leg::Deposit] {
            let stored = spot.query(spot.known(), Key { id: *id, leg }).await;
            let nothing = matches!(stored, Reply::Answered(_, Stored::Nothing));
            assert!(nothing, "{id}: {stored:?}");
        }
    }
}

/// A person may also give back what such a transfer moves: Spot refuses the deposit for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_transfer_is_given_back_by_a_verdict() {
    let shortened = Shortened::service().await;
    let lost = shortened.lost().await;
    shortened.service.resume_with_approval("all", &lost).await.expect("it is resumed");
    let id = *shortened.open.first().expect("one from Funding to Spot");
    let verdict = AdminAction::Resolve {
        id,
        verdict: kernel::operators::Verdict::Rejected,
        evidence: serde_json::json!({ "ticket": 4711 }),
    };
    let proposed = shortened.service.execute_as("ada", "verdict", verdict).await.expect("proposed");
    let ActionResult::Proposed { approval } = proposed.outcome else { panic!("{proposed:?}") };
    let approved =
        shortened.service.execute_as("bob", "verdict", AdminAction::Approve(approval)).await;
    approved.expect("it takes effect");
    let goes_on = AdminAction::ResumeTransfer(id);
    shortened.service.execute_as("ada", "on", goes_on).await.expect("it goes on");
    shortened.service.wait_for_state(id, "ROLLED_BACK").await;
    let spot = shortened.service.faulty_spot.spot();
    let stored = spot.query(spot.known(), Key { id, leg: Leg::Deposit }).await;
    let Reply::Answered(_, Stored::Found(operation)) = stored else { panic!("{stored:?}") };
    assert_eq!(operation.outcome, StoredOutcome::Fenced);
    let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok, "{:?}", report.breaks);
}

/// How far the operations of Spot are proven, as the journal has it.
async fn proven(service: &TestService) -> u64 {
    let stored = service.service_status().await.proven.expect("it is stored");
    let (_, body) = stored.split_once(' ').expect("a MAC before it");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    body.pointer("/ledgers/0/operations").and_then(serde_json::Value::as_u64).expect("a number")
}

/// A proof that goes on behind a number that Spot gives again would pass operations unseen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_proven_above_the_lower_number_is_proven_no_more() {
    let shortened = Shortened::service().await;
    let lost = shortened.lost().await;
    let known = shortened.service.known_spot().await.expect("Spot was met");
    let identity = format!("{:032x}", known.identity.0);
    let ledger = serde_json::json!({
        "ledger": SPOT.0, "identity": identity, "operations": shortened.was,
    });
    let body = serde_json::json!({
        "version": 2, "transfers": 0, "ledgers": [ledger], "counts": null,
    });
    let body = body.to_string();
    let mac = kernel::audit::hex(&seal_key().certify(PROVEN, &body));
    let value = format!("{mac} {body}").into();
    let put = Put::Resource { name: PROVEN.into(), value };
    let wrote = shortened.service.store().write(vec![Unit::puts(vec![put])]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
    assert_eq!(proven(&shortened.service).await, shortened.was);
    shortened.service.resume_with_approval("all", &lost).await.expect("it is resumed");
    let is = shortened.service.faulty_spot.spot().known().highest;
    assert!(proven(&shortened.service).await <= is, "{is}");
}

/// A process that lived through the loss has answers of what is lost: they count no more, and it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_had_answers_of_what_is_lost_goes_on() {
    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let older = copied(&service.spot_folder());
    let ended = service.work(1).await;
    let was = service.known_spot().await.expect("Spot was met").highest;
    set_back(&service, &older).await;
    let open = vec![service.open_transfer(FUNDING, 1, 7).await];
    assert!(service.wait_for_stored_halt().await.contains("forgot"));
    let paid = open[0];
    let shortened = Shortened { service, was, ended, open, paid };
    let lost = shortened.lost().await;
    shortened.service.resume_with_approval("all", &lost).await.expect("it is resumed");
    assert_eq!(shortened.stopped().await, shortened.open);
    shortened.service.work(2).await;
    assert_eq!(shortened.service.engine.halted(), None);
    let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok, "{:?}", report.breaks);
    never_executed(&shortened).await;
}

/// A request from before the loss that is late on its way would be executed again by a ledger that was not
/// started since, under a number that is free again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_is_started_anew_before_its_loss_is_accepted() {
    let shortened = Shortened::service().await;
    let lost = shortened.lost().await;
    let former = shortened.service.known_spot().await.expect("Spot was met").incarnation;
    shortened.service.faulty_spot.set_lie(Lie::NotStarted(former));
    let refused = shortened.service.resume_with_approval("same", &lost).await;
    let Err(Objection::NotPossible(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("start it anew"), "{why}");
    assert!(shortened.service.service_status().await.halted.is_some(), "it stands");
    shortened.service.faulty_spot.stop_lying();
    shortened.service.resume_with_approval("anew", &lost).await.expect("it is resumed");
    shortened.service.work(1).await;
}

/// What was accepted is that loss alone: the same ledger that is set back once more halts again, and
/// needs persons again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_loss_is_another_one() {
    let mut shortened = Shortened::service().await;
    let lost = shortened.lost().await;
    shortened.service.resume_with_approval("all", &lost).await.expect("it is resumed");
    shortened.service.stop().await;
    let older = copied(&shortened.service.spot_folder());
    shortened.service.start().await;
    shortened.service.work(1).await;
    shortened.service.stop().await;
    set_back(&shortened.service, &older).await;
    shortened.service.start().await;
    assert!(shortened.service.wait_for_stored_halt().await.contains("forgot"));
    let refused = shortened.service.resume_with_approval("again", &[]).await;
    assert!(matches!(refused, Err(Objection::Breaks(_))), "{refused:?}");
    let second = shortened.lost().await;
    assert!(second.iter().filter(|a| a.key.ends_with("/lost")).all(|a| !lost.contains(a)));
    shortened.service.resume_with_approval("second", &second).await.expect("it is resumed");
    shortened.service.work(1).await;
    shortened.service.engine.reconciler.count_all().await;
    let report = shortened.service.engine.reconciler.check_now().await.expect("a round");
    assert!(report.ok, "{:?}", report.breaks);
}
