//! The bodies of vaults beside their books.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every vault that was ever watched, beside its books, at one instant of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vaults {
    /// Each vault, by its chain and flow.
    pub vaults: Vec<VaultBooks>,
    /// What left a vault without an attempt that pays it, accepted or not.
    #[schema(example = json!([]))]
    pub withdrawals: Vec<VaultWithdrawal>,
    /// When it was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
}

/// A vault beside its books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VaultBooks {
    /// The name of the chain.
    #[schema(example = "SOLANA")]
    pub chain: String,
    /// The flow whose deposits it takes.
    #[schema(example = "swap_in")]
    pub flow: String,
    /// What tells it from another vault of the chain.
    #[schema(
        example = "4Nd1mYw5cNbqTq5b1vCFzGrvNdSx3ZkDDQ2pY6CVR2sN EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    )]
    pub vault: String,
    /// The symbol of its asset.
    #[schema(example = "USDC")]
    pub asset: String,
    /// The place on the chain behind the last movement that is stored.
    #[schema(example = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnb")]
    pub place: String,
    /// The chain's time up to which every movement is stored, RFC 3339.
    #[schema(example = "2026-11-21T09:23:02.000Z")]
    pub read_to: String,
    /// What the vault had at that place.
    #[schema(example = "10250.000000")]
    pub balance: String,
    /// What it must have by its books once everything that was paid is read: the sum of the first five.
    #[schema(example = "10150.000000")]
    pub in_books: String,
    /// What each book says.
    pub books: VaultSums,
    /// By how much the vault has more than its books say, without what was booked and is not read yet; less is below
    /// zero. It is zero at every instant at which each movement is explained.
    #[schema(example = "0.000000")]
    pub difference: String,
    /// True where the difference is zero.
    #[schema(example = true)]
    pub equal: bool,
}

/// What each book of a vault says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VaultSums {
    /// The service's own: what payouts are made from.
    #[schema(example = "10000.000000")]
    pub inventory: String,
    /// Reserved for payouts that are promised or on their way.
    #[schema(example = "0.000000")]
    pub reserved: String,
    /// Owed to the depositors until their swaps end.
    #[schema(example = "150.000000")]
    pub owed: String,
    /// Held until an operator decides.
    #[schema(example = "0.000000")]
    pub held: String,
    /// Fees that were earned there.
    #[schema(example = "0.000000")]
    pub fees: String,
    /// What transfers booked as paid out, since the beginning.
    #[schema(example = "400.000000")]
    pub paid_out: String,
    /// What transfers booked as taken in or called back, since the beginning.
    #[schema(example = "0.000000")]
    pub taken_in: String,
    /// What the watch read of payments of attempts, since the beginning.
    #[schema(example = "300.000000")]
    pub read_out: String,
    /// What the watch read of what was taken in, since the beginning.
    #[schema(example = "0.000000")]
    pub read_in: String,
}

/// Money that left a vault without an attempt that pays it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VaultWithdrawal {
    /// The name of the chain.
    #[schema(example = "SOLANA")]
    pub chain: String,
    /// The transaction, in base58.
    #[schema(
        example = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
    )]
    pub transaction: String,
    /// The symbol of the asset that left.
    #[schema(example = "USDC")]
    pub asset: String,
    /// How much of the asset left.
    #[schema(example = "40.000000")]
    pub amount: String,
    /// What the transaction did.
    #[schema(example = "5VERv8NM took 40000000 from the vault")]
    pub facts: String,
    /// Who accepted that it was taken from the inventory; `null`: no person has yet.
    #[schema(example = "ops|ada")]
    pub accepted_by: Option<String>,
}
