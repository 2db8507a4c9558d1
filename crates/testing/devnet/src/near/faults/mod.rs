//! What one endpoint does wrong, by rules that tests and users write.
//!
//! The chain itself stays right: `events` and balances of the handle say what really happened.

mod edit;

pub use edit::{Change, Edit};

use near_crypto::PublicKey;
use near_primitives::{
    errors::InvalidTxError,
    hash::CryptoHash,
    views::{FinalExecutionStatus, TxExecutionStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// One way in which an endpoint fails or lies.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// The request is carried out and the connection is closed without an answer.
    DropReply,
    /// The connection is closed before the request is looked at.
    Refuse,
    /// Only this HTTP status, 429 or 503 for example; the request is not carried out.
    Status { code: u16 },
    /// The request is carried out this time later.
    Delay { millis: u64 },
    /// The request is carried out, and no answer ever comes.
    Hang,
    /// The request is carried out and answered with `TIMEOUT_ERROR`.
    Timeout,
    /// A sent transaction is accepted and enters a block only this number of blocks later.
    Late { blocks: u64 },
    /// A sent transaction is accepted and kept from the chain until it is released.
    Withhold,
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
    /// The answer is this body under this HTTP status; the request is not carried out.
    Answer { code: u16, body: Value },
    /// The answer is an error of the node of this name, of the last final block.
    Refused { name: String },
    /// The answer is that of a node which is this number of blocks behind this one.
    Stale { blocks: u64 },
    /// The answer is the node's own but for these places of it.
    Edited { edits: Vec<Edit> },
}

const SENDS: [&str; 3] = ["send_tx", "broadcast_tx_async", "broadcast_tx_commit"];
const STATUS: [&str; 2] = ["tx", "EXPERIMENTAL_tx_status"];

impl Fault {
    /// The methods that the fault is about, if a rule names none.
    fn concerns(&self, method: &str) -> bool {
        match self {
            Self::Late { .. } | Self::Withhold | Self::Invalid { .. } => SENDS.contains(&method),
            Self::Unknown => STATUS.contains(&method),
            Self::Outcome { .. } | Self::Silent => {
                STATUS.contains(&method) || SENDS.contains(&method)
            }
            Self::OtherChain { .. } => method == "status",
            Self::Nonce { .. } | Self::HiddenKey { .. } => method == "query",
            Self::DropReply
            | Self::Refuse
            | Self::Status { .. }
            | Self::Delay { .. }
            | Self::Hang
            | Self::Timeout
            | Self::Answer { .. }
            | Self::Refused { .. }
            | Self::Stale { .. }
            | Self::Edited { .. } => true,
        }
    }
}

/// A fault with its limits: which methods, which transaction, how often.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rule {
    #[serde(flatten)]
    pub fault: Fault,
    /// Methods, or what they ask, as `query view_account`, `query call_function ft_balance_of` and `block height`.
    #[serde(default)]
    pub methods: Vec<String>,
    #[serde(default)]
    pub hash: Option<CryptoHash>,
    /// Number of requests that meet it; without it, all.
    #[serde(default)]
    pub times: Option<u64>,
}

impl Rule {
    pub fn always(fault: Fault) -> Self {
        Self { fault, methods: Vec::new(), hash: None, times: None }
    }

    pub fn times(fault: Fault, times: u64) -> Self {
        Self { times: Some(times), ..Self::always(fault) }
    }

    #[must_use]
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
    }

    #[must_use]
    pub fn of(mut self, hash: CryptoHash) -> Self {
        self.hash = Some(hash);
        self
    }

    fn matches(&self, method: &str, asked: &str, hash: Option<CryptoHash>) -> bool {
        let named = self.methods.iter().any(|named| named == method || named == asked);
        let applies = if self.methods.is_empty() { self.fault.concerns(method) } else { named };
        applies && (self.hash.is_none() || self.hash == hash)
    }
}

/// The rules of one endpoint; the first that matches a request applies to it.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rules: Mutex<Vec<Rule>>,
}

impl Script {
    pub(crate) fn add(&self, rule: Rule) {
        self.rules().push(rule);
    }

    pub(crate) fn clear(&self) {
        self.rules().clear();
    }

    pub(crate) fn list(&self) -> Vec<Rule> {
        self.rules().clone()
    }

    /// The fault of this request, which counts against its rule. `asked`: the method with what it asks.
    pub(crate) fn next(
        &self,
        method: &str,
        asked: &str,
        hash: Option<CryptoHash>,
    ) -> Option<Fault> {
        let mut rules = self.rules();
        let rule = rules.iter_mut().find(|rule| rule.matches(method, asked, hash))?;
        let fault = rule.fault.clone();
        if let Some(left) = &mut rule.times {
            *left = left.saturating_sub(1);
        }
        rules.retain(|rule| rule.times != Some(0));
        Some(fault)
    }

    fn rules(&self) -> std::sync::MutexGuard<'_, Vec<Rule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
