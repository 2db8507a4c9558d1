//! USDC on Solana to USDD on Nexus: a watcher finds a deposit, the memo names who gets it.

pub mod rules;
mod table;
mod text;

pub use table::{Act, Rule, State};
