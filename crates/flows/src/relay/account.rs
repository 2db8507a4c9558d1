//! Names of accounts on NEAR, as the protocol takes them (nomicon, *Account ID Rules*): what a token's contract
//! would refuse is refused before a transfer is opened.

/// The fewest and the most characters of a name.
const LENGTH: std::ops::RangeInclusive<usize> = 2..=64;

/// True for a name that an account on NEAR may have: 2 to 64 characters, parts of `a`–`z` and `0`–`9` with
/// single `.`, `-` or `_` between them. Whether there is such an account only the chain says.
pub fn is_account_id(name: &str) -> bool {
    let separates = |byte: u8| matches!(byte, b'.' | b'-' | b'_');
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || separates(byte);
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    LENGTH.contains(&bytes.len())
        && bytes.iter().all(|byte| fits(*byte))
        && !ends.into_iter().flatten().any(|byte| separates(*byte))
        && !bytes
            .iter()
            .zip(bytes.iter().skip(1))
            .any(|(one, two)| separates(*one) && separates(*two))
}
