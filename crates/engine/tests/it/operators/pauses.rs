//! Pauses: what is in their scope takes no further step, and nothing of it is opened.
//!
//! Wrong builds that were run, each of which turns one of these red: no look at the finer scopes
//! before a batch, or at flow and ledger before a call; a paused one counted as a retry; the flags
//! read at start only; no look at intake; nothing brought back from aside.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::Refused;
use engine::operators::{ActionResult, AdminAction, Objection};
use kernel::code::Code;
use kernel::ids::{FlowId, Id, UserId};
use kernel::operators::Scope;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Put, Unit};
use std::time::Duration;

/// Long enough for a hand to have called, many times.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(250)).await;
}

/// A transfer of user 1 that waits for Spot.
async fn waits(service: &TestService) -> Id {
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    id
}

fn number(outcome: &ActionResult) -> u64 {
    let ActionResult::Paused { number: Some(number) } = outcome else { panic!("{outcome:?}") };
    *number
}

async fn stands(service: &TestService, id: Id) -> (Option<&'static str>, u32) {
    let retries = service.records(&[id]).await.first().map_or(0, |record| record.head.retries);
    (service.states(&[id]).await.get(&id).copied(), retries)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_pause_stays_until_it_ends_over_a_restart() {
    for fuse in [true, false] {
        let mut service = TestService::open(fuse, NEVER).await;
        let scopes = [
            (Scope::Flow(FlowId(0)), false),
            (Scope::Ledger(SPOT), false),
            (Scope::Asset(COIN), false),
            (Scope::Account(UserId(1), SPOT), true),
            (Scope::Account(UserId(1), FUNDING), true),
        ];
        for (n, (scope, others)) in scopes.into_iter().enumerate() {
            let what = format!("fuse={fuse} {scope:?}");
            let id = waits(&service).await;
            let paused = service
                .execute_as("ada", &format!("p{n}"), AdminAction::Pause(scope))
                .await
                .unwrap();
            // a batch that was taken before may still be answered
            a_while().await;
            let before = stands(&service, id).await;
            service.faulty_spot.set_fault(CallFault::None);
            a_while().await;
            assert_eq!(stands(&service, id).await, before, "{what}");
            assert_eq!(before.0, Some("TARGET_PENDING"), "{what}");
            for from in [FUNDING, SPOT] {
                let refused = service.create(from, 1, 5).await;
                let overloaded = matches!(refused, Err(Refused::Code(Code::Overloaded)));
                assert!(overloaded, "{what}: {refused:?}");
            }
            if others {
                let other = service.open_transfer(FUNDING, 2, 5).await;
                service.wait_for_end(&[other]).await;
            }
            service.restart().await;
            a_while().await;
            assert_eq!(stands(&service, id).await, before, "{what}: after a restart");
            let lift = AdminAction::Unpause(number(&paused.outcome));
            let again = service
                .execute_as("ada", &format!("p{n}"), AdminAction::Pause(scope))
                .await
                .unwrap();
            assert_eq!((again.replayed, again.outcome), (true, paused.outcome), "{what}");
            // another person: who paused an account only proposes to lift that
            service.execute_as("bob", &format!("u{n}"), lift.clone()).await.unwrap();
            service.wait_for_end(&[id]).await;
            let gone = service.execute_as("bob", &format!("v{n}"), lift).await;
            assert_eq!(gone, Err(Objection::NotFound("pause")), "{what}");
        }
        service.assert_in_order().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_transfer_stands_while_its_neighbours_go_on() {
    let mut service = TestService::open(true, NEVER).await;
    let id = waits(&service).await;
    service.execute_as("ada", "1", AdminAction::PauseTransfer(id)).await.unwrap();
    service.execute_as("bob", "1", AdminAction::PauseTransfer(id)).await.unwrap();
    a_while().await;
    let before = stands(&service, id).await;
    service.faulty_spot.set_fault(CallFault::None);
    let others = service.work(1).await;
    service.wait_for_end(&others).await;
    assert_eq!(stands(&service, id).await, before);
    service.restart().await;
    a_while().await;
    assert_eq!(stands(&service, id).await, before);
    service.execute_as("ada", "2", AdminAction::ResumeTransfer(id)).await.unwrap();
    service.wait_for_end(&[id]).await;
    let words: Vec<_> = service.history(id).await.into_iter().map(|(what, ..)| what).collect();
    assert_eq!(words.iter().filter(|what| *what == "OPERATOR").count(), 3, "{words:?}");
    assert_eq!(service.service_status().await.paused, [], "it lifts the pauses of both");
    service.assert_in_order().await;
}

/// Another process writes the same rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_that_another_process_set_is_followed() {
    let service = TestService::open(true, NEVER).await;
    let id = waits(&service).await;
    let scope = Scope::Asset(COIN);
    let pause = Put::Pause { scope, reason: "a test".into(), caller: "another".into() };
    service.store().write(vec![Unit::puts(vec![pause])]).await;
    a_while().await;
    service.faulty_spot.set_fault(CallFault::None);
    a_while().await;
    assert_eq!(stands(&service, id).await.0, Some("TARGET_PENDING"));
    let refused = service.create(FUNDING, 2, 5).await;
    assert!(matches!(refused, Err(Refused::Code(Code::Overloaded))), "{refused:?}");
    let number = service.service_status().await.paused.first().map(|paused| paused.number).unwrap();
    service.store().write(vec![Unit::puts(vec![Put::Unpause(number)])]).await;
    service.wait_for_end(&[id]).await;
    assert_eq!(service.engine.halted(), None);
}

/// A ledger stands, and a transfer is at its other one: what is asked of that one goes on. Turns red
/// (and never ends) where a fused unit that the pause forbids is only tried again: the station's
/// hands never rest then, and hold as many threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transfer_goes_on_at_the_ledger_that_does_not_stand() {
    for fuse in [true, false] {
        let mut service = TestService::open(fuse, NEVER).await;
        let out = service.open_transfer(FUNDING, 1, 500).await;
        service.wait_for_end(&[out]).await;
        service.hinder("NEW.user_id = 1");
        let back = service.open_transfer(SPOT, 1, 200).await;
        service.wait_for_state(back, "TARGET_PENDING").await;
        let pause = AdminAction::Pause(Scope::Ledger(SPOT));
        let paused = service.execute_as("ada", "1", pause).await.unwrap();
        a_while().await;
        assert_eq!(stands(&service, back).await.0, Some("TARGET_PENDING"), "fuse={fuse}");
        service.restart().await;
        service.unhinder();
        service.wait_for_end(&[back]).await;
        assert_eq!(stands(&service, back).await.0, Some("COMMITTED"), "fuse={fuse}");
        service
            .execute_as("ada", "2", AdminAction::Unpause(number(&paused.outcome)))
            .await
            .unwrap();
        service.assert_in_order().await;
    }
}

/// More than there is room for aside: the rest waits in the journal, uncounted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_there_is_room_for_come_back_too() {
    let service = TestService::open_with(true, NEVER, |settings| settings.ring = 4).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let mut ids = Vec::new();
    for user in 1..10 {
        ids.push(service.open_transfer(FUNDING, user, 50).await);
    }
    let paused =
        service.execute_as("ada", "1", AdminAction::Pause(Scope::Asset(COIN))).await.unwrap();
    a_while().await;
    service.faulty_spot.set_fault(CallFault::None);
    a_while().await;
    let states = service.states(&ids).await;
    assert!(states.values().all(|state| *state != "COMMITTED"), "{states:?}");
    service.execute_as("ada", "2", AdminAction::Unpause(number(&paused.outcome))).await.unwrap();
    service.wait_for_end(&ids).await;
    service.assert_in_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_cannot_be_paused() {
    let service = TestService::open(true, NEVER).await;
    let none = [
        (Scope::Flow(FlowId(9)), "flow"),
        (Scope::Ledger(kernel::ids::LedgerId::MARGIN), "ledger"),
        (Scope::Chain(kernel::ids::ChainId(20)), "chain"),
        (Scope::Asset(kernel::ids::AssetId(99)), "asset"),
        (Scope::Transfer(Id(9)), "transfer"),
    ];
    for (scope, what) in none {
        let refused = service.execute_as("ada", "1", AdminAction::Pause(scope)).await;
        assert_eq!(refused, Err(Objection::NotFound(what)));
    }
    assert_eq!(service.service_status().await.paused, []);
}
