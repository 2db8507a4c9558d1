//! The journal port with its enlisted ledgers: where transfers are kept.

pub mod postgres;
pub mod sqlite;

mod audit_chain;
mod columns;
mod history;
mod sums;
