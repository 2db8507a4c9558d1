//! The journal port with its enlisted ledgers: where transfers are kept.
#![expect(missing_docs, reason = "internal to the product: a small item is explained by its name")]

pub mod postgres;
pub mod sqlite;

mod audit_chain;
mod columns;
mod history;
mod rules;
mod sums;
