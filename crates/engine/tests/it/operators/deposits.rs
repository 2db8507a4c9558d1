//! Deposits above what one operator may book on a day, through the engine: proposed, and booked by the
//! approval of another person.
//!
//! The rules themselves are held by the journals' suite (`conformance::journal::deposits`). Each of these
//! wrong builds was run and turns a test here and that suite over the embedded store red: the counter stays
//! where it was; each deposit is compared with the bound by itself. The suite alone finds that the counter
//! is of a principal, not of a person; the tests here alone, that the engine knows no bound.

use crate::fixture::defaults::{COIN, NEVER};
use crate::fixture::test_service::TestService;
use engine::operators::{ActionResult, AdminAction, Objection};
use kernel::code::Code;
use kernel::ids::Id;
use kernel::operators::ApprovalStatus;
use kernel::ports::ledger::{Direction, External, Moved};

fn deposit(who: &str, reference: &str, amount: u128) -> External {
    let caller = format!("portage|{who}").into();
    External { caller, ..testkit::deposit(reference, 1, COIN, amount) }
}

/// A service where one operator may deposit 50 units of the coin on a day.
async fn bounded() -> TestService {
    let bound = |s: &mut engine::Settings| {
        s.movement_limits.insert("USDT".to_owned(), "50".to_owned());
    };
    TestService::open_with(true, NEVER, bound).await
}

async fn booked(service: &TestService, movement: &External) -> Moved {
    service.engine.operators.book(movement.clone()).await.expect("an answer")
}

async fn proposed(service: &TestService, movement: &External) -> Id {
    let moved = booked(service, movement).await;
    assert_eq!(moved, Moved::Refused(Code::SecondPersonRequired));
    service.engine.operators.propose_movement(movement).await.expect("a proposal")
}

async fn approve(
    service: &TestService,
    who: &str,
    key: &str,
    id: Id,
) -> Result<ActionResult, Objection> {
    service.execute_as(who, key, AdminAction::Approve(id)).await.map(|done| done.outcome)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_above_the_bound_takes_two_persons() {
    let mut service = bounded().await;
    let unit = service.engine.asset("USDT").expect("the coin").amount("1").unwrap().0;
    assert!(matches!(booked(&service, &deposit("ada", "1", 50 * unit)).await, Moved::Done { .. }));
    let over = deposit("ada", "2", unit);
    let id = proposed(&service, &over).await;
    assert_eq!(proposed(&service, &over).await, id, "the same one while it waits");
    for who in ["ada", "Ada", "\u{ff41}da", "ada\u{200b}"] {
        assert_eq!(approve(&service, who, "k", id).await, Err(Objection::SamePerson), "{who}");
    }
    service.execute_as("eve", "h", AdminAction::Halt).await.unwrap();
    assert_eq!(approve(&service, "bob", "0", id).await, Err(Objection::Code(Code::Halted)));
    service.restart().await;
    let resume =
        service.execute_as("ada", "r", AdminAction::Resume { accept: Vec::new() }).await.unwrap();
    let ActionResult::Proposed { approval } = resume.outcome else { panic!("{resume:?}") };
    assert!(approve(&service, "bob", "r", approval).await.is_ok());
    let done = Ok(ActionResult::Deposited { reference: "2".into() });
    assert_eq!(approve(&service, "bob", "1", id).await, done);
    assert_eq!(approve(&service, "bob", "1", id).await, done, "the same key again");
    let again = approve(&service, "bob", "2", id).await;
    assert_eq!(again, Err(Objection::Decided(ApprovalStatus::Approved)));
    let moved = booked(&service, &over).await;
    assert!(matches!(moved, Moved::Done { replayed: true, .. }), "{moved:?}");
    let report = service.engine.reconciler.check_now().await.unwrap();
    assert!(report.ok, "{:?}", report.breaks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_proposal_is_proposed_anew_and_a_booked_one_is_superseded() {
    let service = bounded().await;
    let unit = service.engine.asset("USDT").expect("the coin").amount("1").unwrap().0;
    let over = deposit("ada", "1", 51 * unit);
    let first = proposed(&service, &over).await;
    service.execute_as("bob", "n", AdminAction::Reject(first)).await.unwrap();
    let refused = approve(&service, "bob", "1", first).await;
    assert_eq!(refused, Err(Objection::Decided(ApprovalStatus::Rejected)));
    let second = proposed(&service, &over).await;
    assert_ne!(first, second);
    // another body under the same reference is a proposal of its own: the one that is approved first books
    let other = proposed(&service, &deposit("ada", "1", 52 * unit)).await;
    assert!(approve(&service, "bob", "2", second).await.is_ok());
    service.is_superseded(other).await;
    // nor is it where one person's word books something else under the reference
    let over = proposed(&service, &deposit("ada", "3", 51 * unit)).await;
    assert!(matches!(booked(&service, &deposit("eve", "3", unit)).await, Moved::Done { .. }));
    service.is_superseded(over).await;
}

/// Money in and out of an asset that the settings do not name takes two persons above the default, which is none
/// where it is 0. Turns red where `authority` looks at the named assets alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asset_without_a_bound_of_its_own_has_the_default() {
    let tune = |default: u64| {
        move |s: &mut engine::Settings| {
            s.movement_default = default;
            s.movement_limits.insert("BTC".to_owned(), "1".to_owned());
        }
    };
    let service = TestService::open_with(true, NEVER, tune(50)).await;
    let unit = service.engine.asset("USDT").expect("the coin").amount("1").unwrap().0;
    let out = |who: &str, reference: &str, amount| External {
        direction: Direction::Out,
        ..deposit(who, reference, amount)
    };
    for (n, movement) in [deposit, out].into_iter().enumerate() {
        for who in ["ada", "bob"] {
            let within = movement(who, &format!("{n} {who}"), 50 * unit);
            let moved = booked(&service, &within).await;
            assert!(matches!(moved, Moved::Done { .. }), "{moved:?}");
            let over = movement(who, &format!("{n} {who} more"), 1);
            let id = proposed(&service, &over).await;
            assert!(approve(&service, "eve", &format!("{id}"), id).await.is_ok());
        }
    }
    let bitcoin = service.engine.asset("BTC").expect("another asset");
    let one = bitcoin.amount("1").unwrap().0;
    let own =
        |reference, amount| External { asset: bitcoin.id, ..deposit("ada", reference, amount) };
    assert!(matches!(booked(&service, &own("b1", one)).await, Moved::Done { .. }));
    proposed(&service, &own("b2", 1)).await;

    let service = TestService::open_with(true, NEVER, tune(0)).await;
    let much = deposit("ada", "much", 1_000_000 * unit);
    assert!(matches!(booked(&service, &much).await, Moved::Done { .. }));
    proposed(&service, &own("b3", one + 1)).await;
}
