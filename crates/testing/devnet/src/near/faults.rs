//! What a NEAR node says wrong, beside the faults that every endpoint has ([`crate::front`]).

use crate::front;
use near_crypto::PublicKey;
use near_primitives::{
    errors::InvalidTxError,
    hash::CryptoHash,
    views::{FinalExecutionStatus, TxExecutionStatus},
};
use serde::{Deserialize, Serialize};

/// One wrong answer of a NEAR node.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Lie {
    /// The request is carried out and answered with `TIMEOUT_ERROR`.
    Timeout,
    /// A sent transaction is answered with this error; `forward` says whether it is accepted anyway.
    Invalid { error: InvalidTxError, forward: bool },
    /// The status of a transaction is `UNKNOWN_TRANSACTION`, whatever the chain holds.
    Unknown,
    /// A transaction that was sent is shown with this outcome, whatever the chain holds.
    Outcome { status: FinalExecutionStatus, execution: TxExecutionStatus },
    /// A transaction is shown without the lines that its receipts logged.
    Silent,
    /// Access keys are shown with this nonce.
    Nonce { nonce: u64 },
    /// The account is shown without this access key, whatever the chain holds.
    HiddenKey { key: PublicKey },
    /// The node is shown as one of another chain: of this name, with this first block.
    OtherChain { chain_id: String, genesis_hash: CryptoHash },
    /// The answer is an error of the node of this name, of the last final block.
    Refused { name: String },
}

/// One way in which an endpoint of the chain fails or lies.
pub type Fault = front::Fault<Lie>;

/// A fault with its limits.
pub type Rule = front::Rule<Lie>;

const STATUS: [&str; 2] = ["tx", "EXPERIMENTAL_tx_status"];

impl front::Lie for Lie {
    const SENDS: &'static [&'static str] =
        &["send_tx", "broadcast_tx_async", "broadcast_tx_commit"];

    fn concerns(&self, method: &str) -> bool {
        match self {
            Self::Invalid { .. } => Self::SENDS.contains(&method),
            Self::Unknown => STATUS.contains(&method),
            Self::Outcome { .. } | Self::Silent => {
                STATUS.contains(&method) || Self::SENDS.contains(&method)
            }
            Self::OtherChain { .. } => method == "status",
            Self::Nonce { .. } | Self::HiddenKey { .. } => method == "query",
            Self::Timeout | Self::Refused { .. } => true,
        }
    }
}
