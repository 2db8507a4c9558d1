//! Writes transactions in the network's own bytes, and reads them back. What a form pays is always what
//! its bytes say.

mod encoding;
mod read;
mod write;

pub(in crate::near) use read::{ReadTransaction, read, read_call};
pub(in crate::near) use write::{Unwritten, unsigned, with_signature};

pub(in crate::near) use crate::base58::{base58, from_base58};

use crate::keystore::PREFIX;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// One action of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) enum BatchAction {
    /// Pays base units of the token to an account; the memo is the transfer's id.
    Pay { receiver: Arc<str>, amount: u128, memo: String },
    /// Registers an account with the token for a deposit in yoctoNEAR.
    Register { account: Arc<str>, deposit: u128 },
    /// Nothing is paid to the signer itself: the nonce is taken.
    Nothing,
}

/// The hash of bytes, which names transactions and blocks.
pub(in crate::near) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The spelling of a public key, which is the name of its lane.
pub(in crate::near) fn lane_of(key: &[u8; 32]) -> Arc<str> {
    format!("{PREFIX}{}", base58(key)).into()
}

/// The public key that a lane is named by.
pub(in crate::near) fn key_of(lane: &str) -> Option<[u8; 32]> {
    from_base58(lane.strip_prefix(PREFIX)?)
}
