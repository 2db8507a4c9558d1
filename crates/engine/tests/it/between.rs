//! What comes between the proof of a verdict and the step that it leads to: a HALT, and the ledger's
//! own word against it. The wrong builds named at the tests were run, and each turned its test red.

use crate::house::{FUNDING, House, NEVER, SPOT};
use crate::way::{Lie, Mood, Stile};
use engine::Refused;
use engine::deeds::{Actor, Deed, Objection, Outcome, Performed, Said, Verdict};
use kernel::code::Code;
use kernel::ids::Id;
use kernel::life::Leg;
use kernel::people::Scope;
use kernel::ports::journal::Journal as _;
use kernel::ports::ledger::{Heard, Ledger as _, Stored};
use kernel::retry::Backoff;
use kernel::unit::Key;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

async fn house() -> House {
    House::tuned(true, NEVER, |s| s.backoff = Backoff { base: 600_000, cap: 600_000 }).await
}

/// A deposit at Spot of which nobody heard.
async fn stuck(house: &House, mood: Mood) -> Id {
    house.way.mood(mood);
    let id = house.opened(FUNDING, 1, 500).await;
    while house.stand(&[id]).await.iter().any(|record| record.head.retries == 0) {
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    house.way.mood(Mood::Fair);
    id
}

async fn proposed(house: &House, key: &str, deed: Deed) -> Id {
    let done = house.does("ada", key, deed).await;
    let Ok(Outcome::Proposed { approval }) = done.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    approval
}

fn says(id: Id, verdict: Verdict) -> Deed {
    Deed::Resolve { id, verdict, evidence: json!({}) }
}

/// Bob approves, beside the test.
#[expect(clippy::disallowed_methods, reason = "a person, not a task of the engine")]
fn approves(house: &House, approval: Id) -> JoinHandle<Result<Performed, Objection>> {
    let engine = house.engine().clone();
    let bob =
        Actor { caller: "portage|bob".into(), key: "approve".into(), reason: "a test".into() };
    tokio::spawn(async move { engine.act(bob, Deed::Approve(approval)).await })
}

async fn stored(house: &House, id: Id) -> Stored {
    let (spot, key) = (house.way.spot(), Key { id, leg: Leg::Deposit });
    let Heard::Said(_, stored) = spot.query(spot.known(), key).await else { panic!("no answer") };
    stored
}

async fn resumed(house: &House, key: &str) -> Result<Outcome, Objection> {
    let approval = proposed(house, key, Deed::Resume { accept: Vec::new() }).await;
    let done = house.does("eve", key, Deed::Approve(approval)).await;
    done.map(|done| done.outcome)
}

/// The question found nothing and HALT came: nothing is fenced, and the approval waits.
///
/// Red where `Gate::fence` does not look at HALT and the fence's intent has no guard against it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_question_keeps_the_fence() {
    let house = house().await;
    let id = stuck(&house, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    let stile = Stile::shut();
    house.way.mood(Mood::LateProofs(stile.clone()));
    let bob = approves(&house, approval);
    stile.one().await;
    let halted = house.does("eve", "halt", Deed::Halt).await.unwrap();
    assert!(matches!(&halted.outcome, Outcome::Halted { calls: 0, quiet: true, .. }), "{halted:?}");
    stile.lets(9);
    assert_eq!(bob.await.unwrap(), Err(Objection::Code(Code::Halted)));
    assert_eq!(stored(&house, id).await, Stored::Nothing);
    house.way.mood(Mood::Fair);
    assert!(resumed(&house, "2").await.is_ok());
    let done = approves(&house, approval).await.unwrap().unwrap();
    assert!(matches!(done.outcome, Outcome::Resolved { said: Said::Fenced, .. }), "{done:?}");
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    house.adds_up().await;
}

/// The fence stands and HALT came before its answer: the answer is recorded, and the refund waits.
///
/// Red where the fence takes no ticket (HALT says that nothing is on the wire), where `ruled` goes on
/// to the refund (`Reach::Fused` without its guard), and where it leaves the answer out under HALT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_fence_records_it_and_gives_nothing_back() {
    let house = House::tuned(true, NEVER, |s| {
        s.backoff = Backoff { base: 600_000, cap: 600_000 };
        s.open_timeout_ms = 300;
    })
    .await;
    let id = stuck(&house, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    let stile = Stile::shut();
    house.way.mood(Mood::LateProofs(stile.clone()));
    let bob = approves(&house, approval);
    stile.one().await;
    stile.lets(1);
    // the question was let go; now the fence
    stile.one().await;
    assert!(matches!(stored(&house, id).await, Stored::Found(_)));
    let halted = house.does("eve", "halt", Deed::Halt).await.unwrap();
    let key = Key { id, leg: Leg::Deposit };
    let on_wire = vec![(SPOT, key)];
    let named = Outcome::Halted { halt: Some(1), on_wire, calls: 1, quiet: false };
    assert_eq!(halted.outcome, named);
    stile.lets(1);
    let done = bob.await.unwrap().unwrap();
    let resolved = Outcome::Resolved {
        verdict: Verdict::Rejected,
        said: Said::Fenced,
        state: "COMPENSATING".into(),
    };
    assert_eq!(done.outcome, resolved);
    house.does("ada", "look", Deed::Ask(id)).await.unwrap();
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMPENSATING"), "no refund under HALT");
    house.way.mood(Mood::Fair);
    assert!(resumed(&house, "2").await.is_ok());
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    house.adds_up().await;
}

/// The ledger's DONE was on its way: it is recorded, with the settle that belongs to it.
///
/// Red where `ruled` leaves the answer out under HALT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_question_takes_what_it_found() {
    let house = house().await;
    let id = stuck(&house, Mood::LoseReplies).await;
    let approval = proposed(&house, "1", says(id, Verdict::Done)).await;
    let stile = Stile::shut();
    house.way.mood(Mood::LateProofs(stile.clone()));
    let bob = approves(&house, approval);
    stile.one().await;
    house.does("eve", "halt", Deed::Halt).await.unwrap();
    stile.lets(1);
    bob.await.unwrap().unwrap();
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    house.way.mood(Mood::Fair);
    let report = house.engine().check_now().await.unwrap();
    assert!(report.ok, "{report:?}");
}

