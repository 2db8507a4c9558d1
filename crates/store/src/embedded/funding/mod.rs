//! The Funding ledger: double entry inside the journal's own transactions.

mod books;
mod legs;
mod port;
mod world;

pub(super) use books::{Books, Undo};
pub(super) use legs::{COLUMNS, NewOperation, operation};
pub use port::Funding;
pub(super) use world::book as book_external;
