//! What a chain is started with: its clock, its commitment and its endpoints.

use crate::front::Blocks;
use std::time::Duration;

/// The settings of one chain.
#[derive(Debug, Clone)]
pub struct Options {
    /// Part of the genesis hash: chains of different seeds share no blockhash, so that bytes which were signed for one
    /// are never valid on the other.
    pub seed: u64,
    pub genesis_height: u64,
    /// The slot of the first block; slots and heights differ, as on a chain that has skipped some.
    pub genesis_slot: u64,
    pub blocks: Blocks,
    /// Number of blocks that the last confirmed block is behind the head.
    pub confirmed_lag: u64,
    /// Number of blocks that the last final block is behind the head.
    pub finality_lag: u64,
    /// Number of endpoints, each with its own faults and its own lag.
    pub endpoints: usize,
    /// The port of the first endpoint, whose neighbours take the next ones; else the system chooses.
    pub port: Option<u16>,
    /// Threads that answer requests.
    pub threads: usize,
}

/// Time from slot to slot on the network.
pub(crate) const SLOT: Duration = Duration::from_millis(400);

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            genesis_height: 1_000,
            genesis_slot: 1_200,
            blocks: Blocks::Every(SLOT),
            confirmed_lag: 1,
            // a block is rooted when 31 confirmed blocks are on top of it
            finality_lag: 31,
            endpoints: 1,
            port: None,
            threads: 2,
        }
    }
}

impl Options {
    /// For tests: blocks only by request, so that no assertion depends on the clock.
    pub fn manual() -> Self {
        Self { blocks: Blocks::Manual, ..Self::default() }
    }
}
