//! The state of a chain, for operators: its lanes, their open attempts and the providers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A chain on which the service pays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStatus {
    /// The name of the chain.
    #[schema(example = "SOLANA")]
    pub chain: String,
    /// Why nothing is claimed or sent on the chain, where something keeps it; a person lifts each.
    #[schema(example = json!(["FOREIGN_PAYMENT: 25.000000 left the vault, and no attempt has that"]))]
    pub paused: Vec<String>,
    /// Why lanes that the chain is ahead of are not explained yet, as this process saw it last.
    #[schema(example = json!(["7Vbm: no transaction is shown that spent it"]))]
    pub unexplained: Vec<String>,
    /// Every lane that was used, or that this process may use, by name.
    pub lanes: Vec<ChainLane>,
    /// What the account has for fees, in the chain's coin, as one provider says; `null` where that is not known now.
    #[schema(example = "12.500000000")]
    pub balance: Option<String>,
    /// Nothing is signed while the account has less; `null` with `balance`.
    #[schema(example = "0.100000000")]
    pub balance_floor: Option<String>,
    /// Why what the chain has is not known now, where it is not.
    #[schema(example = "TIMEOUT")]
    pub chain_unknown: Option<String>,
    /// The chain that this store is bound to; `null` until its providers showed one.
    pub identity: Option<ChainGenesis>,
    /// The providers of this process, in the order of its settings.
    pub providers: Vec<ChainProvider>,
    /// When it was read, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
}

/// A lane: a key, or an account that a payment locks. It has at most one open attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainLane {
    /// The key or the account that names the lane.
    #[schema(example = "7VbmmXo2LkfKQcuMnDA8HdbYBEdWkkDe2yqeCfeqMnNK")]
    pub lane: String,
    /// `free`, `busy` with an attempt, `unused`, `retired`: no attempt takes it any more; `gone`: retired, and the chain was
    /// proven to have it no more; or `unreadable`: its row is none of this release.
    #[schema(example = "busy")]
    pub status: String,
    /// This process may use it. Another process may have lanes of its own.
    #[schema(example = true)]
    pub here: bool,
    /// The lock of its last attempt; `null` before the first.
    #[schema(example = "47")]
    pub last_lock: Option<String>,
    /// The attempt that has it, where one is open.
    pub attempt: Option<OpenChainAttempt>,
}

/// Which chain it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainGenesis {
    /// The name of the network, as its nodes say it.
    #[schema(example = "mainnet")]
    pub chain_id: String,
    /// The hash of its first block.
    #[schema(example = "EPnLgE7iEq9s7yTkos96M3cWymH5avBAPm3qx3NXqR8H")]
    pub genesis_hash: String,
}

/// A provider, as this process saw it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainProvider {
    /// Its host and port.
    #[schema(example = "rpc.example:443")]
    pub provider: String,
    /// `usable`; `wrong_chain`: it showed another chain, and nothing that it says counts; or `unknown`: which chain it
    /// shows is not known now.
    #[schema(example = "usable")]
    pub status: String,
    /// The chain that it showed last; `null`: it never did.
    pub shows: Option<ChainGenesis>,
    /// The number of requests in a row that had no answer.
    #[schema(example = 0)]
    pub failures: u32,
}

/// An attempt that is not proven yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenChainAttempt {
    /// The id of the attempt.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub id: String,
    /// How many transfers it carries.
    #[schema(example = 100)]
    pub transfers: usize,
    /// How many transactions were signed under its lock; one of them lands at most.
    #[schema(example = 1)]
    pub forms: usize,
    /// The newest of them pays none of the transfers: it only takes the lock.
    #[schema(example = false)]
    pub void: bool,
    /// A transaction may be on the wire.
    #[schema(example = true)]
    pub sent: bool,
    /// The time for which it has been open, in seconds.
    #[schema(example = 4)]
    pub age_seconds: u64,
}
