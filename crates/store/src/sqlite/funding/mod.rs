//! The Funding ledger: double entry inside the journal's own transactions.

pub(crate) mod balances;
pub(crate) mod operations;
mod port;
mod single;

pub use port::Funding;
