//! Spells hashes and keys in base58, as NEAR and Solana do.

/// A hash or a key as the networks spell it.
pub(crate) fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

/// The 32 bytes that a text spells.
pub(crate) fn from_base58(text: &str) -> Option<[u8; 32]> {
    bs58::decode(text).into_vec().ok()?.try_into().ok()
}
