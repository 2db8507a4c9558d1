//! A folder with a store in it, opened as often as a test wants; and money from outside, for any store.

use kernel::flow::table::Flows;
use kernel::ids::{AssetId, UserId};
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Direction, External, Moved, World};
use kernel::ports::meter::NoMeter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::sqlite::{Embedded, OpenError, Options};

/// How a store is opened by a test.
pub(crate) fn options(dir: &Path, clock: Arc<dyn Clock>, flows: Arc<Flows>) -> Options {
    Options {
        dir: dir.to_owned(),
        flows,
        clock,
        meter: Arc::new(NoMeter),
        fatal: Arc::new(|what| panic!("the store gave up: {what}")),
        max_bytes: None,
    }
}

/// Opens a folder whose last owner may still be closing it.
pub(crate) fn open(dir: &Path, clock: Arc<dyn Clock>, flows: Arc<Flows>) -> Arc<Embedded> {
    for _ in 0..6_000 {
        match Embedded::open(options(dir, clock.clone(), flows.clone())) {
            Ok(store) => return store,
            Err(OpenError::Locked(_)) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the folder stays locked");
}

/// Gives a user external money.
pub(crate) async fn fund(world: &dyn World, user: u64, asset: AssetId, amount: Amount) {
    give(world, &format!("fund-{user}-{asset}"), user, (asset, amount)).await;
}

/// The same, by a reference of its own.
pub(crate) async fn give(
    world: &dyn World,
    reference: &str,
    user: u64,
    (asset, amount): (AssetId, Amount),
) {
    let movement = External {
        direction: Direction::In,
        reference: reference.into(),
        user: UserId(user),
        number: None,
        asset,
        amount,
        reason: "a test".into(),
        caller: "a test".into(),
    };
    let moved = world.external(movement).await;
    assert!(matches!(moved, Ok(Moved::Done { replayed: false, .. })), "{moved:?}");
}
