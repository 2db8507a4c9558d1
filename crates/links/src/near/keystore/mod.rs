//! Keeps the relay's keys. A payment attaches a deposit, and only a full-access key may do that: such a
//! key controls the whole account. The keys come from an encrypted file, stay in memory that is wiped,
//! and are never shown.

mod file;
mod ring;

pub use file::{KeyFile, KeyWork, Passphrase};
pub use ring::KeyRing;

use kernel::answer::Cause;
use kernel::ports::Fut;

/// Signs for the relay's account. A key-management service that signs elsewhere can implement it too.
pub trait NearSigner: Send + Sync {
    /// The public keys that it signs with, in the order of preference; each is a lane.
    fn public_keys(&self) -> Vec<[u8; 32]>;
    /// Signs the SHA-256 of a transaction's bytes with one of these keys.
    ///
    /// # Errors
    /// Why nothing was signed; the caller asks again later.
    fn sign<'a>(
        &'a self,
        key: &'a [u8; 32],
        transaction: &'a [u8],
    ) -> Fut<'a, Result<[u8; 64], Cause>>;
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
