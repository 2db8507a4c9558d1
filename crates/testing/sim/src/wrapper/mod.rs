//! One wrapper for everything that stands around a real port: it passes on what it does not change.
//!
//! Wrong builds and hindered processes are wrappers; a new method of a port is passed on here, once
//! for all of them.

mod chain;
mod journal;
mod ledger;

pub use chain::ChainWrapper;
pub use journal::JournalWrapper;
pub use ledger::LedgerWrapper;

/// A port with something around it, as the port that it is.
#[derive(Debug)]
pub struct Wrapper<T>(pub T);
