//! Stores transfers: implements the engine's journal port, and the ledgers that live in the journal's
//! database, on SQLite and on PostgreSQL.

pub mod postgres;
pub mod sqlite;

mod action_rows;
mod audit_chain;
mod columns;
mod history;
mod sums;
