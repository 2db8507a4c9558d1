//! The parts of the process from which the link to a chain is opened.

use crate::open_store::Store;
use kernel::flow::table::Flows;
use kernel::money::Asset;
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use std::sync::Arc;

/// The number of providers that have to agree wherever that many are named.
pub(crate) const AGREE: usize = 2;

/// The parts that exist before the link to a chain is opened.
pub(crate) struct LinkContext<'a> {
    /// The journal, which counts what a chain's acts cost.
    pub store: &'a Arc<dyn Store>,
    /// Every flow that this binary knows.
    pub flows: &'a Arc<Flows>,
    /// The clock of this machine.
    pub clock: &'a Arc<dyn Clock>,
    /// The meter of requests and balances.
    pub meter: &'a Arc<dyn Meter>,
    /// The assets that are known.
    pub assets: &'a [Asset],
}
