//! Signs with keys that it keeps in memory.

use super::{BadKeys, ChainSigner, PREFIX};
use crate::base58::base58;
use ed25519_dalek::{Signer, SigningKey};
use kernel::answer::Cause;
use kernel::ports::Fut;
use zeroize::Zeroizing;

/// Secret keys of one account. Their memory is wiped when it is dropped.
pub struct KeyRing {
    keys: Vec<SigningKey>,
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let public = self.keys.iter().map(|key| base58(&key.verifying_key().to_bytes()));
        f.debug_list().entries(public).finish()
    }
}

impl KeyRing {
    /// Keys from a setting or the environment, not encrypted. A warning says so in the log.
    ///
    /// # Errors
    /// A text is no secret key, one stands twice, or there is none.
    pub fn plain<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, BadKeys> {
        let ring = Self::parse(texts)?;
        tracing::warn!(
            keys = ring.keys.len(),
            "SECRET KEYS ARE NOT ENCRYPTED: each one is the whole account. Put them into a key file."
        );
        Ok(ring)
    }

    /// The key of a keypair file in the clear (the secret and the public key as a JSON list of 64 bytes), as the key file
    /// and [`Self::plain`] take it.
    ///
    /// # Errors
    /// The text is none, or its two keys do not belong to each other.
    pub fn from_keypair_file(text: &str) -> Result<Zeroizing<String>, BadKeys> {
        let bytes: Zeroizing<Vec<u8>> = serde_json::from_str(text)
            .map(Zeroizing::new)
            .map_err(|_| BadKeys("a keypair file is a JSON list of 64 bytes"))?;
        if bytes.len() != ed25519_dalek::KEYPAIR_LENGTH {
            return Err(BadKeys("a keypair file is a JSON list of 64 bytes"));
        }
        let spelled = Zeroizing::new(format!("{PREFIX}{}", base58(&bytes)));
        secret_key(&spelled).map(|_| spelled)
    }

    /// The public key of such a key.
    ///
    /// # Errors
    /// The text is no key.
    pub fn public_key(spelled: &str) -> Result<[u8; 32], BadKeys> {
        secret_key(spelled).map(|key| key.verifying_key().to_bytes())
    }

    pub(super) fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, BadKeys> {
        let keys = texts.into_iter().map(secret_key).collect::<Result<Vec<SigningKey>, _>>()?;
        let mut public: Vec<[u8; 32]> =
            keys.iter().map(|key| key.verifying_key().to_bytes()).collect();
        public.sort_unstable();
        if public.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(BadKeys("one key stands twice"));
        }
        if keys.is_empty() {
            return Err(BadKeys("there is no key"));
        }
        Ok(Self { keys })
    }
}

/// The key of a text as the network's tools write it: `ed25519:` and base58 of the seed and the public key,
/// or of the seed alone.
fn secret_key(text: &str) -> Result<SigningKey, BadKeys> {
    const NONE: BadKeys = BadKeys("a secret key begins with `ed25519:` and goes on in base58");
    let spelled = text.trim().strip_prefix(PREFIX).ok_or(NONE)?;
    let bytes = Zeroizing::new(bs58::decode(spelled).into_vec().map_err(|_| NONE)?);
    let (seed, public) = bytes.split_at_checked(32).ok_or(NONE)?;
    let seed: Zeroizing<[u8; 32]> = Zeroizing::new(seed.try_into().map_err(|_| NONE)?);
    let key = SigningKey::from_bytes(&seed);
    match public {
        [] => Ok(key),
        public if public == key.verifying_key().as_bytes() => Ok(key),
        _ => Err(BadKeys("a secret key and its public key do not belong to each other")),
    }
}

impl ChainSigner for KeyRing {
    fn public_keys(&self) -> Vec<[u8; 32]> {
        self.keys.iter().map(|key| key.verifying_key().to_bytes()).collect()
    }

    fn sign<'a>(
        &'a self,
        key: &'a [u8; 32],
        message: &'a [u8],
    ) -> Fut<'a, Result<[u8; 64], Cause>> {
        let own = self.keys.iter().find(|own| own.verifying_key().as_bytes() == key);
        let signed = own.map(|own| own.sign(message).to_bytes());
        Box::pin(std::future::ready(signed.ok_or(Cause::of("NO_KEY"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where a list of another length, or whose public key is another one's, is a key.
    #[test]
    fn a_keypair_file_is_read() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let of = |bytes: &[u8]| KeyRing::from_keypair_file(&serde_json::to_string(bytes).unwrap());
        let text = of(&key.to_keypair_bytes()).unwrap();
        let ring = KeyRing::plain([text.as_str()]).unwrap();
        assert_eq!(ring.public_keys(), [key.verifying_key().to_bytes()]);
        let mut wrong = key.to_keypair_bytes();
        wrong[40] ^= 1;
        assert!(of(&wrong).is_err() && of(&wrong[..32]).is_err());
        assert!(KeyRing::from_keypair_file("[256]").is_err());
    }

    #[test]
    fn a_key_is_read_and_never_shown() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let long = format!("ed25519:{}", base58(&key.to_keypair_bytes()));
        let short = format!("ed25519:{}", base58(&[3; 32]));
        for text in [&long, &short] {
            let ring = KeyRing::plain([text.as_str()]).unwrap();
            assert_eq!(ring.public_keys(), [key.verifying_key().to_bytes()]);
            let shown = format!("{ring:?}");
            assert!(!shown.contains(&base58(&[3; 32])) && !shown.contains("[3, 3"), "{shown}");
        }
        assert!(KeyRing::plain([long.as_str(), short.as_str()]).is_err(), "twice the same key");
        let mut wrong = key.to_keypair_bytes();
        wrong[40] ^= 1;
        let wrong = format!("ed25519:{}", base58(&wrong));
        for bad in ["", "ed25519:", "ed25519:0", "secp256k1:abc", &wrong, &base58(&[3; 32])] {
            let refused = KeyRing::plain([bad]).unwrap_err();
            assert!(bad.is_empty() || bad == "ed25519:" || !refused.to_string().contains(bad));
        }
    }
}
