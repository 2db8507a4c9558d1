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
        let texts = in_the_clear(settings.access_keys.reveal())?;
        let texts = texts.iter().map(|text| text.trim());
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

/// The keys of a text: a JSON array of them, or with commas between.
///
/// # Errors
/// 78: it begins as an array and is none. The fault repeats nothing of the text.
fn in_the_clear(text: &str) -> Result<Vec<Zeroizing<String>>, Fault> {
    if !text.trim_start().starts_with('[') {
        return Ok(text.split(',').map(|key| Zeroizing::new(key.to_owned())).collect());
    }
    let keys: Vec<String> = serde_json::from_str(text).map_err(|_| {
        let what = r#"relay.access_keys: must be keys with commas between, or ["ed25519:…", …]"#;
        Fault::new(Exit::Config, what)
    })?;
    Ok(keys.into_iter().map(Zeroizing::new).collect())
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

#[cfg(test)]
mod tests {
    use super::in_the_clear;

    /// Turns red where an array is split at its commas, and where a fault shows a part of a key.
    #[test]
    fn keys_are_an_array_or_have_commas_between() {
        let read = |text: &str| {
            let keys = in_the_clear(text).expect("keys");
            keys.iter().map(|key| key.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(read("ed25519:a, ed25519:b"), ["ed25519:a", "ed25519:b"]);
        assert_eq!(read(r#" ["ed25519:a","ed25519:b"] "#), ["ed25519:a", "ed25519:b"]);
        for unfit in [r#"["canary""#, r#"["a", 7]"#, r#"[canary]"#] {
            let fault = in_the_clear(unfit).expect_err(unfit);
            assert!(!format!("{fault:?}").contains("canary"), "{fault:?}");
        }
    }
}
