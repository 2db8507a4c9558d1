//! Opens the vault's key, from the encrypted file or from a keypair file in the clear.

use crate::cli::exit::{Exit, Fault};
use crate::config::Swap;
use crate::keystore::{self, KeystoreSettings};
use kernel::answer::Cause;
use kernel::ports::Fut;
use links::solana::{ChainSigner, KeyRing, key_address};
use std::fs;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The signer of a process without the vault's key.
pub(super) struct NoKey;

impl ChainSigner for NoKey {
    fn public_keys(&self) -> Vec<[u8; 32]> {
        Vec::new()
    }

    fn sign<'a>(&'a self, _: &'a [u8; 32], _: &'a [u8]) -> Fut<'a, Result<[u8; 64], Cause>> {
        Box::pin(ready(Err(Cause::of("NO_KEYS"))))
    }
}

/// The signer that the settings give this process.
///
/// # Errors
/// 78: the file cannot be read, the passphrase is not the file's, or its key is not the vault's.
pub(super) fn signer(settings: &Swap) -> Result<Arc<dyn ChainSigner>, Fault> {
    let (ring, key) = if !settings.keystore.as_os_str().is_empty() {
        let keystore = KeystoreSettings {
            section: "swap",
            account: &settings.vault,
            file: &settings.keystore,
            passphrase: &settings.keystore_passphrase,
            passphrase_file: &settings.keystore_passphrase_file,
        };
        (keystore::open(&keystore)?, "swap.keystore")
    } else if !settings.keypair_file.as_os_str().is_empty() {
        (in_the_clear(&settings.keypair_file)?, "swap.keypair_file")
    } else {
        tracing::warn!("swap: no key: deposits are taken in here, and nothing is sent");
        return Ok(Arc::new(NoKey));
    };
    let is_vault = |key: &[u8; 32]| key_address(key) == settings.vault;
    if !ring.public_keys().iter().any(is_vault) {
        let what = format!("{key}: its key is not that of swap.vault, {}", settings.vault);
        return Err(Fault::new(Exit::Config, what));
    }
    Ok(Arc::new(ring))
}

fn in_the_clear(path: &Path) -> Result<KeyRing, Fault> {
    keystore::forbid_core_dumps();
    let unfit = |why: &dyn std::fmt::Display| {
        Fault::new(Exit::Config, format!("swap.keypair_file: {}: {why}", path.display()))
    };
    let text = fs::read_to_string(path).map(Zeroizing::new).map_err(|fault| unfit(&fault))?;
    let key = KeyRing::from_keypair_file(&text).map_err(|why| unfit(&why))?;
    KeyRing::plain([&**key]).map_err(|why| unfit(&why))
}
