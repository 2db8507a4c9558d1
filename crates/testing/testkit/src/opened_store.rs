//! An open store of a test, by each of its ports.

use kernel::ports::inbox::Inbox;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, World};
use kernel::ports::outbox::Outbox;
use std::sync::Arc;

/// A journal in use, with the ledgers that live in it.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct OpenedStore {
    /// Transfers, and all else that a unit writes.
    pub journal: Arc<dyn Journal>,
    /// The outbox of that journal.
    pub outbox: Arc<dyn Outbox>,
    /// The inbox of that journal.
    pub inbox: Arc<dyn Inbox>,
    /// The ledger of users' balances that lives in it.
    pub funding: Arc<dyn Ledger>,
    /// The ledger of numbered accounts that lives in it.
    pub accounts: Arc<dyn Ledger>,
    /// Where the world's money enters it.
    pub world: Arc<dyn World>,
}

impl OpenedStore {
    /// A store that is journal, outbox and inbox in one, with its two ledgers.
    pub fn of<S, F>(store: Arc<S>, funding: Arc<F>, accounts: Arc<dyn Ledger>) -> Self
    where
        S: Journal + Outbox + Inbox + 'static,
        F: Ledger + World + 'static,
    {
        let (journal, outbox, inbox) = (store.clone(), store.clone(), store);
        Self { journal, outbox, inbox, funding: funding.clone(), accounts, world: funding }
    }
}
