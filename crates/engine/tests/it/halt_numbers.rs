//! Every halt has a number: a resume is of the halt that stood when it was proposed and when its proof
//! began, whichever process each of them met, and of none that was raised later.
//!
//! Wrong builds that were run, each of which turns one of these red: a resume's unit without the guard
//! of the halt's number; a halt that raises no number where one stands; proposals that stay open when a
//! halt is raised or lifted; a proposal without an end; a verdict that names a state and not the stay in
//! it; a repeated HALT that is called quiet without a look at the journal.

use crate::house::{FUNDING, House, NEVER};
use crate::way::{Mood, Stile};
use engine::Engine;
use engine::deeds::{Actor, Deed, Objection, Outcome, Performed, Verdict};
use kernel::ids::Id;
use kernel::ports::journal::Journal as _;
use kernel::unit::{Event, Guard, Hold, Put, Then, Unit, Wrote};
use std::sync::Arc;

const RESUME: Deed = Deed::Resume { accept: Vec::new() };

fn proposed(done: Result<Performed, Objection>) -> Id {
    let Ok(Outcome::Proposed { approval }) = done.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    approval
}

/// A person does something at another engine than the house's own.
async fn does(
    engine: &Arc<Engine>,
    who: &str,
    key: &str,
    deed: Deed,
) -> Result<Performed, Objection> {
    let (caller, reason) = (format!("portage|{who}").into(), format!("{who} {key}").into());
    engine.act(Actor { caller, key: key.into(), reason }, deed).await
}

fn refused(done: &Result<Performed, Objection>) -> bool {
    matches!(done, Err(Objection::Decided(_) | Objection::NotPossible(_)))
}

/// One person alone would lift a later HALT with an old, second proposal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_proposal_lifts_no_later_halt() {
    let house = House::open(true, NEVER).await;
    house.does("ada", "1", Deed::Halt).await.unwrap();
    let first = proposed(house.does("ada", "2", RESUME).await);
    let second = proposed(house.does("ada", "3", RESUME).await);
    house.does("bob", "1", Deed::Approve(first)).await.unwrap();
    house.work(1).await;
    house.does("eve", "1", Deed::Halt).await.unwrap();
    let late = house.does("bob", "2", Deed::Approve(second)).await;
    assert!(refused(&late), "{late:?}");
    assert!(house.standing().await.halted.is_some(), "it stands");
    assert!(house.engine().halted().is_some(), "it stands");
}

/// A halt that is raised where one stands is one of its own, with its reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_that_is_raised_after_a_proposal_does_not_fall_with_it() {
    let house = House::open(true, NEVER).await;
    does(house.engine(), "ada", "1", Deed::Halt).await.unwrap();
    let proposal = proposed(house.does("ada", "2", RESUME).await);
    does(house.engine(), "eve", "1", Deed::Halt).await.unwrap();
    assert_eq!(house.standing().await.halts, 2, "each has a number");
    let late = house.does("bob", "1", Deed::Approve(proposal)).await;
    assert!(refused(&late), "{late:?}");
    assert!(house.standing().await.halted.is_some(), "it stands");
    let fresh = proposed(house.does("ada", "3", RESUME).await);
    house.does("bob", "2", Deed::Approve(fresh)).await.unwrap();
    house.work(1).await;
}

/// The proof runs at another process than the one that answered the HALT, and ends after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_that_began_before_a_halt_does_not_lift_it() {
    let house = House::open(true, NEVER).await;
    let rival = house.rival().await;
    does(house.engine(), "ada", "1", Deed::Halt).await.unwrap();
    let proposal = proposed(does(&rival, "ada", "2", RESUME).await);
    let stile = Stile::shut();
    house.way.mood(Mood::LateProofs(stile.clone()));
    let approving = does(&rival, "bob", "1", Deed::Approve(proposal));
    let halting = async {
        stile.one().await;
        let halted = does(house.engine(), "eve", "1", Deed::Halt).await.unwrap();
        assert!(matches!(halted.outcome, Outcome::Halted { quiet: true, .. }), "{halted:?}");
        house.way.mood(Mood::Fair);
        stile.lets(100);
    };
    let (late, ()) = tokio::join!(approving, halting);
    assert!(refused(&late), "{late:?}");
    assert!(house.standing().await.halted.is_some(), "it was answered, and stands");
}

