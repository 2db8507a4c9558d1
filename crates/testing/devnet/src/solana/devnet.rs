//! The handle of a running chain: what tests and benches hold.
//!
//! Every method is synchronous and may be called from any thread. What it shows is the chain's own, whatever an endpoint
//! says.

use super::{
    chain::{Chain, movements::Movement},
    faults::Lie,
    node::Node,
    options::Options,
    wallet::Wallet,
};
use crate::{
    Outcome,
    front::{self, Server, ServerOptions},
};
use solana_account::Account;
use solana_address::Address;
use solana_hash::Hash;
use solana_rpc_client_types::config::CommitmentLevel;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;
use std::{collections::BTreeMap, sync::Arc};

/// More than any transaction waits for: [`Devnet::settle`] ends all the same.
const MOST_BLOCKS: u64 = 10_000;

/// A running chain with its endpoints; it ends when this is dropped.
#[derive(Debug)]
pub struct Devnet {
    server: Server<Node>,
    pub(super) node: Arc<Node>,
}

/// One address of the chain, as a test sees it.
pub type Endpoint<'a> = front::Endpoint<'a, Lie>;

impl Devnet {
    /// Starts a chain whose only account is the faucet.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on.
    pub fn start(options: Options) -> Outcome<Self> {
        let faucet = Wallet::derived("faucet");
        let served = ServerOptions {
            endpoints: options.endpoints,
            port: options.port,
            threads: options.threads,
            blocks: options.blocks,
        };
        let chain = Chain::new(options, faucet.address());
        let server = Server::start(Node::new(chain, faucet), served)?;
        Ok(Self { node: Arc::clone(&server.node), server })
    }

    /// Where the endpoints listen, without a slash at the end.
    pub fn urls(&self) -> Vec<String> {
        self.server.urls()
    }

    pub fn endpoint(&self, index: usize) -> Option<Endpoint<'_>> {
        self.server.endpoint(index)
    }

    /// Number of requests of each method that all endpoints had together.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.server.requests()
    }

    pub fn height(&self) -> u64 {
        self.node.chain().height()
    }

    pub fn final_height(&self) -> u64 {
        let chain = self.node.chain();
        chain.final_height(chain.height())
    }

    /// The slot of the newest block of a commitment.
    pub fn slot(&self, commitment: CommitmentLevel) -> u64 {
        let chain = self.node.chain();
        let height = chain.height_of(commitment, chain.height());
        chain.block(height).map_or(0, |block| block.slot)
    }

    /// The hash of the newest block.
    pub fn blockhash(&self) -> Hash {
        let chain = self.node.chain();
        chain.block(chain.height()).map(|block| block.blockhash).unwrap_or_default()
    }

    /// The hash of the first block, by which two chains are told apart.
    pub fn genesis_hash(&self) -> Hash {
        let chain = self.node.chain();
        chain.block(chain.options.genesis_height).map(|block| block.blockhash).unwrap_or_default()
    }

    /// The time of the newest block, in milliseconds since 1970, whenever it is called.
    pub fn time(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let node = Arc::clone(&self.node);
        move || {
            let chain = node.chain();
            chain.block(chain.height()).map_or(0, |block| block.time) / 1_000_000
        }
    }

    /// Makes this number of blocks now, whatever the clock says.
    pub fn advance(&self, blocks: u64) {
        for _ in 0..blocks {
            self.node.make_block();
        }
    }

    /// Makes blocks until the pool is empty and all of it is final.
    pub fn settle(&self) {
        for _ in 0..MOST_BLOCKS {
            if self.pooled() == 0 {
                break;
            }
            self.advance(1);
        }
        let lag = self.node.chain().options.finality_lag;
        self.advance(lag);
    }

    /// Stops and starts the block producer; [`Self::advance`] works in both.
    pub fn pause_blocks(&self, paused: bool) {
        self.node.pause.set(paused);
    }

    /// Takes blocks back, as a fork that lost; `again` says whether their transactions wait for a block again. The
    /// signatures of those transactions.
    ///
    /// # Errors
    ///
    /// If one of the blocks is final.
    pub fn roll_back(&self, blocks: u64, again: bool) -> Outcome<Vec<Signature>> {
        self.node.chain().roll_back(blocks, again)
    }

    /// Puts a transaction into the pool behind all endpoints, as a stranger who has its bytes could.
    pub fn submit(&self, transaction: VersionedTransaction) {
        self.node.chain().pool(transaction, 0);
    }

    /// Number of transactions that wait for a block.
    pub fn pooled(&self) -> usize {
        self.node.chain().pooled()
    }

    /// Lets withheld transactions reach the chain; the number of them.
    pub fn release(&self) -> usize {
        self.node.chain().release()
    }

    pub fn withheld(&self) -> Vec<Signature> {
        self.node.chain().withheld()
    }

    /// What became of a transaction that a block holds.
    pub fn result(&self, signature: &Signature) -> Option<Result<(), TransactionError>> {
        let chain = self.node.chain();
        Some(chain.record(signature, chain.height())?.meta.status.clone())
    }

    /// True where a final block holds the transaction.
    pub fn is_final(&self, signature: &Signature) -> bool {
        let chain = self.node.chain();
        chain.record(signature, chain.final_height(chain.height())).is_some()
    }

    /// What the next block would make of a transaction, as a node's preflight at the head says: what became of one that it
    /// holds, or why it holds it not.
    ///
    /// # Errors
    ///
    /// If no block takes it.
    pub fn preflight(
        &self,
        transaction: &VersionedTransaction,
    ) -> Result<Result<(), TransactionError>, TransactionError> {
        let mut chain = self.node.chain();
        let height = chain.height();
        chain.simulate(transaction, height).map(|executed| executed.result)
    }

    /// An account at the head.
    pub fn account(&self, address: &Address) -> Option<Account> {
        let chain = self.node.chain();
        chain.account(address, chain.height()).map(Account::from)
    }

    /// Lamports of an account at the head.
    pub fn lamports(&self, address: &Address) -> u64 {
        let chain = self.node.chain();
        chain.lamports(address, chain.height())
    }

    /// The transactions that name a token account, up to the last final block, with its balance around each.
    pub fn movements(&self, account: &Address) -> Vec<Movement> {
        let chain = self.node.chain();
        chain.movements(account, chain.final_height(chain.height()))
    }
}
