//! Opens the relay's keys, from the encrypted file or from the setting in the clear.

use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use crate::keystore::{self, KeystoreSettings, unfit};
use links::near::KeyRing;
use zeroize::Zeroizing;

/// The keys of the settings.
///
/// # Errors
/// 78: the file cannot be read, the passphrase is not the file's, or a text is no key.
pub(super) fn ring(settings: &Relay) -> Result<KeyRing, Fault> {
    if !settings.keystore.as_os_str().is_empty() {
        return keystore::open(&KeystoreSettings {
            section: "relay",
            account: &settings.account_id,
            file: &settings.keystore,
            passphrase: &settings.keystore_passphrase,
            passphrase_file: &settings.keystore_passphrase_file,
        });
    }
    keystore::forbid_core_dumps();
    let texts = in_the_clear(settings.access_keys.reveal())?;
    let texts = texts.iter().map(|text| text.trim());
    KeyRing::plain(texts).map_err(|why| unfit("relay.access_keys", &why))
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
