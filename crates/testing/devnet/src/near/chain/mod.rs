//! The protocol of the local chain: a pool, blocks, receipts, accounts, and what became of each.
//!
//! `verify` admits a transaction, `produce` makes a block, `execute` applies a receipt, `status` says
//! what can be seen of it from which height. Nothing here knows of HTTP or of faults.

pub(crate) mod block;
pub(crate) mod events;
mod execute;
pub(crate) mod fees;
mod pool;
pub(crate) mod produce;
pub(crate) mod receipt;
pub(crate) mod state;
pub(crate) mod status;
mod verify;
mod view;

use super::{contract::Executor, options::Options, wallet::Wallet};
use block::Block;
use imbl::OrdMap;
use near_parameters::{RuntimeConfig, RuntimeConfigStore};
use near_primitives::{
    account::AccessKey, errors::InvalidTxError, hash::CryptoHash, transaction::SignedTransaction,
    types::AccountId, version::PROTOCOL_VERSION,
};
use pool::Pool;
use receipt::{Queue, ReceiptRecord};
use state::{Account, State};
use status::TransactionRecord;
use std::{collections::HashMap, sync::Arc};

/// What a transaction or a receipt sees of the chain at the block that it is applied in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) height: u64,
    pub(crate) timestamp: u64,
    pub(crate) gas_price: u128,
    pub(crate) gas_purchase_price: u128,
    pub(crate) config: &'a Arc<RuntimeConfig>,
}

#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) options: Options,
    pub(crate) config: Arc<RuntimeConfig>,
    pub(crate) executor: Arc<Executor>,
    blocks: Vec<Block>,
    heights: HashMap<CryptoHash, u64>,
    chunks: HashMap<CryptoHash, u64>,
    pool: Pool,
    queue: Queue,
    transactions: HashMap<CryptoHash, TransactionRecord>,
    receipts: HashMap<CryptoHash, ReceiptRecord>,
}

/// The account that exists from the beginning and pays for everything that is set up.
pub(crate) const ROOT: &str = "devnet";
const ROOT_BALANCE: u128 = 1_000_000_000_000_000_000_000_000_000_000_000;

impl Chain {
    pub(crate) fn new(options: Options, root: &Wallet) -> Self {
        let config = Arc::clone(RuntimeConfigStore::new(None).get_config(PROTOCOL_VERSION));
        let mut state = State::default();
        let keys = OrdMap::unit(root.public_key(), AccessKey::full_access());
        let account =
            Account { amount: ROOT_BALANCE, storage_usage: 182, keys, ..Account::default() };
        state.put(root.account.clone(), account);
        let genesis = Block::genesis(&options, state);
        let executor = Arc::new(Executor::new(options.execution));
        Self {
            heights: HashMap::from([(genesis.hash, genesis.height)]),
            chunks: HashMap::from([(genesis.chunk_hash, genesis.height)]),
            blocks: vec![genesis],
            options,
            config,
            executor,
            pool: Pool::default(),
            queue: Queue::default(),
            transactions: HashMap::new(),
            receipts: HashMap::new(),
        }
    }

    pub(crate) fn height(&self) -> u64 {
        let made = u64::try_from(self.blocks.len()).unwrap_or(u64::MAX);
        self.options.genesis_height.saturating_add(made).saturating_sub(1)
    }

    pub(crate) fn block(&self, height: u64) -> Option<&Block> {
        let index = height.checked_sub(self.options.genesis_height)?;
        self.blocks.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn block_by_hash(&self, hash: &CryptoHash) -> Option<&Block> {
        self.heights.get(hash).and_then(|height| self.block(*height))
    }

    pub(crate) fn block_by_chunk(&self, hash: &CryptoHash) -> Option<&Block> {
        self.chunks.get(hash).and_then(|height| self.block(*height))
    }

    /// The last final block, seen from this height.
    pub(crate) fn final_height(&self, seen: u64) -> u64 {
        let height = seen.saturating_sub(self.options.finality_lag);
        if height < self.options.genesis_height { self.options.genesis_height } else { height }
    }

    /// The node's answer to a transaction, seen from this height; it changes nothing.
    pub(crate) fn check(
        &self,
        signed: &SignedTransaction,
        seen: u64,
    ) -> Result<(), InvalidTxError> {
        let Some(block) = self.block(seen) else { return Err(InvalidTxError::Expired) };
        self.in_time(signed, seen)?;
        verify::statically(&self.config, signed)?;
        let mut state = block.state.clone();
        let head = self.head(seen.saturating_add(1), block.timestamp);
        verify::against_state(&head, &mut state, signed).map(drop)
    }

    /// `Expired` is also the answer for a base block that this node does not know.
    fn in_time(&self, signed: &SignedTransaction, seen: u64) -> Result<(), InvalidTxError> {
        let base = self.heights.get(signed.transaction.block_hash());
        let base = base.filter(|base| **base <= seen).ok_or(InvalidTxError::Expired)?;
        if seen > base.saturating_add(self.options.validity_period) {
            return Err(InvalidTxError::Expired);
        }
        Ok(())
    }

    /// Puts a transaction into the pool, to be included once the head has this height.
    pub(crate) fn pool(&mut self, signed: SignedTransaction, not_before: u64) {
        if !self.transactions.contains_key(signed.hash()) {
            self.pool.insert(signed, not_before);
        }
    }

    pub(crate) fn pooled(&self) -> usize {
        self.pool.len()
    }

    /// Whether every transaction in the pool and every receipt has been executed.
    pub(crate) fn idle(&self) -> bool {
        self.pool.len() == 0 && self.queue.is_empty()
    }

    /// Yoctos that all blocks together have burnt.
    pub(crate) fn burnt(&self) -> u128 {
        self.blocks.iter().map(|block| block.tokens_burnt).sum()
    }

    fn head(&self, height: u64, timestamp: u64) -> Head<'_> {
        Head {
            height,
            timestamp,
            gas_price: self.options.gas_price,
            gas_purchase_price: self.options.gas_purchase_price,
            config: &self.config,
        }
    }

    pub(crate) fn account(&self, id: &AccountId, height: u64) -> Option<&Account> {
        self.block(height).and_then(|block| block.state.account(id))
    }
}
