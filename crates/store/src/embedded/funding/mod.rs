//! The Funding ledger: double entry inside the journal's own transactions.

mod books;
pub(super) mod operations;
mod port;
mod solo;

pub(super) use books::Books;
pub use port::Funding;
