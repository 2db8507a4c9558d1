//! The contract suite of a ledger (`ledgers.md` §1–2): named checks over a fresh one each.
//!
//! A check that fails panics with its name and the facts. No check sleeps or spawns, so the suite
//! runs on any runtime, the simulated one among them.

mod fence;
mod fixture;
mod halts;
mod horizon;
mod identity;
mod legs;
mod listing;
mod status;
mod sticky;

use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use std::sync::Arc;

/// Which column of the law applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// A withdraw holds and a settle debits; else a withdraw debits at once and nothing settles.
    pub holds: bool,
    /// A deposit creates an account that is not there; else it is refused.
    pub creates_on_deposit: bool,
    /// It lives in the journal's database: it has no identity of its own and forgets nothing.
    pub enlisted: bool,
}

impl Profile {
    /// The Funding ledger, in whichever store.
    pub const FUNDING: Self = Self { holds: true, creates_on_deposit: false, enlisted: true };
    /// The Spot core, and whatever takes its place.
    pub const SPOT: Self = Self { holds: false, creates_on_deposit: true, enlisted: false };
}

/// Makes a fresh ledger that knows the assets of [`kernel::money::Asset::fresh`] and at which user
/// 1 has what is listed, and no other user has anything.
pub trait Fresh: Fn(Vec<(AssetId, Amount)>) -> Fut<'static, Arc<dyn Ledger>> + Send + Sync {}

impl<F> Fresh for F where
    F: Fn(Vec<(AssetId, Amount)>) -> Fut<'static, Arc<dyn Ledger>> + Send + Sync
{
}

/// Runs every check that applies.
pub async fn run(profile: Profile, fresh: impl Fresh) {
    sticky::run(profile, &fresh).await;
    legs::run(profile, &fresh).await;
    status::run(profile, &fresh).await;
    fence::run(profile, &fresh).await;
    listing::run(profile, &fresh).await;
    identity::run(profile, &fresh).await;
    horizon::run(profile, &fresh).await;
    halts::run(profile, &fresh).await;
}

/// Runs the named checks of a file, each over a ledger of its own.
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(super) async fn run(
            profile: $crate::ledger::Profile,
            fresh: &impl $crate::ledger::Fresh,
        ) {
            $(
                let fixture = $crate::ledger::fixture::LedgerFixture::open(
                    stringify!($check),
                    profile,
                    fresh,
                );
                let fixture = fixture.await;
                Box::pin($check(&fixture)).await;
            )*
        }
    };
}
use checks;
