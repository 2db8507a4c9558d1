//! A typed client of the HTTP API, for the command line, for tests and for users' programs.
//!
//! Every create carries a key of its own, so that after [`Error::Unknown`] the same request can be
//! sent again without ever being made twice.

#![warn(missing_docs)]

mod admin;
mod error;
mod http;
pub mod state;
pub mod tls;
pub mod types;
mod watch;

pub use admin::TextPage;
pub use error::{Conclusion, Error, whole};
pub use http::{Client, ProbeAnswer, created};
pub use reqwest::Method;
pub use watch::{Looked, Watch};

use std::hash::{BuildHasher, Hasher, RandomState};
use types::CreateTransfer;

/// A fresh key for a create: 26 characters in the form of a ULID, of 128 random bits.
pub fn fresh_cid() -> String {
    // the machine's randomness by way of the standard library's hash keys
    let draw = |n| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(n);
        u128::from(hasher.finish())
    };
    kernel::ids::Id((draw(1) << 64) | draw(2)).to_string()
}

/// A text as part of a path or of a query: what means something there is escaped.
pub fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

/// A transfer under a fresh key, for the token's own user.
pub fn new_transfer(from: &str, to: &str, asset: &str, amount: &str) -> CreateTransfer {
    CreateTransfer {
        from: from.to_owned(),
        to: to.to_owned(),
        asset: asset.to_owned(),
        amount: amount.to_owned(),
        cid: Some(fresh_cid()),
        user_id: None,
        reference: None,
        metadata: None,
    }
}

#[cfg(test)]
mod tests {
    use super::fresh_cid;
    use std::collections::BTreeSet;

    #[test]
    fn keys_do_not_repeat() {
        let drawn: BTreeSet<String> = (0..1000).map(|_| fresh_cid()).collect();
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|cid| cid.len() == 26 && cid.is_ascii()));
    }
}
