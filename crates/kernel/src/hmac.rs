//! Keyed message authentication: the holder of a key can tell whether a text is its own.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// A key for HMAC-SHA256, never printed.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(********)")
    }
}

impl MacKey {
    /// The key of these bytes, of any length.
    #[expect(clippy::expect_used, reason = "HMAC hashes a key that is longer than its block")]
    pub fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("a key of any length"))
    }

    /// HMAC-SHA256 (RFC 2104) of a message.
    pub fn mac(&self, message: &[u8]) -> [u8; 32] {
        self.0.clone().chain_update(message).finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::MacKey;
    use crate::audit::hex;

    #[test]
    fn the_mac_is_that_of_rfc_4231() {
        let cases: [(Vec<u8>, &[u8], &str); 3] = [
            (
                vec![0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, mac) in cases {
            assert_eq!(hex(&MacKey::new(&key).mac(message)), mac);
        }
        assert!(!format!("{:?}", MacKey::new(b"Jefe")).contains("Jefe"));
    }
}