/// What was answered once is not what is true now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_halt_is_not_quiet_once_money_moves_again() {
    let house = House::open(true, NEVER).await;
    let halted = house.does("ada", "1", Deed::Halt).await.unwrap();
    assert!(matches!(halted.outcome, Outcome::Halted { quiet: true, .. }), "{halted:?}");
    let proposal = proposed(house.does("ada", "2", RESUME).await);
    house.does("bob", "1", Deed::Approve(proposal)).await.unwrap();
    let again = house.does("ada", "1", Deed::Halt).await.unwrap();
    assert!(matches!(again.outcome, Outcome::Halted { quiet: false, .. }), "{again:?}");
    assert!(again.replayed && house.engine().halted().is_none());
}

/// The engine that is asked again has not read of the HALT yet, and calls meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_that_is_repeated_elsewhere_waits_for_that_engine_too() {
    let mut house = House::tuned(false, NEVER, |s| s.open_timeout_ms = 300).await;
    house.settings.scan_interval_ms = NEVER;
    let rival = house.rival().await;
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    house.way.mood(Mood::Late(held.clone()));
    let late = crate::house::create(&rival, FUNDING, 1, 5).await.unwrap().record.id;
    house.reaches(late, "TARGET_PENDING").await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    does(house.engine(), "ada", "1", Deed::Halt).await.unwrap();
    let again = does(&rival, "ada", "1", Deed::Halt).await.unwrap();
    assert!(matches!(again.outcome, Outcome::Halted { quiet: false, .. }), "{again:?}");
    assert!(rival.halted().is_some(), "it stands there too");
    held.add_permits(100);
}

/// By the journal's time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_lapses() {
    let house = House::open(true, NEVER).await;
    house.does("ada", "1", Deed::Halt).await.unwrap();
    let hour = 3_600_000;
    let proposal = proposed(house.does("ada", "2", RESUME).await);
    house.clock.forward(24 * hour + 1);
    let late = house.does("bob", "1", Deed::Approve(proposal)).await;
    assert!(refused(&late), "{late:?}");
    assert!(house.standing().await.halted.is_some(), "it stands");
    let fresh = proposed(house.does("ada", "3", RESUME).await);
    house.clock.forward(23 * hour);
    house.does("bob", "2", Deed::Approve(fresh)).await.unwrap();
}

/// A transfer that left the state and came back waits for another answer than the one that was proposed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_is_of_one_stay_in_a_state() {
    let house = House::open(false, NEVER).await;
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 5).await;
    house.reaches(id, "TARGET_PENDING").await;
    let evidence = serde_json::json!({});
    let resolve = Deed::Resolve { id, verdict: Verdict::Rejected, evidence };
    let proposal = proposed(house.does("ada", "1", resolve).await);
    // as a flow whose table leads back would have it
    for state in ["SOURCE_DONE", "TARGET_PENDING"] {
        moved(&house, id, state).await;
    }
    let late = house.does("bob", "1", Deed::Approve(proposal)).await;
    assert!(
        refused(&late)
            || matches!(&late, Ok(done) if matches!(done.outcome, Outcome::Overtaken { .. })),
        "{late:?}"
    );
    house.way.mood(Mood::Fair);
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMMITTED"), "no fence was called");
}

/// Moves a transfer to a state, whatever holds it.
async fn moved(house: &House, id: Id, to: &str) {
    for _ in 0..1_000 {
        let record = house.stand(&[id]).await.pop().expect("the transfer");
        let flows = house.engine().flows();
        let table = flows.table(record.flow);
        let to =
            (0..=u8::MAX).find(|s| table.states.get(usize::from(*s)).is_some_and(|s| s.name == to));
        let (from, to) = (record.head.state, to.expect("a state"));
        let mut head = record.head;
        head.state = to;
        head.version += 1;
        head.due_at = None;
        let event = Event { id, from: Some(from), to, what: "TEST", caller: None, detail: None };
        let guard = Guard::Transfer { id, state: from, version: record.head.version };
        let put = Put::Head { id, head, error: None, hold: Hold::Mine };
        let then = Then { puts: vec![put], events: vec![event], ..Then::default() };
        let wrote = house.store().write(vec![Unit { guards: vec![guard], then }]).await;
        if matches!(wrote.first(), Some(Wrote::Written(_))) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("it moves on and on");
}
