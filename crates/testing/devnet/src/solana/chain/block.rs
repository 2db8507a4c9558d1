//! A block, and which of them a commitment means.

use super::{Accounts, Chain};
use crate::solana::options::Options;
use sha2::{Digest, Sha256};
use solana_hash::Hash;
use solana_rpc_client_types::config::CommitmentLevel;
use solana_signature::Signature;

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) height: u64,
    pub(crate) slot: u64,
    pub(crate) blockhash: Hash,
    /// Nanoseconds since the beginning of 1970.
    pub(crate) time: u64,
    /// As they are when all of this block is applied.
    pub(crate) accounts: Accounts,
    pub(crate) transactions: Vec<Signature>,
    /// The last final height when this block was made.
    pub(crate) final_height: u64,
}

/// 2025-01-01T00:00:00Z: the genesis of a chain without a clock.
const GENESIS_TIME: u64 = 1_735_689_600_000_000_000;

impl Block {
    pub(super) fn genesis(options: &Options, accounts: Accounts) -> Self {
        Self {
            height: options.genesis_height,
            slot: options.genesis_slot,
            blockhash: hash(&[b"portage-devnet", &options.seed.to_le_bytes()]),
            time: GENESIS_TIME,
            accounts,
            transactions: Vec::new(),
            final_height: options.genesis_height,
        }
    }

    /// Seconds since the beginning of 1970.
    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.time / 1_000_000_000).unwrap_or(i64::MAX)
    }
}

pub(super) fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    Hash::new_from_array(hasher.finalize().into())
}

impl Chain {
    pub(crate) fn height(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.height)
    }

    pub(crate) fn block(&self, height: u64) -> Option<&Block> {
        let index = height.checked_sub(self.options.genesis_height)?;
        self.blocks.get(usize::try_from(index).ok()?)
    }

    /// The block of a slot, none where the slot was skipped.
    pub(crate) fn block_at_slot(&self, slot: u64) -> Option<&Block> {
        let at = self.blocks.binary_search_by_key(&slot, |block| block.slot).ok()?;
        self.blocks.get(at)
    }

    /// The last final height, seen from this height. A block that was final once stays final.
    pub(crate) fn final_height(&self, seen: u64) -> u64 {
        if seen == self.height() {
            return self.final_height;
        }
        self.block(seen).map_or(self.options.genesis_height, |block| block.final_height)
    }

    /// The newest height of a commitment, seen from this height.
    pub(crate) fn height_of(&self, commitment: CommitmentLevel, seen: u64) -> u64 {
        let last_final = self.final_height(seen);
        match commitment {
            CommitmentLevel::Processed => seen,
            CommitmentLevel::Confirmed => {
                let confirmed = seen.saturating_sub(self.options.confirmed_lag);
                if confirmed < last_final { last_final } else { confirmed }
            }
            CommitmentLevel::Finalized => last_final,
        }
    }
}
