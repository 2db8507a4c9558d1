//! The hashes of the audit, as bytes and as text.

use sha2::{Digest as _, Sha256};

/// The bytes of a SHA-256 hash.
pub type Hash = [u8; 32];

/// The hash of bytes.
pub fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// A hash in hexadecimal digits, as it is stored and shown.
pub fn hex(hash: &Hash) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or_default();
    let mut text = String::with_capacity(64);
    for byte in hash {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
    text
}

/// The hash of 64 hexadecimal digits; none of anything else.
pub fn unhex(text: &str) -> Option<Hash> {
    let digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(text.get(at..at.checked_add(2)?)?, 16).ok();
    let bytes: Vec<u8> = (0..64).step_by(2).map(byte).collect::<Option<_>>()?;
    bytes.try_into().ok().filter(|_| digits)
}
