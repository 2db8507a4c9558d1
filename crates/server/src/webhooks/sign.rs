//! The secret of a webhook, and its signatures by the Standard Webhooks specification.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::answer::Cause;
use standardwebhooks::Webhook;

/// The prefix of a secret whose bytes are written in base64.
const ENCODED: &str = "whsec_";
/// The least bytes of a secret: fewer could be guessed.
const LEAST: usize = 32;
/// The rule that a secret must follow.
const RULE: &str = "at least 32 bytes: as they are, or as `whsec_` and their base64";

/// The bytes of a secret.
///
/// # Errors
/// The rule that a secret must follow.
pub fn secret(text: &str) -> Result<Vec<u8>, &'static str> {
    let bytes = match text.strip_prefix(ENCODED) {
        Some(encoded) => STANDARD.decode(encoded).map_err(|_| RULE)?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.len() < LEAST { Err(RULE) } else { Ok(bytes) }
}

/// A secret of these bytes, as it is written.
pub fn encode(bytes: &[u8]) -> String {
    format!("{ENCODED}{}", STANDARD.encode(bytes))
}

/// Signs messages with one secret, as Standard Webhooks has it.
pub(super) struct Signer(Webhook);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(********)")
    }
}

impl Signer {
    /// A signer with the secret of a setting.
    ///
    /// # Errors
    /// The rule that a secret must follow.
    pub(super) fn new(text: &str) -> Result<Self, &'static str> {
        Webhook::from_bytes(secret(text)?).map(Self).map_err(|_| RULE)
    }

    /// The header `webhook-signature` of a body that is sent under this id at that second.
    ///
    /// # Errors
    /// The second is beyond what the header can name.
    pub(super) fn signature(&self, id: &str, second: u64, body: &str) -> Result<String, Cause> {
        let unsigned = || Cause::of("NOT_SIGNED");
        let second = i64::try_from(second).map_err(|_| unsigned())?;
        self.0.sign(id, second, body.as_bytes()).map_err(|_| unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::{Signer, secret};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    /// Computed by `openssl dgst -sha256 -hmac` over `id.second.body`.
    #[test]
    fn the_signature_is_hmac_sha256_over_id_second_and_body() {
        let signer = Signer::new("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signer.signature(id, 1_614_265_330, r#"{"test": 2432232314}"#).unwrap();
        assert_eq!(signed, "v1,ELhqG0Ku1gwOc1f4jyKdp3SFGFLAOdJ9bvpWLciCakI=");
        assert!(!format!("{signer:?}").contains("Mf"));
    }

    #[test]
    fn a_secret_has_32_bytes_however_it_is_written() {
        let (bytes, few) = ([7; 32], [7; 31]);
        assert_eq!(secret(&format!("whsec_{}", STANDARD.encode(bytes))), Ok(bytes.to_vec()));
        assert_eq!(secret(&"x".repeat(32)), Ok(vec![b'x'; 32]));
        for bad in [
            String::new(),
            "x".repeat(31),
            format!("whsec_{}", STANDARD.encode(few)),
            format!("whsec_{}", "!".repeat(64)),
            "whsec_".to_owned(),
        ] {
            assert!(secret(&bad).is_err(), "{bad}");
        }
    }
}
