//! The handle of a running chain: what tests, benches and the demo hold.
//!
//! Every method is synchronous and may be called from any thread, inside a runtime or outside.

use super::{
    chain::{
        Chain, ROOT,
        events::TokenEvent,
        state::Account,
        status::{Observed, SpentNonce, reached},
    },
    faults::Lie,
    node::Node,
    options::Options,
    wallet::Wallet,
};
use crate::{
    Outcome,
    front::{self, Server, ServerOptions},
};
use near_crypto::PublicKey;
use near_primitives::{
    hash::CryptoHash,
    transaction::SignedTransaction,
    types::AccountId,
    views::{TxExecutionStatus, TxStatusView},
};
use std::{collections::BTreeMap, sync::Arc};

/// More than any transaction waits for: [`Devnet::settle`] ends all the same.
const MOST_BLOCKS: u64 = 10_000;

/// A running chain with its endpoints; it ends when this is dropped.
#[derive(Debug)]
pub struct Devnet {
    server: Server<Node>,
    pub(super) node: Arc<Node>,
    pub(super) root: Wallet,
}

/// One address of the chain, as a test sees it.
pub type Endpoint<'a> = front::Endpoint<'a, Lie>;

impl Devnet {
    /// Starts a chain whose only account is the root, `devnet`.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on.
    pub fn start(options: Options) -> Outcome<Self> {
        let account: AccountId = ROOT.parse().map_err(|_| "the root account's name")?;
        let root = Wallet::derived(account, &format!("{} root {}", options.chain_id, options.seed));
        let served = ServerOptions {
            endpoints: options.endpoints,
            port: options.port,
            threads: options.threads,
            blocks: options.blocks,
        };
        let server = Server::start(Node::new(Chain::new(options, &root))?, served)?;
        Ok(Self { node: Arc::clone(&server.node), server, root })
    }

    /// Where the endpoints listen, without a slash at the end.
    pub fn urls(&self) -> Vec<String> {
        self.server.urls()
    }

