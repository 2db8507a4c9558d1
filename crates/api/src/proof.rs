//! The body of reconciliation's proof that no money was lost.

use crate::vaults::VaultBooks;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The proof that nothing was lost: each ledger's books, and what does not add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Proof {
    /// Everything adds up, every ledger was proven, and money may move.
    pub ok: bool,
    /// Why no money moves, where it does not.
    pub halted: Option<String>,
    /// When it was proven, RFC 3339.
    pub at: String,
    /// Rounds so far in this process.
    pub round: u64,
    /// How far the proof for a resume is that is being made now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({ "proven": 871_000, "transfers": 1_200_000 }))]
    pub proving: Option<Proving>,
    /// Receipts that wait for the next round.
    #[schema(example = 0)]
    pub waiting: usize,
    /// Each ledger that can be proven: since when it is, or why not now.
    #[serde(default)]
    #[schema(required)]
    pub ledgers: Vec<LedgerProof>,
    /// The books per asset of each ledger that was proven in this round.
    pub assets: Vec<Books>,
    /// What does not add up.
    #[schema(example = json!([]))]
    pub breaks: Vec<Break>,
    /// Breaks that two persons accepted when they resumed: still there, and no part of `breaks`.
    #[serde(default)]
    #[schema(required, example = json!([]))]
    pub accepted: Vec<Break>,
    /// The vaults on chains, each beside its books. One that differs is a case, and no break: ledgers go on.
    #[serde(default)]
    #[schema(required, example = json!([]))]
    pub vaults: Vec<VaultBooks>,
    /// What is no part of this proof, because it cannot be proven.
    #[serde(default)]
    #[schema(required, example = json!([]))]
    pub unproven: Vec<Unproven>,
}

/// How far a proof is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Proving {
    /// The number of the transfer that it has come to.
    #[schema(example = 871_000)]
    pub proven: u64,
    /// The number of the last transfer.
    #[schema(example = 1_200_000)]
    pub transfers: u64,
}

/// One ledger's part in the proof: a silent one keeps no other from being proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LedgerProof {
    /// The account type that the ledger keeps.
    #[schema(example = "SPOT")]
    pub ledger: String,
    /// When its books were proven last, RFC 3339; none where they never were in this process.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub proven_at: Option<String>,
    /// Why they were not in this round.
    #[schema(example = json!(null))]
    pub why_not: Option<String>,
    /// When each of its accounts was held against its own operations last, RFC 3339: at start, once
    /// a day, after a break, and where it is asked for.
    #[schema(example = "2026-11-21T03:00:02.007Z")]
    pub accounts_at: Option<String>,
    /// The number of accounts at that time; each asset of an account counts separately.
    #[schema(example = 120_000)]
    pub accounts: Option<u64>,
    /// Why they were not at the last count; the books are proven all the same.
    #[schema(example = json!(null))]
    pub accounts_why_not: Option<String>,
}

/// What a ledger is believed on its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unproven {
    /// The account type that the ledger keeps.
    pub ledger: String,
    /// `world`: what comes to it and leaves it by doors of its own; then also `accounts`, since one
    /// account's operations are not all that it had. In the simple form also `sums` and
    /// `operations`: then only our own rows of it are proven.
    #[schema(example = json!(["world", "accounts"]))]
    pub what: Vec<String>,
}

/// One asset at one ledger, in the asset's unit; the four add up to zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Books {
    /// The account type that the ledger keeps.
    pub ledger: String,
    /// The symbol of the asset that is added up.
    pub asset: String,
    /// What users may use.
    pub users: String,
    /// What is held for withdrawals under way.
    pub frozen: String,
    /// Money between two ledgers.
    pub clearing: String,
    /// The outside: below zero what came in.
    pub world: String,
}

/// Something that does not add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Break {
    /// Its name, the same in every round.
    #[schema(example = "receipt/01JFVQ2X8Z0Y1M3N4P5R6S7T8V/DEPOSIT")]
    pub key: String,
    /// By how much, in base units.
    pub amount: String,
    /// What it is, for a person.
    #[schema(example = "the ledger has no such operation")]
    pub what: String,
}
