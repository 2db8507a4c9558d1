//! The four answers that a step may get. Nothing else decides what happens to money.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Why an effect does not exist and never will, or why an attempt is dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// A short code: one of [`crate::code::Code`] from our own ledgers, free text from others.
    pub code: Cow<'static, str>,
    /// The raw document (proof, outcome, heights); `None` where the stored row is the evidence.
    pub doc: Option<Arc<str>>,
}

impl Evidence {
    /// Evidence that is a stored row of the other side, known by its code alone.
    pub fn code(code: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.into(), doc: None }
    }
}

/// Proof that an effect (or a stored refusal) exists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Receipt {
    /// The other side's own number of the operation (ledger sequence, block height).
    pub seq: u64,
    /// The raw document, where there is more to say than the number.
    pub doc: Option<Arc<str>>,
}

impl Receipt {
    /// The receipt of a ledger that says no more than its number.
    pub const fn seq(seq: u64) -> Self {
        Self { seq, doc: None }
    }
}

/// Why the outcome is not known. The class is a label of bounded cardinality; operators read the detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// A listed word, e.g. `TIMEOUT`, `WRONG_LEDGER`, `PANIC`.
    pub class: &'static str,
    /// Further facts, as text.
    pub detail: Option<Arc<str>>,
}

impl Cause {
    /// The class of a unit that the journal did not write because a HALT is in force.
    pub const HALTED: &'static str = "HALTED";
    /// The class of a unit that the store did not write because it takes nothing now.
    pub const FULL: &'static str = "FULL";
    /// The class of a unit that contradicts what is stored: the same unit is never written.
    pub const CONTRADICTION: &'static str = "CONTRADICTION";
    /// The class of a write that was not made because the store cannot hold a value of it.
    pub const BAD_VALUE: &'static str = "BAD_VALUE";

    /// A cause that its class explains.
    pub const fn of(class: &'static str) -> Self {
        Self { class, detail: None }
    }

    /// A cause with a sentence for a person.
    pub fn because(class: &'static str, detail: impl Into<Arc<str>>) -> Self {
        Self { class, detail: Some(detail.into()) }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "{}: {detail}", self.class),
            None => f.write_str(self.class),
        }
    }
}

impl std::error::Error for Cause {}

/// What a call to an outside system returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The effect exists and, on a chain, is final.
    Done(Receipt),
    /// The effect does not exist and never will: the other side stored its refusal.
    Rejected(Evidence, Receipt),
    /// The whole attempt can never land; a new one may be made.
    Dead(Evidence),
    /// Anything else. Ask or repeat the same call later, for ever.
    Unknown(Cause),
}

impl Answer {
    /// The word of the answer, as a metric label and in logs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Rejected(..) => "rejected",
            Self::Dead(_) => "dead",
            Self::Unknown(_) => "unknown",
        }
    }
}
