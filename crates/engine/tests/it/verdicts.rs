//! Verdicts: an answer to the open call that the ledger bears out, when another person approves.
//!
//! Wrong builds that were run, each of which turns one of these red: a fence at the proposal;
//! `rejected` without a fence; `done` on anybody's word; a fence under HALT; a verdict for a state that
//! has passed; a fence of unknown outcome taken for a refusal; a refusal of what cannot be given back,
//! or would strand the money; the deed told twice in the history.

use crate::house::{FUNDING, GIVEN, House, NEVER, SPOT};
use crate::way::Mood;
use engine::deeds::{Deed, Objection, Outcome, Said, Verdict};
use kernel::code::Code;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::people::Stand;
use kernel::ports::journal::Journal as _;
use kernel::ports::ledger::{Form, Heard, Ledger as _, Stored, Whose};
use kernel::retry::Backoff;
use kernel::unit::Key;
use serde_json::json;

async fn house() -> House {
    House::tuned(true, NEVER, |s| s.backoff = Backoff { base: 600_000, cap: 600_000 }).await
}

async fn stuck(house: &House, from: LedgerId, mood: Mood) -> Id {
    house.way.mood(mood);
    let id = house.opened(from, 1, 500).await;
    while house.stand(&[id]).await.iter().any(|record| record.head.retries == 0) {
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    house.way.mood(Mood::Fair);
    id
}

fn says(id: Id, verdict: Verdict) -> Deed {
    Deed::Resolve { id, verdict, evidence: json!({ "ticket": 7 }) }
}

async fn proposed(house: &House, key: &str, deed: Deed) -> Id {
    let done = house.does("ada", key, deed).await;
    let Ok(Outcome::Proposed { approval }) = done.map(|done| done.outcome) else {
        panic!("nothing is proposed")
    };
    approval
}

async fn stored(house: &House, key: Key) -> Stored {
    let spot = house.way.spot();
    let Heard::Said(_, stored) = spot.query(spot.known(), key).await else { panic!("no answer") };
    stored
}

async fn has(house: &House, ledger: LedgerId) -> Amount {
    let port = house.engine().ledger(ledger).expect("a ledger");
    let Heard::Said(_, all) = port.accounts(Whose::User(UserId(1))).await else { panic!() };
    all.first().map_or(Amount::ZERO, |holding| holding.available)
}

fn resolved(verdict: Verdict, said: Said, state: &str) -> Outcome {
    Outcome::Resolved { verdict, said, state: state.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_fenced_when_another_person_approves_and_the_money_goes_back() {
    let mut house = house().await;
    let id = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let key = Key { id, leg: Leg::Deposit };
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    assert_eq!(stored(&house, key).await, Stored::Nothing, "nothing is fenced before");
    let again = house.does("ada", "1", says(id, Verdict::Rejected)).await.unwrap();
    assert_eq!((again.replayed, again.outcome), (true, Outcome::Proposed { approval }));
    let same = house.does("ada", "2", Deed::Approve(approval)).await;
    assert_eq!(same, Err(Objection::SamePerson));
    assert_eq!(stored(&house, key).await, Stored::Nothing);
    house.restart().await;
    let done = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, Said::Fenced, "COMPENSATING"));
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    assert_eq!(has(&house, FUNDING).await, Amount(GIVEN));
    let told = house.told(id).await;
    let operators: Vec<_> = told
        .iter()
        .filter(|(what, ..)| what == "OPERATOR")
        .filter_map(|(_, caller, _)| caller.as_deref())
        .collect();
    // the proposal, and the approval as the intent of its fence
    assert_eq!(operators, ["portage|ada", "portage|bob"], "{told:?}");
    assert!(
        told.iter().any(|(what, _, detail)| {
            what == "TARGET_FAIL" && detail.as_deref() == Some("FENCED")
        })
    );
    let late = house.does("eve", "1", Deed::Approve(approval)).await;
    assert_eq!(late, Err(Objection::Decided(Stand::Approved)));
    let replay = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!((replay.replayed, replay.outcome), (true, done.outcome));
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdraw_at_the_source_that_is_fenced_fails() {
    let house = house().await;
    let first = house.opened(FUNDING, 1, 900).await;
    house.ended(&[first]).await;
    let id = stuck(&house, SPOT, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    let done = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, Said::Fenced, "FAILED"));
    assert_eq!(has(&house, SPOT).await, Amount(900));
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_says_done_turns_a_refusal_into_done() {
    let house = house().await;
    for verdict in [Verdict::Rejected, Verdict::Done] {
        let id = stuck(&house, FUNDING, Mood::LoseReplies).await;
        let approval = proposed(&house, &id.to_string(), says(id, verdict)).await;
        let done = house.does("bob", &id.to_string(), Deed::Approve(approval)).await.unwrap();
        let Outcome::Resolved { verdict: Verdict::Done, said: Said::Done(_), state } = done.outcome
        else {
            panic!("{verdict:?}: {done:?}")
        };
        assert_eq!(&*state, "COMMITTED");
        house.ended(&[id]).await;
    }
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn done_needs_the_ledgers_own_word() {
    let house = house().await;
    let id = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Done)).await;
    let refused = house.does("bob", "1", Deed::Approve(approval)).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    house.way.mood(Mood::Silent);
    let refused = house.does("bob", "1", Deed::Approve(approval)).await;
    assert!(matches!(refused, Err(Objection::Unknown(_))), "{refused:?}");
    let stands = house.store().approval(approval).await.unwrap().unwrap().stand;
    assert_eq!(stands, Stand::Pending);
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_of_unknown_outcome_leaves_the_approval_pending() {
    let house = house().await;
    let id = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    house.way.mood(Mood::LoseFences);
    let unknown = house.does("bob", "1", Deed::Approve(approval)).await;
    assert!(matches!(unknown, Err(Objection::Unknown(_))), "{unknown:?}");
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
    let stands = house.store().approval(approval).await.unwrap().unwrap().stand;
    assert_eq!(stands, Stand::Pending);
    house.way.mood(Mood::Fair);
    let done = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, resolved(Verdict::Rejected, Said::Fenced, "COMPENSATING"));
    house.ended(&[id]).await;
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_halt_nothing_is_fenced_and_what_is_stored_is_taken() {
    let house = house().await;
    let lost = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let done = stuck(&house, FUNDING, Mood::LoseReplies).await;
    let fence = proposed(&house, "1", says(lost, Verdict::Rejected)).await;
    let take = proposed(&house, "2", says(done, Verdict::Done)).await;
    house.does("ada", "3", Deed::Halt).await.unwrap();
    let refused = house.does("bob", "1", Deed::Approve(fence)).await;
    assert_eq!(refused, Err(Objection::Code(Code::Halted)));
    let key = Key { id: lost, leg: Leg::Deposit };
    assert_eq!(stored(&house, key).await, Stored::Nothing);
    house.does("bob", "2", Deed::Approve(take)).await.unwrap();
    assert_eq!(house.states(&[done]).await.get(&done), Some(&"COMMITTED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_that_comes_too_late_changes_nothing() {
    let house = house().await;
    let id = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    house.does("ada", "2", Deed::Retry(id)).await.unwrap();
    house.ended(&[id]).await;
    let done = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!(done.outcome, Outcome::Overtaken { state: "COMMITTED".into() });
    let replay = house.does("bob", "1", Deed::Approve(approval)).await.unwrap();
    assert_eq!((replay.replayed, replay.outcome), (true, done.outcome));
    let ended = house.does("ada", "3", says(id, Verdict::Done)).await;
    assert!(matches!(ended, Err(Objection::NotPossible(_))), "{ended:?}");
    house.adds_up().await;
}

/// A verdict on the withdraw is none on the deposit, which is open when it is approved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_answers_the_call_that_it_was_given_for() {
    let house = house().await;
    let first = house.opened(FUNDING, 1, 900).await;
    house.ended(&[first]).await;
    let id = stuck(&house, SPOT, Mood::LoseRequests).await;
    let approval = proposed(&house, "1", says(id, Verdict::Rejected)).await;
    let refused = proposed(&house, "2", says(id, Verdict::Done)).await;
    house.hinder("NEW.available > OLD.available");
    house.does("ada", "3", Deed::Retry(id)).await.unwrap();
    house.reaches(id, "TARGET_PENDING").await;
    for (key, approval) in [("1", approval), ("2", refused)] {
        let done = house.does("bob", key, Deed::Approve(approval)).await.unwrap();
        assert_eq!(done.outcome, Outcome::Overtaken { state: "TARGET_PENDING".into() });
    }
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"TARGET_PENDING"));
    house.unhinder();
    house.does("ada", "4", Deed::Retry(id)).await.unwrap();
    house.ended(&[id]).await;
    assert_eq!(house.states(&[id]).await.get(&id), Some(&"COMMITTED"));
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_ledger_can_bear_out_is_refused_at_once() {
    let mut house = house().await;
    let id = stuck(&house, FUNDING, Mood::LoseRequests).await;
    let dead = house.does("ada", "1", says(id, Verdict::Dead)).await;
    assert!(matches!(dead, Err(Objection::Invalid(_))), "{dead:?}");
    house.stop().await;
    house.settings.irreversible = vec![FUNDING];
    house.start().await;
    let stranded = house.does("ada", "2", says(id, Verdict::Rejected)).await;
    assert!(matches!(stranded, Err(Objection::NotPossible(_))), "{stranded:?}");
    house.stop().await;
    house.settings.irreversible = Vec::new();
    house.start().await;

    // a ledger of the simple form can only be asked
    house.way.form(Form::Simple);
    let approval = proposed(&house, "3", says(id, Verdict::Rejected)).await;
    let wait = house.does("bob", "3", Deed::Approve(approval)).await;
    assert!(matches!(wait, Err(Objection::NotPossible(_))), "{wait:?}");
    assert_eq!(stored(&house, Key { id, leg: Leg::Deposit }).await, Stored::Nothing);
    house.way.form(Form::Full);

    // a refund cannot be refused
    house.hinder("NEW.available > OLD.available");
    house.does("bob", "4", Deed::Approve(approval)).await.unwrap();
    house.reaches(id, "COMPENSATING").await;
    let push = house.does("ada", "4", says(id, Verdict::Rejected)).await;
    assert!(matches!(push, Err(Objection::Invalid(_))), "{push:?}");
    house.unhinder();
    // unless it was only now that it was tried
    house.does("ada", "5", Deed::Retry(id)).await.ok();
    house.ended(&[id]).await;
    house.adds_up().await;
}
