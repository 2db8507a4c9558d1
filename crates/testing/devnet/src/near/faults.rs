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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Rules come as JSON from other processes, too. Turns red if a kind has another name, is taken for another, or loses
    /// what it says.
    #[test]
    fn a_rule_is_written_as_it_is_read() {
        let rules = [
            json!({"kind": "drop_reply"}),
            json!({"kind": "late", "blocks": 12}),
            json!({"kind": "status", "code": 503}),
            json!({"kind": "edited", "edits": [{"at": "/a", "add": 1}]}),
            json!({"kind": "timeout"}),
            json!({"kind": "unknown"}),
            json!({"kind": "invalid", "error": "Expired", "forward": true}),
            json!({"kind": "outcome", "status": {"SuccessValue": ""}, "execution": "FINAL"}),
            json!({"kind": "refused", "name": "UNKNOWN_BLOCK"}),
        ];
        for mut rule in rules {
            let limits = json!({"methods": ["tx"], "hash": null, "times": 3});
            let fields = rule.as_object_mut().unwrap();
            fields.extend(limits.as_object().unwrap().clone());
            let read: Rule = serde_json::from_value(rule.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), rule);
        }
        let other: Result<Rule, _> =
            serde_json::from_value(json!({"kind": "gap", "signatures": []}));
        assert!(other.is_err(), "of another chain");
        let none: Value = json!({"times": 1});
        assert!(serde_json::from_value::<Rule>(none).is_err());
    }
}
