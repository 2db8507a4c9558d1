//! Re-exports the types of requests and answers from `api`. The client ignores fields that a newer server adds.

pub use api::account_transfers::{
    AccountTransfer, AccountTransferPage, CreateAccountTransfer, OpenedAccountTransfer,
};
pub use api::accounts::{AccountRow, Accounts, Balance, SetStatus, Silent, StatusSet};
pub use api::admin::actions::Done;
pub use api::audit::{AuditProof, SealRow, Seals};
pub use api::backup::{BackupMade, NewBackup};
pub use api::batch::{Answer, BatchResult, BatchResults, CreateTransfers};
pub use api::health::{Alive, Health, ProviderHealth};
pub use api::movements::{Booked, BookedNumbered, Movement, NumberedMovement};
pub use api::problem::Problem;
pub use api::proof::{Books, Break, LedgerProof, Proof, Proving, Unproven};
pub use api::relay::{CreateRelayTransfer, OpenedRelayTransfer, RelayEvent, RelayTransfer};
pub use api::transfers::{
    CreateTransfer, DryRun, FailedTransfer, HistoryEntry, Page, Transfer, TransferStory,
};
pub use api::user_id::UserIdText;
pub use api::vaults::{VaultBooks, VaultSums, VaultWithdrawal, Vaults};

use serde::Serialize;

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The transfer, as far as it came.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// Why it moved no money, where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The key had been used before: this is that transfer.
    pub replayed: bool,
}

/// What a create opened that goes on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateAnswer<T> {
    /// The transfer, as far as it came.
    pub transfer: T,
    /// The key had been used before: this is that transfer.
    pub replayed: bool,
}

/// Which account transfers are wanted.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AccountTransferFilter {
    /// The state that they stand in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Made under this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where the page begins: `next` of the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of transfers, from 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// What became of a change of an account's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusAnswer {
    /// The status is set at once.
    Set(StatusSet),
    /// The caller barred the account: another person has to approve that it is freed.
    Proposed(Box<Done>),
}

/// Which transfers are listed; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// In this state; `PENDING`: not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Those that move this asset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// From this account type, or opened at or after this time (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// To this account type, or opened before this time (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Made under this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
    /// Where the page begins: `next` of the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of transfers, up to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
