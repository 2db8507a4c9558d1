//! What is sent and what comes back. Fields that a newer server adds are passed over.

pub use api::accounts::{AccountRow, Accounts, Balance, SetStatus, Silent, StatusSet};
pub use api::audit::{AuditProof, SealRow, Seals};
pub use api::backup::{BackupMade, NewBackup};
pub use api::health::{Alive, Health, ProviderHealth};
pub use api::movements::{Booked, BookedNumbered, Movement, NumberedMovement};
pub use api::proof::{Books, Break, LedgerProof, Proof, Proving, Unproven};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A transfer to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTransfer {
    /// The account type that pays.
    pub from: String,
    /// The account type that receives.
    pub to: String,
    /// The symbol of the asset that moves.
    pub asset: String,
    /// A plain decimal in the asset's unit.
    pub amount: String,
    /// The key: keep it to repeat the request.
    pub cid: String,
    /// For whom, where the token acts for any user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<u64>,
    /// Your own reference, up to 64 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Your own words: up to 8 short strings by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl NewTransfer {
    /// A transfer under a fresh key, for the token's own user.
    pub fn new(from: &str, to: &str, asset: &str, amount: &str) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            asset: asset.to_owned(),
            amount: amount.to_owned(),
            cid: crate::fresh_cid(),
            user_id: None,
            reference: None,
            metadata: BTreeMap::new(),
        }
    }
}

/// A transfer as the server answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The journal's number of it.
    pub transfer_id: u64,
    /// The id of the transfer, by which it is asked for.
    pub req_id: String,
    /// The account type that pays.
    pub from: String,
    /// The account type that receives.
    pub to: String,
    /// The symbol of the asset that moves.
    pub asset: String,
    /// In the asset's unit.
    pub amount: String,
    /// `COMMITTED`, `PENDING`, `FAILED`, `ROLLED_BACK`; from a get the exact state.
    pub state: String,
    /// The same as a sentence.
    pub message: String,
    /// The client's key; `None` where the create named none.
    pub cid: Option<String>,
    /// Your own reference; `None` where the create named none.
    #[serde(default)]
    pub reference: Option<String>,
    /// Your own words by name; empty where the create named none.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// When it was opened, RFC 3339.
    pub created_at: String,
    /// When it was last written, RFC 3339.
    pub updated_at: String,
    /// Why it moved no money, where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The transfer, as far as it came.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The key had been used before: this is that transfer.
    pub replayed: bool,
}

/// What would become of a create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRun {
    /// `COMMITTED`, or the code that would be answered.
    pub would: String,
    /// The transfer that the key is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_id: Option<String>,
    /// With `DUPLICATE_REQUEST`: what differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatched_fields: Vec<String>,
    /// Ledgers that show no accounts: what they would say is not in `would`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
}

/// What became of one create of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchResult {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// What the create alone would have been answered with.
    pub status: u16,
    /// The key had been used before: this is that transfer.
    pub replayed: bool,
    /// The transfer, or the refusal.
    #[serde(flatten)]
    pub answer: serde_json::Map<String, serde_json::Value>,
}

/// Which transfers are listed; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// In this state; `PENDING`: not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Transfers of this asset only, by its symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// From this account type, or opened at or after this time (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// To this account type, or opened before this time (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Where the page begins: `next` of the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many, up to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of transfers, newest first; `state` is the exact one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The transfers of this page.
    pub transfers: Vec<Transfer>,
    /// The next page's `cursor`, where there may be more.
    pub next: Option<String>,
}

/// A transfer with its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// The transfer as a get answers it.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The last refusal or cause.
    pub error: Option<String>,
    /// Unclear answers so far.
    pub retry_count: u32,
    /// What happened to it, oldest first.
    pub history: Vec<Step>,
}

/// One step of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The place in the history, from 0.
    pub seq: u32,
    /// When it was written, RFC 3339.
    pub at: String,
    /// The state before; `None` where the transfer begins.
    pub from: Option<String>,
    /// The state after the step.
    pub to: String,
    /// The word for what happened.
    pub event: String,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
}

/// A transfer between two numbered accounts, as it is asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewAccountTransfer {
    /// The number of the account that pays.
    pub from_account_number: String,
    /// The number of the account that receives.
    pub to_account_number: String,
    /// A plain decimal in the currency's unit.
    pub amount: String,
    /// The symbol of the asset that both accounts hold.
    pub currency: String,
    /// Your own words, up to 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A transfer between two numbered accounts. The answer to a create has the first fields alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountTransfer {
    /// Its id, as UUID text.
    pub transfer_id: String,
    /// `PENDING`, `VALIDATING`, `VALIDATED`, `EXECUTING`, `COMPLETED` or `FAILED`.
    pub status: String,
    /// When it was opened, RFC 3339.
    pub created_at: String,
    /// The code that a FAILED one was refused with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Everything that happened to it, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Step>,
}

/// A payment of the relay, as it is asked for.
#[derive(Debug, Clone, Serialize)]
pub struct NewRelayTransfer {
    /// The account on NEAR that is paid.
    pub receiver_id: String,
    /// In the token's base units, digits alone.
    pub amount: String,
}

/// A payment of the relay. The answer to a create has the first fields alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayTransfer {
    /// The key that it was asked for under.
    pub transfer_id: String,
    /// `RECEIVED` and on to `COMPLETED` or `FAILED`.
    pub status: String,
    /// The account on NEAR that is paid.
    pub receiver_id: String,
    /// In the token's base units.
    pub amount: String,
    /// When it was opened, RFC 3339.
    pub created_at: String,
    /// The transaction that carries it, or carried it last, in base58.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_hash: Option<String>,
    /// Why it FAILED; before an end the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}
