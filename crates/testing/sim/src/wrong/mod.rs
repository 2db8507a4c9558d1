//! Wrong builds: small faults in wrappers around real parts, each of which an acceptance test, or the campaign
//! ([`builds`]), must notice.
//!
//! A test process takes the name of one from `PORTAGE_WRONG_BUILD`; `docs/proof/acceptance.md` says
//! which test it turns red and at which assertion, and `cargo xtask proof acceptance` runs each
//! pair. None of this is part of the product.

pub mod builds;
mod chains;
mod external_movements;
mod journals;
mod lanes;
mod lasting;
mod ledgers;
mod messages;
mod operators;
mod wrapper;

use crate::service::{PortWraps, Wrap};
use kernel::ports::chain::Chain;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, World};
use std::sync::Arc;
use testkit::wrapper::Wrapper;
use wrapper::MutatedLedger;

/// The variable that names the wrong build of a test process.
pub const VARIABLE: &str = "PORTAGE_WRONG_BUILD";

/// The wrong build of this process, where one is asked for.
pub fn chosen() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())
}

/// The ledger, with the lie of that name where it is one about ledgers.
pub fn ledger(name: Option<&str>, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
    match name.and_then(ledgers::mutation) {
        Some(mutation) => Arc::new(Wrapper(MutatedLedger { inner, mutation })),
        None => inner,
    }
}

/// The journal, with the lie of that name where it is one about journals.
pub fn journal(name: Option<&str>, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
    journals::mutated(name, inner)
}

/// What stands around a chain port, with the lie of that name; `None` where there is none.
pub fn chain(name: &str) -> Option<Wrap<dyn Chain>> {
    chains::wrap(name).or_else(|| lanes::wrap(name))
}

/// What stands around the journal of a flow that sends, with the lie of that name.
pub fn chain_journal(name: &str) -> Option<Wrap<dyn Journal>> {
    chains::journal_wrap(name).or_else(|| lanes::journal_wrap(name))
}

/// What stands around the ports and the journal of a flow that sends, with the lie of that name, where there is one.
pub fn chains(name: &str) -> Option<PortWraps> {
    let plain = PortWraps::default();
    let around_port = chain(name).map(|chain| PortWraps { chain, ..plain.clone() });
    around_port.or_else(|| chain_journal(name).map(|journal| PortWraps { journal, ..plain }))
}

/// What stands around the ports of a flow that events drive, with the lie of that name, where there is one.
pub fn messages(name: &str) -> Option<PortWraps> {
    messages::wraps(name).or_else(|| lasting::wraps(name))
}

/// The world, with the lie of that name where it is one about external money.
pub fn world(name: Option<&str>, inner: Arc<dyn World>) -> Arc<dyn World> {
    external_movements::mutated(name, inner)
}
