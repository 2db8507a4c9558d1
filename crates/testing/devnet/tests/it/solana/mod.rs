//! The local Solana chain: its rules, its faults, and its shapes against the types of a node's own release.

mod blocks;
mod deposits;
mod errors;
mod fault_sends;
mod fault_views;
mod history;
mod nonces;
mod rollback;
mod serve;
mod shapes;
mod world;
