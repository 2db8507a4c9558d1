//! Signatures as Standard Webhooks has them: HMAC-SHA256 over id, time and body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::mac::MacKey;

/// What a secret begins with whose bytes are written in base64.
const ENCODED: &str = "whsec_";
/// Fewer bytes could be guessed.
const LEAST: usize = 32;

/// The bytes of a secret.
///
/// # Errors
/// What a secret must be.
pub fn secret(text: &str) -> Result<Vec<u8>, &'static str> {
    const RULE: &str = "at least 32 bytes: as they are, or as `whsec_` and their base64";
    let bytes = match text.strip_prefix(ENCODED) {
        Some(encoded) => STANDARD.decode(encoded).map_err(|_| RULE)?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.len() < LEAST { Err(RULE) } else { Ok(bytes) }
}

/// The header `webhook-signature` of a body that is sent under this id at that second.
pub(super) fn signature(key: &MacKey, id: &str, second: u64, body: &str) -> String {
    let mac = key.mac(format!("{id}.{second}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac))
}

#[cfg(test)]
mod tests {
    use super::{secret, signature};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use kernel::mac::MacKey;

    /// The example of the Standard Webhooks libraries.
    #[test]
    fn the_signature_is_the_standard_s() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&MacKey::new(&key), id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
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
