//! Answers the journal's queries on connections that only queries use, and leases work to the scanner.

pub(crate) mod read_pool;

pub(crate) mod funding;
pub(crate) mod operators;
pub(crate) mod service_state;
pub(crate) mod transfers;

pub(crate) mod due;
mod outbox;
mod parked;
mod webhooks;
pub(crate) mod worker_leases;

mod account_sums;
mod client_keys;
mod snapshot;
pub(crate) mod sums;

mod audit;
pub(crate) mod audit_chain;

mod admin;
mod archive;
pub(crate) mod wal_position;
