//! The journal port with its enlisted ledgers: where transfers are kept.

pub mod embedded;
pub mod postgres;

mod deeds;
mod outbox;
mod rules;
mod sums;
mod text;
