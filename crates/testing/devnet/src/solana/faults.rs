//! What a Solana node says wrong, beside the faults that every endpoint has ([`crate::front`]).

use crate::front;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use solana_transaction_error::TransactionError;

/// One wrong answer of a Solana node.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Lie {
    /// The node is one of another chain, with this genesis hash.
    OtherChain { genesis_hash: String },
    /// The answer is this error; `forward` says whether a sent transaction is accepted anyway.
    Rejected {
        code: i64,
        message: String,
        #[serde(default)]
        data: Option<Value>,
        #[serde(default)]
        forward: bool,
    },
    /// Transactions and their statuses are `null`, whatever the chain holds.
    Unknown,
    /// A transaction is shown with this outcome, `null` for success; one that no block holds has only a status.
    Outcome { err: Option<TransactionError> },
    /// The history of an address leaves these transactions out.
    Gap { signatures: Vec<String> },
    /// The history of an address does not know `until`, and begins with the newest transaction again.
    UnknownUntil,
}

/// One way in which an endpoint of the chain fails or lies.
pub type Fault = front::Fault<Lie>;

/// A fault with its limits.
pub type Rule = front::Rule<Lie>;

impl front::Lie for Lie {
    const SENDS: &'static [&'static str] = &["sendTransaction"];

    fn concerns(&self, method: &str) -> bool {
        match self {
            Self::OtherChain { .. } => method == "getGenesisHash",
            Self::Rejected { .. } => Self::SENDS.contains(&method),
            Self::Unknown | Self::Outcome { .. } => {
                ["getTransaction", "getSignatureStatuses"].contains(&method)
            }
            Self::Gap { .. } | Self::UnknownUntil => method == "getSignaturesForAddress",
        }
    }
}
