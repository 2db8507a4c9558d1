//! The contract of a ledger as checks with names (`docs/guide/own-ledger.md`): the repository's own ledgers pass them in
//! its tests, and a ledger of others in `portage ledger check`.
//!
//! A check that fails panics with its name and the facts. No check sleeps or spawns, so the suite runs on any runtime,
//! the simulated one among them. Each check takes a fresh ledger; [`FreshView`] makes one of a ledger in use.

mod explain;
mod fence;
mod fixture;
mod halts;
mod horizon;
mod identity;
mod legs;
mod listing;
mod restart;
mod status;
mod sticky;
mod view;

use fixture::LedgerFixture;
use kernel::ids::AssetId;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use std::sync::Arc;

pub use explain::Explain;
pub use restart::Remembered;
pub use view::FreshView;

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

/// A check of the contract: a rule that a ledger keeps or breaks.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The rule as words with `_` between, such as `done_is_sticky`.
    pub name: &'static str,
    body: for<'f> fn(&'f LedgerFixture) -> Fut<'f, ()>,
}

impl Check {
    /// Runs it over a fresh ledger.
    ///
    /// # Panics
    /// Where the ledger breaks the rule, with the name and the facts.
    pub async fn run(&self, profile: Profile, fresh: &impl Fresh) {
        let fixture = LedgerFixture::open(self.name, profile, fresh).await;
        (self.body)(&fixture).await;
    }
}

/// Every check of the contract, in the order in which a reader meets the rules.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    let files = [
        sticky::CHECKS,
        legs::CHECKS,
        status::CHECKS,
        fence::CHECKS,
        listing::CHECKS,
        identity::CHECKS,
        horizon::CHECKS,
        halts::CHECKS,
    ];
    files.into_iter().flatten()
}

/// Runs every check that applies.
///
/// # Panics
/// At the first rule that the ledger breaks.
pub async fn run(profile: Profile, fresh: impl Fresh) {
    for check in checks() {
        check.run(profile, &fresh).await;
    }
}

/// Lists the checks of a file under its `CHECKS`.
macro_rules! check_list {
    ($($check:ident),* $(,)?) => {
        pub(super) const CHECKS: &[$crate::Check] = &[$($crate::Check {
            name: stringify!($check),
            body: |fixture| Box::pin($check(fixture)),
        }),*];
    };
}
use check_list;
