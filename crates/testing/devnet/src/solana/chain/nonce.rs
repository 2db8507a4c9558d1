//! The durable nonce of a transaction: the account that it advances, and the value that it spends.

use super::Accounts;
use solana_account::ReadableAccount;
use solana_address::Address;
use solana_hash::Hash;
use solana_message::VersionedMessage;
use solana_nonce::{
    state::{Data, DurableNonce, State},
    versions::Versions,
};
use solana_system_interface::{instruction::SystemInstruction, program as system_program};

/// Lamports for a signature; a nonce account keeps them beside its value.
pub(crate) const LAMPORTS_PER_SIGNATURE: u64 = 5_000;

/// The nonce that a transaction spends, whether it succeeds or fails.
#[derive(Debug)]
pub(crate) struct Spent {
    pub(crate) address: Address,
    authority: Address,
    next: DurableNonce,
}

/// What a transaction's durable nonce says of it.
#[derive(Debug)]
pub(crate) enum Judged {
    Spends(Spent),
    /// It was advanced under the newest blockhash and cannot be again before the next.
    NotYet,
    /// The message has no nonce, or its value is not the account's.
    None,
}

impl Spent {
    /// The account's bytes once the nonce is spent.
    pub(crate) fn next_data(&self) -> Vec<u8> {
        let state = State::new_initialized(&self.authority, self.next, LAMPORTS_PER_SIGNATURE);
        bincode::serialize(&Versions::new(state)).unwrap_or_default()
    }
}

/// Judges the nonce of a message on these accounts, where this is the newest blockhash.
pub(crate) fn judge(accounts: &Accounts, message: &VersionedMessage, newest: &Hash) -> Judged {
    let Some((address, data)) = account(accounts, message) else { return Judged::None };
    let next = DurableNonce::from_blockhash(newest);
    if message.recent_blockhash() == next.as_hash() {
        return Judged::NotYet;
    }
    Judged::Spends(Spent { address, authority: data.authority, next })
}

/// The account that the first instruction advances, if the message holds its value and its authority signs.
fn account(accounts: &Accounts, message: &VersionedMessage) -> Option<(Address, Data)> {
    let keys = message.static_account_keys();
    let first = message.instructions().first()?;
    let program = keys.get(usize::from(first.program_id_index))?;
    let advances =
        matches!(bincode::deserialize(&first.data).ok()?, SystemInstruction::AdvanceNonceAccount);
    if *program != system_program::ID || !advances {
        return None;
    }
    let index = usize::from(*first.accounts.first()?);
    let address = *keys.get(index).filter(|_| message.is_maybe_writable(index, None))?;
    let account = accounts.get(&address).filter(|held| *held.owner() == system_program::ID)?;
    let versions: Versions = bincode::deserialize(account.data()).ok()?;
    let data = versions.verify_recent_blockhash(message.recent_blockhash())?;
    let signs = first
        .accounts
        .iter()
        .map(|index| usize::from(*index))
        .any(|index| keys.get(index) == Some(&data.authority) && message.is_signer(index));
    signs.then(|| (address, data.clone()))
}
