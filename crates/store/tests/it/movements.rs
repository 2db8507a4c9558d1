//! External movements as operators list them.

use crate::fixture::{COIN, Fixture};
use crate::postgres::fixture::{database, open as open_postgres};
use kernel::ids::UserId;
use kernel::ports::admin_queries::{AdminQueries, MovementSearch};
use kernel::ports::ledger::{BookedMovement, Direction, External, World};
use testkit::{book, deposit};

/// What was booked: of user 1 in, of 2 in, of 1 out.
fn booked() -> [External; 3] {
    let named = |movement: External| External {
        caller: "issuer|ada".into(),
        reason: format!("why {}", movement.reference).into(),
        ..movement
    };
    [
        named(deposit("wire-1", 1, COIN, 50)),
        named(deposit("wire-2", 2, COIN, 7)),
        named(External { direction: Direction::Out, ..deposit("wire-1", 1, COIN, 20) }),
    ]
}

async fn listed(store: &impl AdminQueries, search: MovementSearch) -> Vec<BookedMovement> {
    let limit = if search.limit == 0 { 100 } else { search.limit };
    store.movements(MovementSearch { limit, ..search }).await.expect("a list")
}

/// Each is listed whole, newest first, and found by its user and its reference.
///
/// Wrong build that turns it red: a list that reads the columns in another order, or begins at the cursor itself.
async fn are_listed(store: &impl AdminQueries, world: &dyn World) {
    let [first, second, third] = booked();
    for movement in [&first, &second, &third] {
        book(world, movement.clone()).await;
    }
    let all = listed(store, MovementSearch::default()).await;
    let movements: Vec<_> = all.iter().map(|booked| booked.movement.clone()).collect();
    assert_eq!(movements, [third.clone(), second.clone(), first.clone()]);
    let available: Vec<_> = all.iter().map(|booked| booked.available.0).collect();
    assert_eq!(available, [30, 7, 50]);
    assert!(all.is_sorted_by(|one, other| one.operation > other.operation));
    let of = |found: Vec<BookedMovement>| -> Vec<External> {
        found.into_iter().map(|booked| booked.movement).collect()
    };
    let user = MovementSearch { user: Some(UserId(1)), ..MovementSearch::default() };
    assert_eq!(of(listed(store, user.clone()).await), [third.clone(), first.clone()]);
    let reference = Some("wire-2".into());
    let found = listed(store, MovementSearch { reference, ..MovementSearch::default() }).await;
    assert_eq!(of(found), [second]);
    let page = listed(store, MovementSearch { limit: 1, ..user.clone() }).await;
    let before = page.last().map(|booked| booked.operation);
    assert_eq!(
        (of(page), of(listed(store, MovementSearch { before, ..user }).await)),
        (vec![third], vec![first])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn movements_are_listed() {
    let fixture = Fixture::new();
    let store = fixture.open();
    are_listed(&*store, &*store.funding()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn movements_are_listed_in_postgresql() {
    let (fixture, database) = (Fixture::new(), database());
    let store = open_postgres(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    are_listed(&*store, &*store.funding()).await;
}
