//! Writes the vault's transactions in the network's own bytes, and reads them back. What a form pays is always what
//! its bytes say.

mod lane;
mod read;
mod write;

pub(super) use lane::LaneDraft;
pub(super) use read::{
    LaneStep, PlacedInstruction, ReadForm, SignedTransaction, is_transfer_id, read_form, step_of,
};
pub(super) use write::{FormDraft, message, with_signature};

use super::settings::SolanaSettings;
use crate::base58::{base58, from_base58};
use kernel::attempt::Lock;
use solana_address::Address;
use solana_hash::Hash;

/// The seed of a lane's nonce account begins so; its number follows.
const LANE_SEED: &str = "portage-lane-";

/// What is paid to whom, in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenPayment {
    /// The token account that is paid.
    pub destination: Address,
    /// The wallet whose associated account that is, where the payment creates it first.
    pub creates: Option<Address>,
    /// Base units of the token.
    pub amount: u64,
    /// The text beside it, which ends with the transfer's id.
    pub memo: String,
    /// The compute units that it may use.
    pub units: u32,
    /// The priority fee, in micro-lamports for each of them.
    pub price: u64,
}

/// The content of a form, behind the advance of its nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing: the lock is taken.
    Void,
    /// One payment, with its fee and its memo.
    Pay(TokenPayment),
}

/// The vault's addresses, as the chain has them.
#[derive(Debug, Clone)]
pub(super) struct Vault {
    /// The key that signs.
    pub key: Address,
    /// The token account that it pays from.
    pub account: Address,
    /// The mint of the token, and its decimals.
    pub mint: Address,
    pub decimals: u8,
    /// The token account that a quarantine pays.
    pub quarantine: Option<Address>,
}

impl Vault {
    /// `None`: a setting is no address.
    pub(super) fn of(settings: &SolanaSettings) -> Option<Self> {
        let address = |text: &str| from_base58(text).map(Address::from);
        let quarantine = match &settings.quarantine_account {
            Some(text) => Some(address(text)?),
            None => None,
        };
        Some(Self {
            key: address(&settings.vault)?,
            account: address(&settings.vault_account)?,
            mint: address(&settings.mint)?,
            decimals: settings.decimals,
            quarantine,
        })
    }
}

/// The seed of the nonce account of the lane of this number.
fn lane_seed(number: usize) -> String {
    format!("{LANE_SEED}{number}")
}

/// The nonce account of the lane of this number: derived from the key, so that a restored journal finds it again.
pub(super) fn lane_address(key: &Address, number: usize) -> Option<Address> {
    let (seed, program) = (lane_seed(number), solana_system_interface::program::ID);
    Address::create_with_seed(key, &seed, &program).ok()
}

/// The spelling of an address.
pub(super) fn spelled(address: &Address) -> String {
    base58(address.as_ref())
}

/// The address that a text spells.
pub(super) fn address_of(text: &str) -> Option<Address> {
    from_base58(text).map(Address::from)
}

/// The lock that a nonce is.
pub(super) fn lock_of(nonce: &Hash) -> Lock {
    Lock(base58(nonce.as_ref()).into())
}

/// The nonce that a lock is.
pub(super) fn nonce_of(lock: &Lock) -> Option<Hash> {
    from_base58(lock.on_chain()).map(Hash::new_from_array)
}
