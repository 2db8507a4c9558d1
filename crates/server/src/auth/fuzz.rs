//! Fuzzes the verifier with changed tokens: it accepts only a token that was signed, byte for byte.

use super::tests::{HEADER, KEY, claims, signed_text};
use super::verify::{KeyAge, TokenRefusal, Verifier};
use crate::config;
use crate::runtime::SystemClock;
use serde_json::json;
use sim::fuzz::{Target, kind};
use std::sync::Arc;

const WORDS: [&str; 10] = [
    ".",
    "..",
    "=",
    "eyJhbGciOiJub25lIn0",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9",
    "e30",
    "bnVsbA",
    "\n",
    "\0",
];

/// Turns red where a signature, or the part that it is over, is compared by less than all of it.
#[test]
fn only_a_signed_token_is_let_in() {
    let signed = |changes| signed_text(HEADER, &claims(changes).to_string(), KEY);
    let good = [signed(json!({})), signed(json!({"sub": "svc-a", "scope": "admin"}))];
    // signed as well, and refused for what they say
    let stale =
        [signed(json!({"exp": 1})), signed(json!({"aud": "other"})), signed(json!({"iss": null}))];
    let starts = good.iter().chain(&stale).map(|token| token.clone().into_bytes()).collect();
    let target = Target { name: "tokens", crate_dir: env!("CARGO_MANIFEST_DIR"), words: &WORDS };
    let settings = config::Auth::default();
    let verifier = Verifier::new(&settings, KEY, Arc::new(SystemClock::default()));
    let done = target.run(starts, |input| {
        let token = String::from_utf8_lossy(input);
        match verifier.check_with_keys(&token, KeyAge::Fresh) {
            Ok(caller) => {
                assert!(good.iter().any(|good| *good == token), "let in as {}", caller.principal);
                kind(&"let in")
            }
            Err(TokenRefusal::Because(why)) => kind(&why),
            Err(TokenRefusal::UnknownKey(_)) => kind(&"unknown key"),
            Err(TokenRefusal::Stale) => kind(&"stale"),
        }
    });
    assert!(done.kinds > 6, "{done:?}");
}
