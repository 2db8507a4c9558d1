//! The protocol of the local chain: a pool, blocks, the age of a transaction, its effect, and its place in history.
//!
//! `produce` makes a block and takes blocks back, `vm` executes, `nonce` knows durable nonces, `record` keeps what a node
//! shows of a transaction. Nothing here knows of HTTP or of faults.

pub(crate) mod block;
pub(crate) mod history;
pub(crate) mod movements;
pub(crate) mod nonce;
mod produce;
pub(crate) mod record;
mod vm;

use super::options::Options;
use block::Block;
use imbl::OrdMap;
use record::Record;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_address::Address;
use solana_hash::Hash;
use solana_signature::Signature;
use solana_system_interface::program as system_program;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;
use std::collections::HashMap;
use vm::{Executed, Vm};

/// All accounts but programs and sysvars; a copy costs nothing.
pub(crate) type Accounts = OrdMap<Address, AccountSharedData>;

/// Number of blocks that may follow a block while its hash is still accepted.
pub const WINDOW: u64 = 150;

/// Lamports of the account that pays for everything that is set up.
const FAUCET_LAMPORTS: u64 = 500_000_000_000_000_000;

#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) options: Options,
    vm: Vm,
    blocks: Vec<Block>,
    heights: HashMap<Hash, u64>,
    final_height: u64,
    next_slot: u64,
    pool: Vec<Pooled>,
    records: HashMap<Signature, Record>,
    /// The transactions of each address, oldest first.
    addresses: HashMap<Address, Vec<Signature>>,
}

/// A transaction that no block holds yet.
#[derive(Debug)]
struct Pooled {
    transaction: VersionedTransaction,
    /// The first height that may include it; [`WITHHELD`] is none.
    not_before: u64,
}

/// No block: a transaction that is kept from the chain.
pub(crate) const WITHHELD: u64 = u64::MAX;

/// What a transaction is judged and executed on.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// The height of the block below.
    pub(crate) height: u64,
    /// The hash of that block, the newest.
    pub(crate) blockhash: Hash,
    /// The slot that is executed in.
    pub(crate) slot: u64,
    /// Its time, in seconds since 1970.
    pub(crate) time: i64,
}

/// Why a transaction is in no block.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its nonce was advanced under this very blockhash; the next block may hold it.
    NotYet,
    Error(TransactionError),
}

impl Chain {
    pub(crate) fn new(options: Options, faucet: Address) -> Self {
        let lamports = AccountSharedData::new(FAUCET_LAMPORTS, 0, &system_program::ID);
        let genesis = Block::genesis(&options, Accounts::unit(faucet, lamports));
        Self {
            vm: Vm::new(),
            heights: HashMap::from([(genesis.blockhash, genesis.height)]),
            final_height: genesis.height,
            next_slot: genesis.slot.saturating_add(1),
            blocks: vec![genesis],
            options,
            pool: Vec::new(),
            records: HashMap::new(),
            addresses: HashMap::new(),
        }
    }

    /// An account as a block has it; programs and sysvars are the same in all.
    pub(crate) fn account(&self, address: &Address, height: u64) -> Option<AccountSharedData> {
        let accounts = &self.block(height)?.accounts;
        accounts.get(address).cloned().or_else(|| self.vm.fixed_account(address))
    }

    /// Lamports that an account of this size needs to be exempt from rent.
    pub(crate) fn rent(&self, size: usize) -> u64 {
        self.vm.rent(size)
    }

    /// A transaction's outcome if it were in the block after this height, which it is not: a node's preflight.
    pub(crate) fn simulate(
        &mut self,
        transaction: &VersionedTransaction,
        height: u64,
    ) -> Result<Executed, TransactionError> {
        let unknown = TransactionError::BlockhashNotFound;
        let block = self.block(height).ok_or_else(|| unknown.clone())?;
        let (accounts, blockhash) = (block.accounts.clone(), block.blockhash);
        let base = Base { height, blockhash, slot: block.slot, time: block.seconds() };
        self.apply(transaction, &accounts, &base).map_err(|refusal| match refusal {
            Refusal::NotYet => unknown,
            Refusal::Error(error) => error,
        })
    }

    /// Judges a transaction on these accounts, and executes it: first its age, then whether it is known, as a node does.
    fn apply(
        &mut self,
        transaction: &VersionedTransaction,
        accounts: &Accounts,
        base: &Base,
    ) -> Result<Executed, Refusal> {
        if !transaction.verify_with_results().iter().all(|valid| *valid) {
            return Err(Refusal::Error(TransactionError::SignatureFailure));
        }
        let nonce = self.spent_nonce(transaction, accounts, base)?;
        let known =
            transaction.signatures.first().and_then(|signature| self.records.get(signature));
        if known.is_some_and(|known| known.height <= base.height || known.slot == base.slot) {
            return Err(Refusal::Error(TransactionError::AlreadyProcessed));
        }
        let loaded = record::loaded(accounts, &transaction.message)
            .ok_or(Refusal::Error(TransactionError::AddressLookupTableNotFound))?;
        let writable = record::writable(&transaction.message, &loaded);
        self.vm.load(accounts, base.slot, base.time);
        self.vm.execute(transaction, base, nonce.as_ref(), &writable).map_err(Refusal::Error)
    }

    /// The nonce of a transaction whose blockhash is no recent one; an error where that is no reason either.
    fn spent_nonce(
        &self,
        transaction: &VersionedTransaction,
        accounts: &Accounts,
        base: &Base,
    ) -> Result<Option<nonce::Spent>, Refusal> {
        let made = self.heights.get(transaction.message.recent_blockhash());
        let recent = made
            .is_some_and(|made| *made <= base.height && base.height.saturating_sub(*made) < WINDOW);
        if recent {
            return Ok(None);
        }
        match nonce::judge(accounts, &transaction.message, &base.blockhash) {
            nonce::Judged::Spends(spent) => Ok(Some(spent)),
            nonce::Judged::NotYet => Err(Refusal::NotYet),
            nonce::Judged::None => Err(Refusal::Error(TransactionError::BlockhashNotFound)),
        }
    }

    pub(crate) fn lamports(&self, address: &Address, height: u64) -> u64 {
        self.account(address, height).map_or(0, |account| account.lamports())
    }
}
