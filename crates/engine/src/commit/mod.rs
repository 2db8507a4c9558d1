//! Writes units. No other room calls the journal's writer, so that nothing that follows from a write is forgotten by a
//! driver: the ticket by which a HALT finds it, the guards of ledgers, a journal that is halted or full, a core or a
//! ledger that is another process's by now, the outbox, a contradiction, and an outcome that is not known.

pub(crate) mod consequences;
pub(crate) mod outcome;
mod read_back;
pub(crate) mod register;
pub(crate) mod writer;
