//! What is sent and what comes back. Fields that a newer server adds are passed over.

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
    /// The asset's symbol.
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

/// A transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The journal's number of it.
    pub transfer_id: u64,
    /// Its id.
    pub req_id: String,
    /// The account type that pays.
    pub from: String,
    /// The account type that receives.
    pub to: String,
    /// The asset's symbol.
    pub asset: String,
    /// In the asset's unit.
    pub amount: String,
    /// `COMMITTED`, `PENDING`, `FAILED`, `ROLLED_BACK`; from a get the exact state.
    pub state: String,
    /// The same as a sentence.
    pub message: String,
    /// The key.
    pub cid: Option<String>,
    /// Your own reference.
    #[serde(default)]
    pub reference: Option<String>,
    /// Your own words.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
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
    /// Of this asset.
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
    /// The transfers.
    pub transfers: Vec<Transfer>,
    /// The next page's `cursor`, where there may be more.
    pub next: Option<String>,
}

/// A transfer with its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// The transfer.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The last refusal or cause.
    pub error: Option<String>,
    /// Unclear answers so far.
    pub retry_count: u32,
    /// Oldest first.
    pub history: Vec<Step>,
}

/// One step of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From 0.
    pub seq: u32,
    /// RFC 3339.
    pub at: String,
    /// The state before.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// What happened.
    pub event: String,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
}

/// One asset of one of the caller's accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// The account type; `ACCOUNT` of an account with a number.
    pub account: String,
    /// The number of the account, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// The asset's symbol.
    pub asset: Option<String>,
    /// What may be used.
    pub available: Option<String>,
    /// What is held.
    pub frozen: Option<String>,
    /// What is on its way.
    pub in_flight: Option<String>,
    /// The account's status.
    pub status: String,
}

/// External money in or out.
#[derive(Debug, Clone, Serialize)]
pub struct Movement {
    /// Whose account.
    pub user_id: u64,
    /// The asset's symbol.
    pub asset: String,
    /// A plain decimal in the asset's unit.
    pub amount: String,
    /// The outside world's id: the key.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Why.
    pub reason: String,
}

/// What was booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booked {
    /// The ledger's number of it.
    pub operation_id: u64,
    /// Whose account.
    pub user_id: u64,
    /// The asset's symbol.
    pub asset: String,
    /// In the asset's unit.
    pub amount: String,
    /// What the account had available right after it.
    pub available: String,
    /// RFC 3339.
    pub created_at: String,
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

/// External money in or out of an account of the pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct NumberedMovement {
    /// The symbol of the asset that the account holds.
    pub currency: String,
    /// A plain decimal in the asset's unit.
    pub amount: String,
    /// The outside world's id: the key.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Why it is booked, for the audit.
    pub reason: String,
}

/// What was booked on an account of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookedNumbered {
    /// The ledger's number of the movement.
    pub operation_id: u64,
    /// The number of the account that changed.
    pub number: String,
    /// The user who may move its money.
    pub owner: u64,
    /// The symbol of the asset that it holds.
    pub currency: String,
    /// What was moved, in the asset's unit.
    pub amount: String,
    /// What the account held right after it.
    pub balance: String,
    /// When it was booked, RFC 3339.
    pub created_at: String,
}

/// A page of accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// One row for each user, account type and asset.
    pub accounts: Vec<AccountRow>,
    /// Where the next page begins.
    pub next: Option<u64>,
    /// Ledgers of which nothing is in this page.
    #[serde(default)]
    pub silent: Vec<Silent>,
}

/// A ledger that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Silent {
    /// The account type.
    pub account: String,
    /// Why.
    pub why: String,
}

/// One asset of one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRow {
    /// Whose.
    pub user_id: u64,
    /// The account type.
    pub account: String,
    /// The asset's symbol.
    pub asset: String,
    /// What may be used.
    pub available: String,
    /// What is held.
    pub frozen: String,
    /// The account's status.
    pub status: String,
}

/// What an account became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusSet {
    /// Whose.
    pub user_id: u64,
    /// The account type.
    pub account: String,
    /// The status now.
    pub status: String,
}

