//! What the engine knows of each ledger: its identity, whether it answers, and which calls have no answer
//! yet.

pub(crate) mod affected_transfers;
pub(crate) mod core_owner;
pub(crate) mod earlier_sends;
pub(crate) mod halt_notice;
pub(crate) mod health_probe;
pub(crate) mod identity;
