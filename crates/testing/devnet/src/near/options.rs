//! What a chain is started with: its clock, its limits, its prices and its endpoints.

use crate::front::Blocks;
use std::time::Duration;

/// What executes a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The contract's own wasm, interpreted.
    Wasm,
    /// The token as Rust code over the same stored bytes: for benches of what is outside the chain.
    Native,
}

/// The settings of one chain.
#[derive(Debug, Clone)]
pub struct Options {
    pub chain_id: String,
    /// Part of the genesis hash: chains of different seeds share no block hash, so that bytes which
    /// were signed for one are never valid on the other.
    pub seed: u64,
    pub genesis_height: u64,
    pub blocks: Blocks,
    /// How many blocks the last final block is behind the head.
    pub finality_lag: u64,
    /// For how many blocks after its base block a transaction may be included.
    pub validity_period: u64,
    /// Yoctos for a unit of gas that is burnt.
    pub gas_price: u128,
    /// The least that a unit of prepaid gas is bought for; the difference is refunded.
    pub gas_purchase_price: u128,
    /// Gas that one block burns before receipts wait for the next; without it, all execute.
    pub block_gas: Option<u64>,
    pub execution: Execution,
    /// How many endpoints answer, each with its own faults and its own lag.
    pub endpoints: usize,
    /// The port of the first endpoint, whose neighbours take the next ones; else the system chooses.
    pub port: Option<u16>,
    /// How long an endpoint waits for a transaction before it answers without it.
    pub poll_limit: Duration,
    /// Threads that answer requests.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            chain_id: "portage-devnet".to_owned(),
            seed: 0,
            genesis_height: 1_000,
            blocks: Blocks::Every(Duration::from_millis(600)),
            finality_lag: 2,
            validity_period: 86_400,
            gas_price: 100_000_000,
            gas_purchase_price: 1_000_000_000,
            block_gas: Some(1_000_000_000_000_000),
            execution: Execution::Wasm,
            endpoints: 1,
            port: None,
            poll_limit: Duration::from_secs(10),
            threads: 2,
        }
    }
}

impl Options {
    /// For tests: blocks only by request, so that no assertion depends on the clock.
    pub fn manual() -> Self {
        Self { blocks: Blocks::Manual, poll_limit: Duration::from_millis(200), ..Self::default() }
    }
}