/// The proof that nothing was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Everything adds up.
    pub ok: bool,
    /// Why no money moves, where it does not.
    pub halted: Option<String>,
    /// RFC 3339.
    pub at: String,
    /// The round's number.
    pub round: u64,
    /// Receipts that wait for the next round.
    pub waiting: usize,
    /// Each ledger that can be proven: since when it is, or why not now.
    #[serde(default)]
    pub ledgers: Vec<LedgerProof>,
    /// Each ledger's books per asset.
    pub assets: Vec<Books>,
    /// What does not add up.
    pub breaks: Vec<Break>,
    /// Breaks that two persons accepted, and that are still there.
    #[serde(default)]
    pub accepted: Vec<Break>,
    /// What is no part of the proof.
    #[serde(default)]
    pub unproven: Vec<Unproven>,
}

/// One ledger's part in the proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerProof {
    /// The ledger.
    pub ledger: String,
    /// When its books were proven last, RFC 3339; none where they never were in this process.
    pub proven_at: Option<String>,
    /// Why they were not in this round.
    pub why_not: Option<String>,
    /// When each of its accounts was held against its operations last, RFC 3339.
    pub accounts_at: Option<String>,
    /// So many accounts, each asset of one for itself.
    pub accounts: Option<u64>,
    /// Why they were not at the last count.
    #[serde(default)]
    pub accounts_why_not: Option<String>,
}

/// What a ledger is believed on its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproven {
    /// The ledger.
    pub ledger: String,
    /// `world`, `sums`, `operations`.
    pub what: Vec<String>,
}

/// One asset at one ledger; the four add up to zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// The ledger.
    pub ledger: String,
    /// The asset's symbol.
    pub asset: String,
    /// What users may use.
    pub users: String,
    /// What is held.
    pub frozen: String,
    /// Money between two ledgers.
    pub clearing: String,
    /// The outside.
    pub world: String,
}

/// Something that does not add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Break {
    /// Its name.
    pub key: String,
    /// By how much, in base units.
    pub amount: String,
    /// What it is.
    pub what: String,
}

/// The audit, computed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditProof {
    /// Nothing was changed, removed or cut off.
    pub ok: bool,
    /// So many transfers.
    pub transfers: u64,
    /// So many entries.
    pub entries: u64,
    /// So many units.
    pub units: u64,
    /// Of them above the last seal.
    pub unsealed: u64,
    /// So many seals.
    pub seals: u64,
    /// The last seal.
    pub last: Option<SealRow>,
    /// So many things are wrong.
    pub wrong: u64,
    /// The first of them.
    pub faults: Vec<String>,
}

/// A seal over everything that was written before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealRow {
    /// From 1, without a gap.
    pub number: u64,
    /// RFC 3339.
    pub at: String,
    /// Up to which unit each lane is covered.
    pub covers: String,
    /// As the log says it: `NUMBER:ROOT:MAC`.
    pub seal: String,
    /// The hash of the seal before it.
    pub previous: String,
}

/// A backup that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupMade {
    /// Where it is on the server's machine.
    pub dir: String,
    /// RFC 3339.
    pub at: String,
    /// The highest number of a transfer in it.
    pub transfers: u64,
    /// Spot's highest operation in it; none where Spot is elsewhere.
    pub spot: Option<u64>,
    /// To where the database's log belongs to it: `recovery_target_lsn`; none where the journal is in
    /// it.
    #[serde(default)]
    pub lsn: Option<String>,
    /// How many bytes it has.
    pub bytes: u64,
    /// How long calls at Spot waited, in microseconds.
    pub stood_still_us: u64,
}

/// How the providers of the relay's chain do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderHealth {
    /// So many are named.
    pub configured: usize,
    /// So many of them show the chain that the store is bound to, and answer.
    pub usable: usize,
    /// So many of them show another chain.
    pub wrong_chain: usize,
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `healthy`, `degraded` or `halted`.
    pub status: String,
    /// The number of the halt that stands last, while one stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<u64>,
    /// The relay's providers, where the server asks any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub providers: Option<ProviderHealth>,
    /// Each part by name.
    #[serde(flatten)]
    pub parts: BTreeMap<String, String>,
}
