//! The stops of a chain that the engine itself set: two persons lift one, for the reasons that both could see.
//!
//! Wrong builds that were run, each of which turns one of these red: the pause of the engine ends for the one who asks
//! for it; the one who proposed let approve; the count of reasons not held to the proposal.

use crate::fixture::defaults::NEVER;
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection, PerformedAction};
use kernel::ids::{ChainId, Id};
use kernel::operators::Scope;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Put, Unit};

const SCOPE: Scope = Scope::Chain(ChainId::NEAR);

/// The engine stops the chain, as it does: a pause that stands once, and one more reason.
async fn stops(service: &TestService, by: &str, reason: &str) {
    let pause = Put::Pause { scope: SCOPE, reason: reason.into(), caller: by.into() };
    let counted = Put::Resource { name: "stops:NEAR".into(), value: reason.into() };
    service.store().write(vec![Unit::puts(vec![pause, counted])]).await;
}

async fn number(service: &TestService) -> Option<u64> {
    service.service_status().await.paused.first().map(|paused| paused.number)
}

async fn proposes(service: &TestService, who: &str, key: &str) -> Id {
    let pause = number(service).await.expect("a pause");
    let done =
        service.execute_as(who, key, AdminAction::Unpause(pause)).await.expect("it is proposed");
    let ActionResult::Proposed { approval } = done.outcome else { panic!("{done:?}") };
    assert_eq!(number(service).await, Some(pause), "one person was enough");
    approval
}

async fn approves(
    service: &TestService,
    who: &str,
    key: &str,
    id: Id,
) -> Result<PerformedAction, Objection> {
    service.execute_as(who, key, AdminAction::Approve(id)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_persons_lift_a_stop_of_the_engine() {
    let mut service = TestService::open(true, NEVER).await;
    for by in ["engine", "engine:lanes"] {
        stops(&service, by, &format!("FOREIGN_PAYMENT: {by}")).await;
        let first = proposes(&service, "ada", &format!("{by} 1")).await;
        // the same person, in another spelling and after a start too
        assert_eq!(approves(&service, "ada", by, first).await, Err(Objection::SamePerson));
        assert_eq!(approves(&service, "ADA", by, first).await, Err(Objection::SamePerson));
        service.restart().await;
        assert_eq!(approves(&service, "ada", by, first).await, Err(Objection::SamePerson));
        // nor by a second proposal
        let second = proposes(&service, "ada", &format!("{by} 2")).await;
        assert_eq!(approves(&service, "ada", by, second).await, Err(Objection::SamePerson));
        let done = approves(&service, "bob", by, first).await.expect("it ends");
        assert_eq!(done.outcome, ActionResult::Unpaused);
        assert_eq!(number(&service).await, None);
        // what the other proposal was about is over
        service.is_superseded(second).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reason_that_came_later_stands() {
    let service = TestService::open(true, NEVER).await;
    stops(&service, "engine", "FOREIGN_PAYMENT: one").await;
    let first = proposes(&service, "ada", "1").await;
    stops(&service, "engine", "FOREIGN_PAYMENT: another").await;
    service.is_superseded(first).await;
    assert!(number(&service).await.is_some(), "a reason that neither of them saw is over");
    let next = proposes(&service, "bob", "2").await;
    assert!(approves(&service, "ada", "2", next).await.is_ok());
    assert_eq!(number(&service).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_person_lifts_what_a_person_paused() {
    let service = TestService::open(true, NEVER).await;
    stops(&service, "portage|ada", "ticket 4711").await;
    let pause = number(&service).await.expect("a pause");
    let done = service.execute_as("ada", "1", AdminAction::Unpause(pause)).await.expect("it ends");
    assert_eq!((done.outcome, number(&service).await), (ActionResult::Unpaused, None));
    // without four eyes one person is enough for all
    let service = TestService::open_with(true, NEVER, |settings| settings.four_eyes = false).await;
    stops(&service, "engine", "EVENTS_MISMATCH: one").await;
    let pause = number(&service).await.expect("a pause");
    let done = service.execute_as("ada", "1", AdminAction::Unpause(pause)).await.expect("it ends");
    assert_eq!((done.outcome, number(&service).await), (ActionResult::Unpaused, None));
}
