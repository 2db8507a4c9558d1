//! Pauses: what is in their scope takes no further step, and nothing of it is opened.
//!
//! Wrong builds that were run, each of which turns one of these red: no look at the finer scopes
//! before a batch, or at flow and ledger before a call; a paused one counted as a retry; the flags
//! read at start only; no look at intake; nothing brought back from aside.

use crate::house::{COIN, FUNDING, House, NEVER, SPOT};
use crate::way::Mood;
use engine::Refused;
use engine::deeds::{Deed, Objection, Outcome};
use kernel::code::Code;
use kernel::ids::{FlowId, Id, UserId};
use kernel::people::Scope;
use kernel::ports::journal::Journal as _;
use kernel::unit::{Put, Unit};
use std::time::Duration;

/// Long enough for a hand to have called, many times.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(250)).await;
}

/// A transfer of user 1 that waits for Spot.
async fn waits(house: &House) -> Id {
    house.way.mood(Mood::LoseRequests);
    let id = house.opened(FUNDING, 1, 500).await;
    house.reaches(id, "TARGET_PENDING").await;
    id
}

fn number(outcome: &Outcome) -> u64 {
    let Outcome::Paused(Some(number)) = outcome else { panic!("{outcome:?}") };
    *number
}

async fn stands(house: &House, id: Id) -> (Option<&'static str>, u32) {
    let retries = house.stand(&[id]).await.first().map_or(0, |record| record.head.retries);
    (house.states(&[id]).await.get(&id).copied(), retries)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_scope_stands_until_it_is_lifted_over_a_restart() {
    for fuse in [true, false] {
        let mut house = House::open(fuse, NEVER).await;
        let scopes = [
            (Scope::Flow(FlowId(0)), false),
            (Scope::Ledger(SPOT), false),
            (Scope::Asset(COIN), false),
            (Scope::Account(UserId(1), SPOT), true),
            (Scope::Account(UserId(1), FUNDING), true),
        ];
        for (n, (scope, others)) in scopes.into_iter().enumerate() {
            let what = format!("fuse={fuse} {scope:?}");
            let id = waits(&house).await;
            let paused = house.does("ada", &format!("p{n}"), Deed::Pause(scope)).await.unwrap();
            // a batch that was taken before may still be answered
            a_while().await;
            let before = stands(&house, id).await;
            house.way.mood(Mood::Fair);
            a_while().await;
            assert_eq!(stands(&house, id).await, before, "{what}");
            assert_eq!(before.0, Some("TARGET_PENDING"), "{what}");
            for from in [FUNDING, SPOT] {
                let refused = house.create(from, 1, 5).await;
                let overloaded = matches!(refused, Err(Refused::Code(Code::Overloaded)));
                assert!(overloaded, "{what}: {refused:?}");
            }
            if others {
                let other = house.opened(FUNDING, 2, 5).await;
                house.ended(&[other]).await;
            }
            house.restart().await;
            a_while().await;
            assert_eq!(stands(&house, id).await, before, "{what}: after a restart");
            let lift = Deed::Unpause(number(&paused.outcome));
            let again = house.does("ada", &format!("p{n}"), Deed::Pause(scope)).await.unwrap();
            assert_eq!((again.replayed, again.outcome), (true, paused.outcome), "{what}");
            house.does("ada", &format!("u{n}"), lift.clone()).await.unwrap();
            house.ended(&[id]).await;
            let gone = house.does("ada", &format!("v{n}"), lift).await;
            assert_eq!(gone, Err(Objection::NotFound("pause")), "{what}");
        }
        house.adds_up().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_transfer_stands_while_its_neighbours_go_on() {
    let mut house = House::open(true, NEVER).await;
    let id = waits(&house).await;
    house.does("ada", "1", Deed::PauseTransfer(id)).await.unwrap();
    house.does("bob", "1", Deed::PauseTransfer(id)).await.unwrap();
    a_while().await;
    let before = stands(&house, id).await;
    house.way.mood(Mood::Fair);
    let others = house.work(1).await;
    house.ended(&others).await;
    assert_eq!(stands(&house, id).await, before);
    house.restart().await;
    a_while().await;
    assert_eq!(stands(&house, id).await, before);
    house.does("ada", "2", Deed::ResumeTransfer(id)).await.unwrap();
    house.ended(&[id]).await;
    let words: Vec<_> = house.told(id).await.into_iter().map(|(what, ..)| what).collect();
    assert_eq!(words.iter().filter(|what| *what == "OPERATOR").count(), 3, "{words:?}");
    assert_eq!(house.standing().await.paused, [], "it lifts the pauses of both");
    house.adds_up().await;
}

/// Another process writes the same rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_that_another_process_set_is_followed() {
    let house = House::open(true, NEVER).await;
    let id = waits(&house).await;
    let scope = Scope::Asset(COIN);
    let pause = Put::Pause { scope, reason: "a test".into(), caller: "another".into() };
    house.store().write(vec![Unit::puts(vec![pause])]).await;
    a_while().await;
    house.way.mood(Mood::Fair);
    a_while().await;
    assert_eq!(stands(&house, id).await.0, Some("TARGET_PENDING"));
    let refused = house.create(FUNDING, 2, 5).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
    let number = house.standing().await.paused.first().map(|paused| paused.number).unwrap();
    house.store().write(vec![Unit::puts(vec![Put::Unpause(number)])]).await;
    house.ended(&[id]).await;
    assert_eq!(house.engine().halted(), None);
}

/// A ledger stands, and a transfer is at its other one: what is asked of that one goes on. Turns red
/// (and never ends) where a fused unit that the pause forbids is only tried again: the station's
/// hands never rest then, and hold as many threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transfer_goes_on_at_the_ledger_that_does_not_stand() {
    for fuse in [true, false] {
        let mut house = House::open(fuse, NEVER).await;
        let out = house.opened(FUNDING, 1, 500).await;
        house.ended(&[out]).await;
        house.hinder("NEW.user_id = 1");
        let back = house.opened(SPOT, 1, 200).await;
        house.reaches(back, "TARGET_PENDING").await;
        let pause = Deed::Pause(Scope::Ledger(SPOT));
        let paused = house.does("ada", "1", pause).await.unwrap();
        a_while().await;
        assert_eq!(stands(&house, back).await.0, Some("TARGET_PENDING"), "fuse={fuse}");
        house.restart().await;
        house.unhinder();
        house.ended(&[back]).await;
        assert_eq!(stands(&house, back).await.0, Some("COMMITTED"), "fuse={fuse}");
        house.does("ada", "2", Deed::Unpause(number(&paused.outcome))).await.unwrap();
        house.adds_up().await;
    }
}

/// More than there is room for aside: the rest waits in the journal, uncounted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_there_is_room_for_come_back_too() {
    let house = House::tuned(true, NEVER, |settings| settings.ring = 4).await;
    house.way.mood(Mood::LoseRequests);
    let mut ids = Vec::new();
    for user in 1..10 {
        ids.push(house.opened(FUNDING, user, 50).await);
    }
    let paused = house.does("ada", "1", Deed::Pause(Scope::Asset(COIN))).await.unwrap();
    a_while().await;
    house.way.mood(Mood::Fair);
    a_while().await;
    let states = house.states(&ids).await;
    assert!(states.values().all(|state| *state != "COMMITTED"), "{states:?}");
    house.does("ada", "2", Deed::Unpause(number(&paused.outcome))).await.unwrap();
    house.ended(&ids).await;
    house.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_cannot_be_paused() {
    let house = House::open(true, NEVER).await;
    let none = [
        (Scope::Flow(FlowId(9)), "flow"),
        (Scope::Ledger(kernel::ids::LedgerId::MARGIN), "ledger"),
        (Scope::Chain(kernel::ids::ChainId(20)), "chain"),
        (Scope::Asset(kernel::ids::AssetId(99)), "asset"),
        (Scope::Transfer(Id(9)), "transfer"),
    ];
    for (scope, what) in none {
        let refused = house.does("ada", "1", Deed::Pause(scope)).await;
        assert_eq!(refused, Err(Objection::NotFound(what)));
    }
    assert_eq!(house.standing().await.paused, []);
}
