//! Opens the encrypted file of a chain's keys by the settings of its flow, and encrypts new ones.

mod core_dumps;
pub(crate) mod passphrase;

pub(crate) use self::core_dumps::forbid_core_dumps;

use crate::cli::exit::{Exit, Fault};
use crate::config::Secret;
use links::near::{BadKeys, KeyFile, KeyRing, KeyWork, Passphrase};
use std::fs;
use std::path::Path;
use zeroize::Zeroizing;

/// Where the settings of a flow have its keystore.
pub(crate) struct KeystoreSettings<'a> {
    /// The section of the settings.
    pub section: &'static str,
    /// The account whose keys they are.
    pub account: &'a str,
    pub file: &'a Path,
    pub passphrase: &'a Secret,
    pub passphrase_file: &'a Path,
}

/// The keys of an encrypted file.
///
/// # Errors
/// 78: the file cannot be read, or the passphrase is not the file's.
pub(crate) fn open(settings: &KeystoreSettings<'_>) -> Result<KeyRing, Fault> {
    forbid_core_dumps();
    let what = format!("{}.keystore: {}", settings.section, settings.file.display());
    let text = fs::read_to_string(settings.file)
        .map_err(|fault| Fault::new(Exit::Config, format!("{what}: {fault}")))?;
    let passphrase = passphrase::of(settings)?;
    KeyFile::parse(&text)
        .and_then(|file| file.decrypt(settings.account, &passphrase))
        .map_err(|why| unfit(&what, &why))
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

/// The fault of keys that cannot be used.
pub(crate) fn unfit(what: &str, why: &BadKeys) -> Fault {
    Fault::new(Exit::Config, format!("{what}: {why}"))
}
