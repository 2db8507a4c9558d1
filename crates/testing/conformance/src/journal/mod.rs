//! The contract suite of a journal: the meaning of a unit, of `due`, of a snapshot, of a restart.
//!
//! A check that fails panics with its name and the facts. Time is a clock that the checks move
//! themselves, so the suite runs on any runtime.

mod accounts;
mod actions;
mod agreed;
mod assets;
mod attempts;
mod cases;
mod days;
mod deposits;
mod due;
mod external_movements;
mod fixture;
mod flags;
mod forks;
mod guards;
mod history;
mod ledgers;
mod lifetime;
mod messages;
mod puts;
mod running;
mod snapshots;

use kernel::flow::table::Flows;
use kernel::ports::Fut;
use std::sync::Arc;
use testkit::{ManualClock, OpenedStore};

/// The place of one journal's data. Each call opens it; before a later call everything that the
/// last one gave was dropped, as it is when a process dies.
pub type Site = Box<dyn FnMut() -> Fut<'static, OpenedStore> + Send + Sync>;

/// Makes the place of a fresh journal that reads this clock and knows these flows. It knows the
/// assets of [`kernel::money::Asset::fresh`].
pub trait Fresh: Fn(ManualClock, Arc<Flows>) -> Site + Send + Sync {}

impl<F: Fn(ManualClock, Arc<Flows>) -> Site + Send + Sync> Fresh for F {}

pub async fn run(fresh: impl Fresh) {
    guards::run(&fresh).await;
    puts::run(&fresh).await;
    forks::run(&fresh).await;
    history::run(&fresh).await;
    agreed::run(&fresh).await;
    ledgers::run(&fresh).await;
    flags::run(&fresh).await;
    cases::run(&fresh).await;
    actions::run(&fresh).await;
    assets::run(&fresh).await;
    days::run(&fresh).await;
    due::run(&fresh).await;
    snapshots::run(&fresh).await;
    running::run(&fresh).await;
    lifetime::run(&fresh).await;
    messages::run(&fresh).await;
    external_movements::run(&fresh).await;
    deposits::run(&fresh).await;
    accounts::run(&fresh).await;
    attempts::run(&fresh).await;
}

/// Runs the named checks of a file, each over a journal of its own.
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(super) async fn run(fresh: &impl $crate::journal::Fresh) {
            $(
                let fixture = $crate::journal::fixture::JournalFixture::open(stringify!($check), fresh);
                let mut fixture = fixture.await;
                Box::pin($check(&mut fixture)).await;
            )*
        }
    };
}
use checks;
