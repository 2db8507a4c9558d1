//! What one endpoint does wrong, by rules that tests and users write.
//!
//! The chain itself stays right: what the handle shows of it is what really happened.

use super::Edit;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    fmt::{Debug, Display},
    sync::{Mutex, PoisonError},
};

/// The wrong answers that only one chain's node can give.
pub trait Lie: Debug + Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// Methods that send a transaction.
    const SENDS: &'static [&'static str];

    /// True where a rule that names no method is about this one.
    fn concerns(&self, method: &str) -> bool;
}

/// One way in which an endpoint fails or lies.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault<L> {
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
    /// A sent transaction is accepted and enters a block only this number of blocks later.
    Late { blocks: u64 },
    /// A sent transaction is accepted and kept from the chain until it is released.
    Withhold,
    /// The answer is this body under this HTTP status; the request is not carried out.
    Answer { code: u16, body: Value },
    /// The answer is that of a node which is this number of blocks behind this one.
    Stale { blocks: u64 },
    /// The answer is the node's own but for these places of it.
    Edited { edits: Vec<Edit> },
    /// What only this chain's node can say wrong.
    #[serde(untagged)]
    Lie(L),
}

impl<L> From<L> for Fault<L> {
    fn from(lie: L) -> Self {
        Self::Lie(lie)
    }
}

impl<L: Lie> Fault<L> {
    /// The methods that the fault is about, if a rule names none.
    fn concerns(&self, method: &str) -> bool {
        match self {
            Self::Late { .. } | Self::Withhold => L::SENDS.contains(&method),
            Self::Lie(lie) => lie.concerns(method),
            Self::DropReply
            | Self::Refuse
            | Self::Status { .. }
            | Self::Delay { .. }
            | Self::Hang
            | Self::Answer { .. }
            | Self::Stale { .. }
            | Self::Edited { .. } => true,
        }
    }
}

/// A fault with its limits: its methods, its transaction, and the number of requests that meet it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "L: Lie")]
pub struct Rule<L> {
    #[serde(flatten)]
    pub fault: Fault<L>,
    /// Methods, or what they ask, as `query view_account`, `query call_function ft_balance_of` and `block height`.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The id of one transaction, in base 58.
    #[serde(default)]
    pub hash: Option<String>,
    /// Number of requests that meet it; without it, all.
    #[serde(default)]
    pub times: Option<u64>,
}

impl<L: Lie> Rule<L> {
    pub fn always(fault: impl Into<Fault<L>>) -> Self {
        Self { fault: fault.into(), methods: Vec::new(), hash: None, times: None }
    }

    pub fn times(fault: impl Into<Fault<L>>, times: u64) -> Self {
        Self { times: Some(times), ..Self::always(fault) }
    }

    #[must_use]
    pub fn on(mut self, methods: &[&str]) -> Self {
        self.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        self
    }

    /// Only for requests about this transaction.
    #[must_use]
    pub fn of(mut self, transaction: impl Display) -> Self {
        self.hash = Some(transaction.to_string());
        self
    }

    fn matches(&self, method: &str, asked: &str, hash: Option<&str>) -> bool {
        let named = self.methods.iter().any(|named| named == method || named == asked);
        let applies = if self.methods.is_empty() { self.fault.concerns(method) } else { named };
        applies && (self.hash.is_none() || self.hash.as_deref() == hash)
    }
}

/// The rules of one endpoint; the first that matches a request applies to it.
#[derive(Debug)]
pub(crate) struct Script<L> {
    rules: Mutex<Vec<Rule<L>>>,
}

impl<L> Default for Script<L> {
    fn default() -> Self {
        Self { rules: Mutex::default() }
    }
}

impl<L: Lie> Script<L> {
    pub(crate) fn add(&self, rule: Rule<L>) {
        self.rules().push(rule);
    }

    pub(crate) fn clear(&self) {
        self.rules().clear();
    }

    pub(crate) fn list(&self) -> Vec<Rule<L>> {
        self.rules().clone()
    }

    /// The fault of this request, which counts against its rule. `asked`: the method with what it asks.
    pub(super) fn next(&self, method: &str, asked: &str, hash: Option<&str>) -> Option<Fault<L>> {
        let mut rules = self.rules();
        let rule = rules.iter_mut().find(|rule| rule.matches(method, asked, hash))?;
        let fault = rule.fault.clone();
        if let Some(left) = &mut rule.times {
            *left = left.saturating_sub(1);
        }
        rules.retain(|rule| rule.times != Some(0));
        Some(fault)
    }

    fn rules(&self) -> std::sync::MutexGuard<'_, Vec<Rule<L>>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
