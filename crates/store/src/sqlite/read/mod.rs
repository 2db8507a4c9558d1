//! What the journal answers from: readers on threads of their own, which never wait for the writer.

pub(crate) mod threads;

pub(crate) mod due;
pub(crate) mod operators;
pub(crate) mod transfers;

pub(crate) mod audit;
pub(crate) mod snapshot;

mod account_sums;
pub(crate) mod sums;
