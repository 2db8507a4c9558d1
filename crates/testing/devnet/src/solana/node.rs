//! The one chain behind all endpoints: its lock, and how blocks come to it.

use super::{chain::Chain, options::SLOT, wallet::Wallet};
use crate::front::{Blocks, Pause};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct Node {
    chain: Mutex<Chain>,
    pub(crate) pause: Pause,
    blocks: Blocks,
    pub(crate) genesis_height: u64,
    /// Pays for everything that is set up.
    pub(crate) faucet: Wallet,
}

impl Node {
    pub(crate) fn new(chain: Chain, faucet: Wallet) -> Self {
        let (blocks, genesis_height) = (chain.options.blocks, chain.options.genesis_height);
        Self { chain: Mutex::new(chain), pause: Pause::default(), blocks, genesis_height, faucet }
    }

    pub(crate) fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one block now.
    pub(crate) fn make_block(&self) {
        let mut chain = self.chain();
        let last = chain.block(chain.height()).map_or(0, |block| block.time);
        let time = self.blocks.time_after(last, SLOT);
        chain.produce(time);
    }
}
