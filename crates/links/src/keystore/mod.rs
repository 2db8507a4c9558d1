//! Keeps the keys of an account on a chain: each of them controls the whole account. The keys come from an encrypted
//! file, stay in memory that is wiped, and are never shown.

mod file;
mod ring;

pub use file::{KeyFile, KeyWork, Passphrase};
pub use ring::KeyRing;

use kernel::answer::Cause;
use kernel::ports::Fut;

/// The prefix of the spelling of a key of this kind.
pub(crate) const PREFIX: &str = "ed25519:";

/// Signs for an account. A key-management service that signs elsewhere can implement it too.
pub trait ChainSigner: Send + Sync {
    /// The public keys that it signs with, in the order of preference.
    fn public_keys(&self) -> Vec<[u8; 32]>;
    /// Signs a message with one of these keys: the bytes that the chain has signed, of NEAR the SHA-256 of a transaction.
    ///
    /// # Errors
    /// Why nothing was signed; the caller asks again later.
    fn sign<'a>(&'a self, key: &'a [u8; 32], message: &'a [u8])
    -> Fut<'a, Result<[u8; 64], Cause>>;
}

/// Why keys cannot be read, as a sentence that has no secret in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadKeys(pub &'static str);

impl std::fmt::Display for BadKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadKeys {}
