//! A block, its state, and how a node shows it.

use super::{Chain, state::State};
use crate::near::options::Options;
use near_crypto::Signature;
use near_primitives::{
    hash::CryptoHash,
    types::{AccountId, Balance, Gas, ShardId},
    version::PROTOCOL_VERSION,
    views::{BlockHeaderView, BlockView, ChunkHeaderView, CongestionInfoView, ReceiptView},
};

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    pub(crate) prev_hash: CryptoHash,
    pub(crate) chunk_hash: CryptoHash,
    /// Nanoseconds since the beginning of 1970.
    pub(crate) timestamp: u64,
    /// As it is when all of this block is applied.
    pub(crate) state: State,
    pub(crate) transactions: Vec<CryptoHash>,
    /// Receipts that were executed here, in order.
    pub(crate) executed: Vec<CryptoHash>,
    pub(crate) gas_used: u64,
    pub(crate) tokens_burnt: u128,
}

/// 2025-01-01T00:00:00Z: the genesis of a chain without a clock.
const GENESIS_TIME: u64 = 1_735_689_600_000_000_000;

impl Block {
    pub(super) fn genesis(options: &Options, state: State) -> Self {
        let text = format!("{} {}", options.chain_id, options.seed);
        let hash = CryptoHash::hash_bytes(text.as_bytes());
        Self {
            height: options.genesis_height,
            hash,
            prev_hash: CryptoHash::default(),
            chunk_hash: chunk_hash(hash),
            timestamp: GENESIS_TIME,
            state,
            transactions: Vec::new(),
            executed: Vec::new(),
            gas_used: 0,
            tokens_burnt: 0,
        }
    }
}

pub(super) fn chunk_hash(block: CryptoHash) -> CryptoHash {
    CryptoHash::hash_borsh(("chunk", block))
}

/// A 32-byte mark for what a real node would compute from its trie.
fn root(kind: &str, block: CryptoHash) -> CryptoHash {
    CryptoHash::hash_borsh((kind, block))
}

impl Chain {
    pub(crate) fn block_view(&self, block: &Block, author: AccountId) -> BlockView {
        let last_final = self.block(self.final_height(block.height));
        let header = BlockHeaderView {
            height: block.height,
            prev_height: block.height.checked_sub(1),
            epoch_id: self.epoch(),
            next_epoch_id: root("next epoch", self.epoch()),
            hash: block.hash,
            prev_hash: block.prev_hash,
            prev_state_root: root("state", block.prev_hash),
            block_body_hash: Some(root("body", block.hash)),
            chunk_receipts_root: root("receipts", block.hash),
            chunk_headers_root: root("chunk headers", block.hash),
            chunk_tx_root: root("transactions", block.hash),
            outcome_root: root("outcomes", block.hash),
            chunks_included: 1,
            timestamp: block.timestamp,
            timestamp_nanosec: block.timestamp,
            random_value: root("random", block.hash),
            chunk_mask: vec![true],
            gas_price: Balance::from_yoctonear(self.options.gas_price),
            block_ordinal: block.height.checked_sub(self.options.genesis_height),
            total_supply: Balance::from_yoctonear(super::ROOT_BALANCE),
            last_final_block: last_final.map(|block| block.hash).unwrap_or_default(),
            last_ds_final_block: block.prev_hash,
            next_bp_hash: root("producers", self.epoch()),
            block_merkle_root: root("blocks", block.hash),
            latest_protocol_version: PROTOCOL_VERSION,
            ..BlockHeaderView::default()
        };
        BlockView { author, header, chunks: vec![self.chunk_header(block)] }
    }

    pub(crate) fn chunk_header(&self, block: &Block) -> ChunkHeaderView {
        let limit = self.options.block_gas.unwrap_or(u64::MAX);
        ChunkHeaderView {
            chunk_hash: block.chunk_hash,
            prev_block_hash: block.prev_hash,
            outcome_root: root("outcomes", block.prev_hash),
            prev_state_root: root("state", block.prev_hash),
            encoded_merkle_root: root("encoded", block.hash),
            encoded_length: 8,
            height_created: block.height,
            height_included: block.height,
            shard_id: ShardId::new(0),
            gas_used: Gas::from_gas(block.gas_used),
            gas_limit: Gas::from_gas(limit),
            rent_paid: Balance::ZERO,
            validator_reward: Balance::ZERO,
            balance_burnt: Balance::from_yoctonear(block.tokens_burnt),
            outgoing_receipts_root: root("outgoing", block.hash),
            tx_root: root("transactions", block.hash),
            validator_proposals: Vec::new(),
            congestion_info: Some(CongestionInfoView {
                delayed_receipts_gas: 0,
                buffered_receipts_gas: 0,
                receipt_bytes: 0,
                allowed_shard: 0,
            }),
            bandwidth_requests: None,
            proposed_split: None,
            signature: Signature::default(),
        }
    }

    /// The receipts that this block executed.
    pub(crate) fn receipts_of(&self, block: &Block) -> Vec<ReceiptView> {
        let records = block.executed.iter().filter_map(|id| self.receipts.get(id));
        records.map(|record| record.receipt.view()).collect()
    }

    /// One epoch for ever: a local chain has no validators to elect.
    pub(crate) fn epoch(&self) -> CryptoHash {
        let genesis = self.block(self.options.genesis_height).map(|block| block.hash);
        root("epoch", genesis.unwrap_or_default())
    }
}
