//! USDD on Nexus to USDC on Solana: a watcher finds a credit, an asset of the payer names who gets it.

pub mod rules;
mod table;
mod text;

pub use table::{Act, Rule, State};
