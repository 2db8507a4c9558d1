//! Opens the relay's keys, from the encrypted file or from the setting in the clear, and encrypts new ones.

use super::{core_dumps, passphrase};
use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use links::near::{BadKeys, KeyFile, KeyRing, KeyWork, Passphrase};
use std::fs;
use zeroize::Zeroizing;

/// The keys of the settings.
///
/// # Errors
/// 78: the file cannot be read, the passphrase is not the file's, or a text is no key.
pub(super) fn ring(settings: &Relay) -> Result<KeyRing, Fault> {
    core_dumps::forbid();
    if settings.keystore.as_os_str().is_empty() {
        let texts = settings.access_keys.reveal().split(',').map(str::trim);
        return KeyRing::plain(texts).map_err(|why| unfit("relay.access_keys", &why));
    }
    let path = settings.keystore.display();
    let text = fs::read_to_string(&settings.keystore)
        .map_err(|fault| Fault::new(Exit::Config, format!("relay.keystore: {path}: {fault}")))?;
    let passphrase = passphrase::of(settings)?;
    KeyFile::parse(&text)
        .and_then(|file| file.decrypt(&settings.account_id, &passphrase))
        .map_err(|why| unfit(&format!("relay.keystore: {path}"), &why))
}

/// Encrypts keys, one in each line of a text, for an account.
///
/// # Errors
/// 78: a line is no key, or the passphrase is empty.
pub(crate) fn encrypted(
    account: &str,
    lines: &Zeroizing<String>,
    passphrase: &Passphrase,
) -> Result<String, Fault> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let texts: Vec<Zeroizing<String>> = lines.map(|line| Zeroizing::new(line.to_owned())).collect();
    KeyFile::encrypt(account, &texts, passphrase, KeyWork::default())
        .map(|file| file.text())
        .map_err(|why| unfit("the keys", &why))
}

fn unfit(what: &str, why: &BadKeys) -> Fault {
    Fault::new(Exit::Config, format!("{what}: {why}"))
}
