//! Keyed MACs: who has the key can say that a text is its own.

use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 works on blocks of so many bytes.
const BLOCK: usize = 64;

/// A key for HMAC-SHA256; never shown.
#[derive(Clone)]
pub struct MacKey([u8; BLOCK]);

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(********)")
    }
}

impl MacKey {
    /// The key of these bytes, of any length.
    pub fn new(bytes: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let bytes = if bytes.len() > BLOCK { &digest[..] } else { bytes };
        for (slot, byte) in block.iter_mut().zip(bytes) {
            *slot = *byte;
        }
        Self(block)
    }

    /// HMAC-SHA256 (RFC 2104).
    pub fn mac(&self, message: &[u8]) -> [u8; 32] {
        let inner = Sha256::new_with_prefix(self.0.map(|byte| byte ^ 0x36)).chain_update(message);
        let outer = Sha256::new_with_prefix(self.0.map(|byte| byte ^ 0x5c));
        outer.chain_update(inner.finalize()).finalize().into()
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
