//! What the engine knows of each ledger: who it is, whether it answers, which calls have no answer yet.

pub(crate) mod affected_transfers;
pub(crate) mod core_owner;
pub(crate) mod earlier_sends;
pub(crate) mod health_probe;
pub(crate) mod identity;
pub(crate) mod outstanding_calls;
