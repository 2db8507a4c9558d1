//! Defines the records of the log and the snapshots: they are results, never commands.

use super::entry::Entry;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation};
use kernel::ports::ledger::AccountStatus;
use std::sync::Arc;

/// A change of the core's state that needs no rule to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The ledger's identity. The first record of all.
    Identity(Identity),
    Incarnation(Incarnation),
    /// The next operation's result, and what its account has available after it, where it moved.
    Result {
        entry: Entry,
        available: Option<Amount>,
    },
    /// The horizon, and the open ids at or below it.
    Horizon {
        id: Id,
        open: Vec<Id>,
    },
    /// A change of an account's status, under the operator's key.
    Status {
        user: UserId,
        status: AccountStatus,
        key: Arc<str>,
        reason: Arc<str>,
        caller: Arc<str>,
    },
    /// The highest number of a HALT that the ledger was told of.
    Halt(u64),
    // From here on: only in snapshots.
    /// An account with its status and balances.
    Account {
        user: UserId,
        status: AccountStatus,
        holdings: Vec<(AssetId, Amount)>,
    },
    /// A kept result at its number.
    StoredResult {
        seq: u64,
        entry: Entry,
    },
    /// A status change that was made, so that its key is not used again.
    Key {
        user: UserId,
        status: AccountStatus,
        key: Arc<str>,
    },
    Clearing {
        asset: AssetId,
        amount: i128,
    },
    /// The end of a snapshot: the next batch, the highest operation, and how much came before.
    End {
        next: u64,
        sequence: u64,
        accounts: u64,
        results: u64,
    },
}
