//! Builds and books external movements for tests: money that enters or leaves an account from outside.

use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{Direction, External, Moved, World};

/// A deposit to a user's account at Funding. Other movements are this one by struct update.
pub fn deposit(reference: &str, user: u64, asset: AssetId, amount: u128) -> External {
    External {
        direction: Direction::In,
        reference: reference.into(),
        user: UserId(user),
        number: None,
        asset,
        amount: Amount(amount),
        reason: "a test".into(),
        caller: "a test".into(),
    }
}

/// Books a movement.
///
/// # Panics
/// Where it is not booked.
pub async fn book(world: &dyn World, movement: External) {
    let moved = world.external(movement).await;
    assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
}
