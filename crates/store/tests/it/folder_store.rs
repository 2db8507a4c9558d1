//! A folder with a store in it, opened as often as a test wants; and money from outside, for any store.

use kernel::flow::table::Flows;
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Moved, World};
use kernel::ports::meter::NoMeter;
use std::path::Path;
use std::sync::Arc;
use store::sqlite::{Embedded, OpenError, Options};
use testkit::{MINUTE, deposit};

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
    let opened = open_unlocked(|| Embedded::open(options(dir, clock.clone(), flows.clone())));
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// The result of an attempt to open a folder, once its last owner has closed it.
pub(crate) fn open_unlocked<T>(
    mut attempt: impl FnMut() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let unlocked = testbed::until(MINUTE, || match attempt() {
        Err(OpenError::Locked(_)) => None,
        other => Some(other),
    });
    unlocked.expect("the folder stays locked")
}

/// Gives a user external money.
pub(crate) async fn fund(world: &dyn World, user: u64, asset: AssetId, amount: Amount) {
    give(world, &format!("fund-{user}-{asset}"), user, asset, amount).await;
}

/// The same, by a reference of its own.
pub(crate) async fn give(
    world: &dyn World,
    reference: &str,
    user: u64,
    asset: AssetId,
    amount: Amount,
) {
    let moved = world.external(deposit(reference, user, asset, amount.0)).await;
    assert!(matches!(moved, Ok(Moved::Done { replayed: false, .. })), "{moved:?}");
}
