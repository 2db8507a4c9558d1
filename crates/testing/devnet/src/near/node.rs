//! The one chain behind all endpoints: its lock, and what is kept from it.

use super::{
    chain::{Chain, produce},
    wallet::Wallet,
};
use crate::front::{Blocks, Pause};
use near_primitives::{
    action::{Action, TransferAction},
    hash::CryptoHash,
    transaction::SignedTransaction,
    types::Balance,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Node {
    chain: Mutex<Chain>,
    /// The head, for requests that wait for a later one.
    heights: watch::Sender<u64>,
    pub(crate) pause: Pause,
    withheld: Mutex<HashMap<CryptoHash, SignedTransaction>>,
    author: near_primitives::types::AccountId,
    blocks: Blocks,
    /// The height of the first block.
    pub(crate) genesis_height: u64,
    /// Time that an endpoint waits for a transaction before it answers without it.
    pub(crate) poll_limit: Duration,
}

/// The interval of a chain without a clock, for its timestamps.
const VIRTUAL_INTERVAL: Duration = Duration::from_millis(600);

impl Node {
    pub(crate) fn new(chain: Chain) -> Result<Self, String> {
        let author = produce::author().ok_or("the root account's name is no account id")?;
        let (heights, _) = watch::channel(chain.height());
        let (blocks, poll_limit) = (chain.options.blocks, chain.options.poll_limit);
        let genesis_height = chain.options.genesis_height;
        Ok(Self {
            chain: Mutex::new(chain),
            heights,
            pause: Pause::default(),
            withheld: Mutex::default(),
            author,
            blocks,
            genesis_height,
            poll_limit,
        })
    }

    pub(crate) fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn author(&self) -> near_primitives::types::AccountId {
        self.author.clone()
    }

    pub(crate) fn heights(&self) -> watch::Receiver<u64> {
        self.heights.subscribe()
    }

    /// Makes one block now.
    pub(crate) fn produce(&self) {
        let mut chain = self.chain();
        let last = chain.block(chain.height()).map_or(0, |block| block.timestamp);
        let timestamp = self.blocks.time_after(last, VIRTUAL_INTERVAL);
        chain.produce(timestamp);
        let height = chain.height();
        drop(chain);
        self.heights.send_replace(height);
    }

    /// Another program uses a key: it sends the key's account one yocto, under the next nonce of the head.
    pub(crate) fn wallet_signs(&self, wallet: &Wallet) -> Result<CryptoHash, String> {
        let mut chain = self.chain();
        let head = chain.height();
        let account = chain.account(&wallet.account, head);
        let key = account.and_then(|account| account.keys.get(&wallet.public_key()));
        let nonce = key.ok_or("no such key")?.nonce.saturating_add(1);
        let base = chain.block(chain.final_height(head)).ok_or("no final block")?.hash;
        let deposit = Balance::from_yoctonear(1);
        let actions = vec![Action::Transfer(TransferAction { deposit })];
        let signed = wallet.sign(nonce, base, &wallet.account, actions);
        let hash = signed.get_hash();
        chain.pool(signed, 0);
        Ok(hash)
    }

    pub(crate) fn withhold(&self, signed: SignedTransaction) {
        self.withheld().insert(signed.get_hash(), signed);
    }

    pub(crate) fn withheld_transaction(&self, hash: &CryptoHash) -> Option<SignedTransaction> {
        self.withheld().get(hash).cloned()
    }

    pub(crate) fn withheld_hashes(&self) -> Vec<CryptoHash> {
        self.withheld().keys().copied().collect()
    }

    /// Lets what was withheld reach the chain; how many that were.
    pub(crate) fn release(&self) -> usize {
        let released: Vec<_> = self.withheld().drain().map(|(_, signed)| signed).collect();
        let mut chain = self.chain();
        for signed in &released {
            chain.pool(signed.clone(), 0);
        }
        released.len()
    }

    fn withheld(&self) -> MutexGuard<'_, HashMap<CryptoHash, SignedTransaction>> {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
