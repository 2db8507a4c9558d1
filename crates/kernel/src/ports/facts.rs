//! The port through which a flow learns from outside: facts for its rules, and answers to its questions.

use super::Fut;
use crate::answer::{Answer, Cause};
use crate::record::{Facts, Record};

/// What was gathered for one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gathered {
    /// All that is known now, read at one time. A fact that is not known yet is left out: the rule says
    /// *not yet*.
    Facts(Facts),
    /// The outside did not answer.
    Unknown(Cause),
}

/// The outside of one flow, as the engine reads it: it has no effect, and a repeat is harmless. An
/// implementation ends its own waits: a batch that never ends holds one of a station's two workers.
pub trait FactSource: Send + Sync {
    /// The facts that a rule reads of each record, in the records' order. `rule` is the rule's name in the
    /// flow's table.
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>>;

    /// The answer to a question about each record, in the records' order. `act` is the name of the
    /// question in the flow's table.
    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>>;
}
