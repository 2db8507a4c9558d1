//! What two persons accept that a ledger lost.

use kernel::ids::{Id, LedgerId};
use kernel::operation::Known;
use std::collections::BTreeSet;

/// A ledger that lost operations, each of which persons accept.
#[derive(Debug)]
pub(crate) struct Loss {
    pub ledger: LedgerId,
    /// The incarnation that the journal has.
    pub stored: Known,
    /// The incarnation that the ledger has now.
    pub actual: Known,
    /// The transfers of the lost operations.
    pub transfers: BTreeSet<Id>,
}
