//! Answers the journal's queries on reader threads of their own, which never wait for the writer.

pub(crate) mod threads;

pub(crate) mod attempts;
pub(crate) mod due;
mod due_attempts;
pub(crate) mod named_values;
pub(crate) mod numbers;
pub(crate) mod operators;
pub(crate) mod transfers;

pub(crate) mod audit;
pub(crate) mod snapshot;

mod account_sums;
mod client_keys;
pub(crate) mod sums;