/// The books were proven for a resume, and another HALT came before it took effect.
///
/// Red where `lift` does not compare the halts that it saw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_after_the_proof_of_a_resume_keeps_its_halt() {
    let mut house = house().await;
    house.does("ada", "halt", Deed::Halt).await.unwrap();
    let approval = proposed(&house, "1", Deed::Resume { accept: Vec::new() }).await;
    let stile = Stile::shut();
    house.way.mood(Mood::LateProofs(stile.clone()));
    let bob = approves(&house, approval);
    stile.one().await;
    house.does("eve", "again", Deed::Halt).await.unwrap();
    stile.lets(9);
    let refused = bob.await.unwrap();
    assert!(matches!(&refused, Err(Objection::NotPossible(why)) if why.contains("again")));
    assert!(house.engine().halted().is_some());
    house.restart().await;
    assert!(house.engine().halted().is_some());
    house.way.mood(Mood::Fair);
    assert!(resumed(&house, "2").await.is_ok());
    house.work(1).await;
    house.adds_up().await;
}

/// A ledger that said FENCED, and says DONE when the lost reply comes after all.
///
/// Red where an answer that finds its transfer elsewhere is dropped (`too_late` does nothing): no
/// case, no pause, and the refund goes out as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_contradicts_a_verdict_stops_the_flow_before_the_refund() {
    let house = house().await;
    let held = Arc::new(Semaphore::new(0));
    house.way.mood(Mood::Late(held.clone()));
    let id = house.opened(FUNDING, 1, 500).await;
    house.reaches(id, "TARGET_PENDING").await;
    while !matches!(stored(&house, id).await, Stored::Found(_)) {
        tokio::task::yield_now().await;
    }
    house.hinder("NEW.available > OLD.available");
    house.way.lie(Lie::Fences);
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    let done = approves(&house, approval).await.unwrap().unwrap();
    assert!(matches!(done.outcome, Outcome::Resolved { said: Said::Fenced, .. }), "{done:?}");
    house.reaches(id, "COMPENSATING").await;
    house.way.honest();
    held.add_permits(9);
    house.shows(&[("CONTRADICTION", format!("transfer/{id}"), true)]).await;
    let cases = house.cases();
    assert!(cases.iter().all(|(severity, ..)| severity == "CRITICAL"), "{cases:?}");
    let paused = house.standing().await.paused;
    let [pause] = paused.as_slice() else { panic!("{paused:?}") };
    assert_eq!((pause.scope, &*pause.caller), (Scope::Flow(kernel::ids::FlowId(0)), "engine"));

    house.unhinder();
    house.does("ada", "2", Deed::Retry(id)).await.unwrap();
    let refused = house.create(FUNDING, 2, 5).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
    let report = house.engine().check_now().await.unwrap();
    let keys: Vec<_> = report.breaks.iter().map(|found| found.key.as_str()).collect();
    assert!(
        keys.contains(&format!("{id}/SPOT/DEPOSIT").as_str()),
        "the books say so too: {keys:?}"
    );
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMPENSATING"), "one effect, not two");
    let refunds: i64 = house
        .tool()
        .query_row("SELECT count(*) FROM operations WHERE leg = 'REFUND'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(refunds, 0);
    assert!(house.store().approval(approval).await.unwrap().is_some());
}
