//! The Funding ledger: double entry inside the journal's own transactions.

mod port;
mod read;

pub use port::Funding;