    pub fn endpoint(&self, index: usize) -> Option<Endpoint<'_>> {
        self.server.endpoint(index)
    }

    /// How many requests of each kind all endpoints had together.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.server.requests()
    }

    /// The account that owns the tokens and has paid for all accounts.
    pub fn root(&self) -> &Wallet {
        &self.root
    }

    pub fn height(&self) -> u64 {
        self.node.chain().height()
    }

    /// The time of the chain's newest block, in milliseconds since 1970, whenever it is called: the time of day beside a
    /// chain whose blocks are produced by request.
    pub fn time(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let node = Arc::clone(&self.node);
        move || {
            let chain = node.chain();
            chain.block(chain.height()).map_or(0, |block| block.timestamp) / 1_000_000
        }
    }

    pub fn final_height(&self) -> u64 {
        let chain = self.node.chain();
        chain.final_height(chain.height())
    }

    /// The hash of the last final block: what a transaction should be based on.
    pub fn final_hash(&self) -> CryptoHash {
        let chain = self.node.chain();
        let block = chain.block(chain.final_height(chain.height()));
        block.map(|block| block.hash).unwrap_or_default()
    }

    /// The name of the chain.
    pub fn chain_id(&self) -> String {
        self.node.chain().options.chain_id.clone()
    }

    /// The hash of its first block, by which two chains of one name are told apart.
    pub fn genesis_hash(&self) -> CryptoHash {
        let chain = self.node.chain();
        chain.block(chain.options.genesis_height).map(|block| block.hash).unwrap_or_default()
    }

    /// Makes this number of blocks now, whatever the clock says.
    pub fn advance(&self, blocks: u64) {
        for _ in 0..blocks {
            self.node.produce();
        }
    }

    /// Makes blocks until the pool is empty, all receipts are executed and all of it is final.
    pub fn settle(&self) {
        for _ in 0..MOST_BLOCKS {
            if self.node.chain().idle() {
                break;
            }
            self.node.produce();
        }
        let lag = self.node.chain().options.finality_lag;
        self.advance(lag);
    }

    /// Stops and starts the block producer; [`Self::advance`] works in both.
    pub fn pause_blocks(&self, paused: bool) {
        self.node.pause.set(paused);
    }

    /// Puts a transaction into the pool behind all endpoints, as a stranger who has its bytes could.
    pub fn submit(&self, signed: SignedTransaction) {
        self.node.chain().pool(signed, 0);
    }

    /// Another program uses a key: it sends the key's account one yocto, under the next nonce of the head.
    ///
    /// # Errors
    ///
    /// If the account has no such key.
    pub fn wallet_signs(&self, wallet: &Wallet) -> Outcome {
        self.node.wallet_signs(wallet).map(drop)
    }

    /// Transactions that wait for a block.
    pub fn pooled(&self) -> usize {
        self.node.chain().pooled()
    }

    /// Lets withheld transactions reach the chain; how many there were.
    pub fn release(&self) -> usize {
        self.node.release()
    }

    pub fn withheld(&self) -> Vec<CryptoHash> {
        self.node.withheld_hashes()
    }

    /// What the chain knows of a transaction at its head.
    pub fn observe(&self, hash: CryptoHash) -> Option<Observed> {
        let chain = self.node.chain();
        let view = chain.observe(&hash, chain.height(), false)?;
        let status = view.status.clone();
        TxStatusView::into_outcome(view).map(|outcome| Observed { status, outcome })
    }

    /// Whether a transaction is final.
    pub fn is_final(&self, hash: CryptoHash) -> bool {
        let seen = self.observe(hash);
        seen.is_some_and(|seen| reached(&TxExecutionStatus::Final, &seen.status))
    }

    /// The nonce of a key at the last final block.
    pub fn nonce(&self, account: &AccountId, key: &PublicKey) -> Option<u64> {
        self.final_account(account)?.keys.get(key).map(|key| key.nonce)
    }

    /// Yoctos of an account at the last final block.
    pub fn near_balance(&self, account: &AccountId) -> Option<u128> {
        self.final_account(account).map(|account| account.amount)
    }

    /// Bytes that an account pays for at the last final block.
    pub fn storage_usage(&self, account: &AccountId) -> Option<u64> {
        self.final_account(account).map(|account| account.storage_usage)
    }

    /// The token's events up to the last final block, of receipts that succeeded, in their order.
    pub fn events(&self, contract: &AccountId) -> Vec<TokenEvent> {
        let chain = self.node.chain();
        chain.events(contract, chain.final_height(chain.height()))
    }

    /// The transactions of an account that final blocks have, in their order: each spent a nonce of a key.
    pub fn spent_nonces(&self, account: &AccountId) -> Vec<SpentNonce> {
        let chain = self.node.chain();
        chain.spent_nonces(account, chain.final_height(chain.height()))
    }

    /// Calls a view method at the last final block.
    ///
    /// # Errors
    ///
    /// If there is no such account, or the method fails.
    pub fn view(&self, contract: &AccountId, method: &str, args: Vec<u8>) -> Outcome<Vec<u8>> {
        let view = {
            let chain = self.node.chain();
            chain.view(contract, chain.final_height(chain.height()), args)
        };
        let view = view.ok_or_else(|| format!("no account {contract}"))?;
        view.run(method).map(|done| done.result).map_err(|error| format!("{error:?}"))
    }

    /// What a contract stores at the head, key and value in hexadecimal, in the order of keys.
    pub fn stored(&self, contract: &AccountId) -> Vec<String> {
        let chain = self.node.chain();
        let Some(account) = chain.account(contract, chain.height()) else { return Vec::new() };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        account.storage.iter().map(|(key, value)| format!("{}={}", hex(key), hex(value))).collect()
    }

    /// All the NEAR there is at the head, and all that was ever burnt: a constant sum once idle.
    pub fn money(&self) -> (u128, u128) {
        let chain = self.node.chain();
        let head = chain.block(chain.height());
        let held =
            head.map_or(0, |block| block.state.accounts().map(|(_, account)| account.amount).sum());
        (held, chain.burnt())
    }

    fn final_account(&self, account: &AccountId) -> Option<Account> {
        let chain = self.node.chain();
        chain.account(account, chain.final_height(chain.height())).cloned()
    }
}
