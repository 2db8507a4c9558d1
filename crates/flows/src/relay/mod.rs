//! Our NEAR account to any NEAR account: fungible tokens, a hundred transfers to a transaction.

pub mod rules;
mod table;
mod text;

pub use table::{Act, Rule, State};
