//! The wrapper of a port, for wrong builds and injected faults: it passes on every call that it does not change.
//!
//! A new method of a port is passed on here, once for all wrappers.

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
