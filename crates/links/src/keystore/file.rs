//! Encrypts and decrypts the key file: the keys' texts, a line each, under XChaCha20-Poly1305 with a
//! key that Argon2id derives from a passphrase. The rest of the file is authenticated with it.

use super::{BadKeys, KeyRing};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// The version of the file, and what its header is bound to.
const VERSION: u8 = 1;
/// No file may ask for more work than this: an attacker's file must not end the process.
const MOST_MEMORY: u32 = 1_048_576;
const MOST_PASSES: u32 = 16;

/// A passphrase, wiped when it is dropped. The caller takes it from a prompt, a file descriptor or the
/// environment.
#[derive(PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes the text over.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("********")
    }
}

/// The work that a guess of the passphrase costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyWork {
    /// Memory that one guess takes, in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
}

impl Default for KeyWork {
    fn default() -> Self {
        Self { memory_kib: 65_536, passes: 3 }
    }
}

/// The encrypted keys of one account, as a JSON text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyFile {
    version: u8,
    account: String,
    kdf: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    cipher: String,
    nonce: String,
    keys: String,
}

impl KeyFile {
    /// Encrypts keys, each a text such as `ed25519:…`.
    ///
    /// # Errors
    /// A text is no secret key, the passphrase is empty, or the system has no randomness.
    pub fn encrypt(
        account: &str,
        texts: &[Zeroizing<String>],
        passphrase: &Passphrase,
        work: KeyWork,
    ) -> Result<Self, BadKeys> {
        KeyRing::parse(texts.iter().map(|text| text.as_str()))?;
        if passphrase.0.is_empty() {
            return Err(BadKeys("the passphrase is empty"));
        }
        let mut random = [0; 40];
        getrandom::fill(&mut random).map_err(|_| BadKeys("the system has no randomness"))?;
        let (salt, nonce) = random.split_at(16);
        let mut file = Self {
            version: VERSION,
            account: account.to_owned(),
            kdf: "argon2id".to_owned(),
            memory_kib: work.memory_kib,
            passes: work.passes,
            salt: STANDARD.encode(salt),
            cipher: "xchacha20poly1305".to_owned(),
            nonce: STANDARD.encode(nonce),
            keys: String::new(),
        };
        let lines: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        let plain = Zeroizing::new(lines.join("\n"));
        let (cipher, nonce) = file.cipher(passphrase)?;
        let header = file.header();
        let payload = Payload { msg: plain.as_bytes(), aad: header.as_bytes() };
        let sealed = cipher.encrypt(&nonce, payload);
        file.keys = STANDARD.encode(sealed.map_err(|_| BadKeys("the keys cannot be encrypted"))?);
        Ok(file)
    }

    /// Reads a key file's text.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, BadKeys> {
        serde_json::from_str(text).map_err(|_| BadKeys("the file is no key file"))
    }

    /// The text that is stored.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The keys, for the account that the file was made for.
    ///
    /// # Errors
    /// Another account's file, another passphrase, a changed file, or one of another version.
    pub fn decrypt(&self, account: &str, passphrase: &Passphrase) -> Result<KeyRing, BadKeys> {
        if self.account != account {
            return Err(BadKeys("the key file is another account's"));
        }
        let (cipher, nonce) = self.cipher(passphrase)?;
        let sealed = STANDARD.decode(&self.keys).map_err(|_| BadKeys("the file is no key file"))?;
        let header = self.header();
        let payload = Payload { msg: &sealed, aad: header.as_bytes() };
        let plain = cipher.decrypt(&nonce, payload).map(Zeroizing::new);
        let plain = plain.map_err(|_| BadKeys("another passphrase, or the file was changed"))?;
        let text = std::str::from_utf8(&plain).map_err(|_| BadKeys("the file is no key file"))?;
        KeyRing::parse(text.lines())
    }

    /// The header, which the cipher authenticates besides the keys.
    fn header(&self) -> String {
        let Self { version, account, kdf, memory_kib, passes, salt, cipher, .. } = self;
        format!("portage keys {version}\n{account}\n{kdf} {memory_kib} {passes} {salt}\n{cipher}")
    }

    fn cipher(&self, passphrase: &Passphrase) -> Result<(XChaCha20Poly1305, XNonce), BadKeys> {
        const OTHER: BadKeys = BadKeys("the key file is of another version");
        let known = self.version == VERSION
            && self.kdf == "argon2id"
            && self.cipher == "xchacha20poly1305"
            && self.memory_kib <= MOST_MEMORY
            && self.passes <= MOST_PASSES;
        if !known {
            return Err(OTHER);
        }
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| OTHER);
        let nonce: [u8; 24] = bytes(&self.nonce)?.try_into().map_err(|_| OTHER)?;
        let mut key = Zeroizing::new([0; 32]);
        let params = Params::new(self.memory_kib, self.passes, 1, Some(32)).map_err(|_| OTHER)?;
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.0.as_bytes(), &bytes(&self.salt)?, &mut *key)
            .map_err(|_| OTHER)?;
        Ok((XChaCha20Poly1305::new((&*key).into()), nonce.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base58::base58;
    use crate::keystore::ChainSigner;

    const LITTLE: KeyWork = KeyWork { memory_kib: 64, passes: 1 };

    fn phrase(text: &str) -> Passphrase {
        Passphrase::new(text.to_owned())
    }

    #[test]
    fn a_file_opens_with_its_passphrase_and_account_alone() {
        let text = Zeroizing::new(format!("ed25519:{}", base58(&[5; 32])));
        let keys = [text.clone()];
        let file = KeyFile::encrypt("relay.near", &keys, &phrase("canary"), LITTLE).unwrap();
        let stored = file.text();
        assert!(!stored.contains(text.as_str()) && !stored.contains("canary"), "{stored}");
        assert!(!format!("{:?}", phrase("canary")).contains("canary"));
        let file = KeyFile::parse(&stored).unwrap();
        let ring = file.decrypt("relay.near", &phrase("canary")).unwrap();
        let expected = KeyRing::parse([text.as_str()]).unwrap();
        assert_eq!(ring.public_keys(), expected.public_keys());
        assert!(file.decrypt("relay.near", &phrase("Canary")).is_err());
        assert!(file.decrypt("other.near", &phrase("canary")).is_err());
        let moved = KeyFile { account: "other.near".to_owned(), ..file.clone() };
        assert!(moved.decrypt("other.near", &phrase("canary")).is_err(), "the header is bound");
        let heavy = KeyFile { memory_kib: u32::MAX, ..file };
        assert!(heavy.decrypt("relay.near", &phrase("canary")).is_err());
    }
}
