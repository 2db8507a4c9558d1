//! The history's words for the edges of a swap.

use kernel::flow::life::Via;

/// An unknown answer after which the same call goes on.
pub(crate) const RETRY: &str = "RETRY";

/// The words for the four answers to a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub done: &'static str,
    pub rejected: &'static str,
    pub dead: &'static str,
    pub unknown: &'static str,
}

/// The history's word for an answer to a call.
pub(crate) const fn answered(via: Via, words: Words) -> &'static str {
    match via {
        Via::Done => words.done,
        Via::Rejected => words.rejected,
        Via::Dead => words.dead,
        Via::Unknown => words.unknown,
        Via::Claim | Via::Yes | Via::No => "",
    }
}

/// The history's word for what a rule said.
pub(crate) const fn rule_event(via: Via, yes: &'static str, no: &'static str) -> &'static str {
    match via {
        Via::Yes => yes,
        Via::No => no,
        Via::Claim | Via::Done | Via::Rejected | Via::Dead | Via::Unknown => "",
    }
}
