//! Names of accounts, as the network spells them.

/// The shortest and the longest name.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=64;

/// Whether a text is an account id of NEAR: parts of lower-case letters and digits, with single `-`, `_` or
/// `.` between them.
pub fn is_account_id(text: &str) -> bool {
    let separator = |byte: u8| matches!(byte, b'-' | b'_' | b'.');
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut last_separates = true;
    for byte in text.bytes() {
        if separator(byte) {
            if last_separates {
                return false;
            }
            last_separates = true;
        } else if letter(byte) {
            last_separates = false;
        } else {
            return false;
        }
    }
    LENGTHS.contains(&text.len()) && !last_separates
}

#[cfg(test)]
mod tests {
    use super::is_account_id;

    #[test]
    fn names_are_those_of_the_network() {
        for good in ["aa", "a-b_c.d", "100", "relay.near", &"a".repeat(64)] {
            assert!(is_account_id(good), "{good}");
        }
        for bad in
            ["", "a", "A.near", "a..b", ".near", "near.", "a-_b", "a b", "ä.near", &"a".repeat(65)]
        {
            assert!(!is_account_id(bad), "{bad}");
        }
    }
}
