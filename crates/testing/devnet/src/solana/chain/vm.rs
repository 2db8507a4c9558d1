//! The machine that executes the real programs. It holds no chain of its own: it is loaded with a block's accounts,
//! runs a transaction, and says which accounts changed.

use super::{Accounts, Base, nonce};
use litesvm::{
    LiteSVM,
    types::{FailedTransactionMetadata, TransactionMetadata},
};
use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_address::Address;
use solana_clock::Clock;
use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;
use std::fmt;

/// The owner of all sysvars.
const SYSVAR: Address = Address::from_str_const("Sysvar1111111111111111111111111111111111111");

pub(crate) struct Vm {
    svm: LiteSVM,
    /// What the machine holds; equal to a block's accounts while one is executed on.
    loaded: Accounts,
    slot: u64,
}

impl fmt::Debug for Vm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Vm at slot {}", self.slot)
    }
}

/// What a transaction did that a block may hold.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) result: Result<(), TransactionError>,
    pub(crate) meta: TransactionMetadata,
    /// All accounts after it.
    pub(crate) accounts: Accounts,
}

impl Vm {
    /// A machine with the default programs.
    ///
    /// Signatures, blockhashes and repetition are judged by [`super::Chain`], whose rules depend on the block; the
    /// machine's own history would be lost with each clone and forgets by its capacity.
    pub(crate) fn new() -> Self {
        let svm = LiteSVM::new()
            .with_sigverify(false)
            .with_blockhash_check(false)
            .with_transaction_history(0);
        Self { svm, loaded: Accounts::new(), slot: 0 }
    }

    /// Lamports that an account of this size needs to be exempt from rent.
    pub(crate) fn rent(&self, size: usize) -> u64 {
        self.svm.minimum_balance_for_rent_exemption(size)
    }

    /// A program or a sysvar, which no block's accounts have.
    pub(crate) fn fixed_account(&self, address: &Address) -> Option<AccountSharedData> {
        if self.loaded.contains_key(address) {
            return None;
        }
        let account = self.svm.accounts_db().get_account_ref(address)?;
        (account.lamports() > 0).then(|| account.clone())
    }

    /// Loads a block's accounts and the clock of the block that is made on it.
    pub(crate) fn load(&mut self, accounts: &Accounts, slot: u64, time: i64) {
        let changes: Vec<(Address, AccountSharedData)> = {
            use imbl::ordmap::DiffItem::{Add, Remove, Update};
            let changes = self.loaded.diff(accounts).map(|change| match change {
                Add(address, account) | Update { new: (address, account), .. } => {
                    (*address, account.clone())
                }
                Remove(address, _) => (*address, AccountSharedData::default()),
            });
            changes.collect()
        };
        for (address, account) in changes {
            self.svm.set_account_no_checks(address, account);
        }
        self.loaded = accounts.clone();
        if self.slot != slot {
            self.slot = slot;
            let clock = Clock { slot, unix_timestamp: time, ..self.svm.get_sysvar::<Clock>() };
            self.svm.set_sysvar(&clock);
        }
    }

    /// Executes a transaction whose age was accepted on the loaded accounts, of which these may be written. An error is
    /// one that keeps it from every block: it costs nothing.
    ///
    /// The machine takes the message's blockhash for the newest one, from which nonces follow, so it is given that.
    pub(crate) fn execute(
        &mut self,
        transaction: &VersionedTransaction,
        base: &Base,
        nonce: Option<&nonce::Spent>,
        writable: &[Address],
    ) -> Result<Executed, TransactionError> {
        let mut unsigned = transaction.clone();
        unsigned.message.set_recent_blockhash(base.blockhash);
        let (result, meta) = match self.svm.send_transaction(unsigned) {
            Ok(meta) => (Ok(()), meta),
            Err(FailedTransactionMetadata { err, meta }) => {
                let err = self.loading_error(&transaction.message, err);
                self.charge_unloaded(&transaction.message, &err, &meta)?;
                (Err(err), meta)
            }
        };
        // what a failed transaction did is undone, but for its fee and its nonce
        if let (Err(_), Some(nonce)) = (&result, nonce) {
            let mut account = self.account(&nonce.address).unwrap_or_default();
            account.set_data_from_slice(&nonce.next_data());
            self.svm.set_account_no_checks(nonce.address, account);
        }
        for address in writable {
            match self.account(address).filter(|account| account.lamports() > 0) {
                // what a message may not write, however it names it
                Some(fixed) if fixed.executable() || *fixed.owner() == SYSVAR => None,
                Some(account) => self.loaded.insert(*address, account),
                None => self.loaded.remove(address),
            };
        }
        Ok(Executed { result, meta, accounts: self.loaded.clone() })
    }

    /// A transaction whose programs cannot be loaded is in a block and pays its fee, though nothing of it is executed;
    /// the machine gives it back as if it were refused. Any other that was not executed is refused.
    fn charge_unloaded(
        &mut self,
        message: &VersionedMessage,
        error: &TransactionError,
        meta: &TransactionMetadata,
    ) -> Result<(), TransactionError> {
        let executed = meta.signature != solana_signature::Signature::default();
        let unloaded = matches!(
            error,
            TransactionError::ProgramAccountNotFound | TransactionError::InvalidProgramForExecution
        );
        if executed {
            return Ok(());
        }
        let payer = message.static_account_keys().first().filter(|_| unloaded);
        let payer = payer.ok_or_else(|| error.clone())?;
        let mut account = self.account(payer).ok_or_else(|| error.clone())?;
        account.set_lamports(account.lamports().saturating_sub(meta.fee));
        self.svm.set_account_no_checks(*payer, account);
        Ok(())
    }

    /// The machine says of a program that does not exist that it cannot be executed; a node says that it is not there.
    fn loading_error(
        &self,
        message: &VersionedMessage,
        error: TransactionError,
    ) -> TransactionError {
        let keys = message.static_account_keys();
        let mut programs = message
            .instructions()
            .iter()
            .filter_map(|instruction| keys.get(usize::from(instruction.program_id_index)));
        let absent = |program: &Address| self.account(program).is_none();
        if error == TransactionError::InvalidProgramForExecution && programs.any(absent) {
            return TransactionError::ProgramAccountNotFound;
        }
        error
    }

    fn account(&self, address: &Address) -> Option<AccountSharedData> {
        self.svm.accounts_db().get_account(address)
    }
}
