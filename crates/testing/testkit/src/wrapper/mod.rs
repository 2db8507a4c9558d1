//! One wrapper for everything that stands around a real port: it passes on what it does not change.
//!
//! Wrong builds and hindered processes are wrappers; a new method of a port is passed on here, once
//! for all of them.

mod bus;
mod chain;
mod inbox;
mod journal;
mod ledger;
mod outbox;

pub use bus::BusWrapper;
pub use chain::ChainWrapper;
pub use inbox::InboxWrapper;
pub use journal::JournalWrapper;
pub use ledger::LedgerWrapper;
pub use outbox::OutboxWrapper;

/// A port with something around it, as the port that it is.
#[derive(Debug)]
pub struct Wrapper<T>(pub T);
