//! Tests the claims of a good token, and how long the verifier caches it. Bad tokens: `tests/it/door/tokens`.

use super::token::Minted;
use super::verify::{KeyAge, TokenRefusal, Verifier};
use super::{Caller, Scope};
use crate::config;
use crate::runtime::SystemClock;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::ids::UserId;
use kernel::ports::clock::Clock;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::ManualClock;

pub(super) const KEY: &[u8] = b"a key of exactly thirty-two byte";

fn now() -> u64 {
    SystemClock::default().now() / 1000
}

fn verifier() -> Verifier {
    Verifier::new(&config::Auth::default(), KEY, Arc::new(SystemClock::default()))
}

/// Good claims, with some of them replaced (`null`: left out).
pub(super) fn claims(changes: Value) -> Value {
    let now = now();
    let mut claims = json!({
        "iss": "portage", "aud": "portage", "sub": "4001", "scope": "transfers:create ops:read x",
        "iat": now, "nbf": now, "exp": now + 600,
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

pub(super) fn signed_text(header: &str, claims: &str, key: &[u8]) -> String {
    let message = format!("{}.{}", base64url(header.as_bytes()), base64url(claims.as_bytes()));
    let signature = jsonwebtoken::crypto::sign(
        message.as_bytes(),
        &EncodingKey::from_secret(key),
        Algorithm::HS256,
    );
    format!("{message}.{}", signature.unwrap())
}

fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            let six = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET[usize::try_from(six).unwrap()]));
        }
    }
    text
}

pub(super) const HEADER: &str = r#"{"alg":"HS256","typ":"at+jwt"}"#;

fn check(header: &str, claims: &Value) -> Result<Arc<Caller>, TokenRefusal> {
    verifier().check_with_keys(&signed_text(header, &claims.to_string(), KEY), KeyAge::Fresh)
}

#[test]
fn a_good_token_says_who_calls_and_what_is_allowed() {
    let caller = check(HEADER, &claims(json!({}))).unwrap();
    assert_eq!(&*caller.principal, "portage|4001");
    assert_eq!(caller.user, Some(UserId(4001)));
    assert_eq!(caller.scopes, [Scope::TransfersCreate, Scope::OpsRead]);
    assert!(caller.may(Scope::OpsRead) && !caller.may(Scope::OpsAct));
    let admin = check(HEADER, &claims(json!({"scope": "admin"}))).unwrap();
    assert!(Scope::ALL.into_iter().all(|scope| admin.may(scope)));
    let several = check(HEADER, &claims(json!({"aud": ["other", "portage"], "jti": [1, {}]})));
    assert!(several.is_ok());
    let none = check(HEADER, &claims(json!({"scope": null}))).unwrap();
    assert!(none.scopes.is_empty());
}

/// The forms in which identity providers give scopes, times and types. Turns red where one of them is refused.
#[test]
fn a_token_of_a_provider_passes() {
    let list = json!(["transfers:create", "ops:read", "x y"]);
    let both = [Scope::TransfersCreate, Scope::OpsRead];
    let settings = |scope_claim: &str, typ: &str| config::Auth {
        scope_claim: scope_claim.to_owned(),
        typ: vec![typ.to_owned()],
        ..config::Auth::default()
    };
    let header = |typ: &str| format!(r#"{{"alg":"HS256"{typ}}}"#);
    for (settings, header, changes) in [
        (settings("scope", "JWT"), header(r#","typ":"JWT""#), json!({"nbf": null})),
        (settings("scope", "at+jwt"), header(r#","typ":"at+jwt""#), json!({"scope": list})),
        (settings("scp", ""), header(""), json!({"scope": null, "scp": list, "nbf": null})),
        (settings("scp", ""), header(""), json!({"scope": 5, "scp": "transfers:create ops:read"})),
    ] {
        let verifier = Verifier::new(&settings, KEY, Arc::new(SystemClock::default()));
        let token = signed_text(&header, &claims(changes).to_string(), KEY);
        assert_eq!(
            verifier.check_with_keys(&token, KeyAge::Fresh).unwrap().scopes,
            both,
            "{settings:?}"
        );
    }
    let why = |changes| check(HEADER, &claims(changes)).unwrap_err();
    assert_eq!(why(json!({"exp": null})), TokenRefusal::Because("exp is missing"));
    assert_eq!(why(json!({"aud": null})), TokenRefusal::Because("aud is missing"));
}

#[test]
fn a_user_is_a_plain_number() {
    for sub in ["svc-a", "0", "007", "+5", "-1", "9223372036854775808", "1e3", "٣", "5x"] {
        let caller = check(HEADER, &claims(json!({"sub": sub}))).unwrap();
        assert_eq!(caller.user, None, "{sub}");
    }
    let settings = config::Auth { user_claim: "uid".to_owned(), ..config::Auth::default() };
    let verifier = Verifier::new(&settings, KEY, Arc::new(SystemClock::default()));
    for uid in [json!(77), json!("77")] {
        let token = signed_text(HEADER, &claims(json!({"uid": uid})).to_string(), KEY);
        assert_eq!(verifier.check_with_keys(&token, KeyAge::Fresh).unwrap().user, Some(UserId(77)));
    }
}

#[test]
fn a_token_that_passed_is_remembered_but_never_beyond_its_end() {
    let start = now() * 1000;
    let clock = Arc::new(ManualClock::at(start));
    let verifier = Verifier::new(&config::Auth::default(), KEY, clock.clone());
    let exp = start / 1000 + 3;
    let token = signed_text(HEADER, &claims(json!({"exp": exp})).to_string(), KEY);
    let first = verifier.check_with_keys(&token, KeyAge::Fresh).unwrap();
    assert!(Arc::ptr_eq(&first, &verifier.check_with_keys(&token, KeyAge::Fresh).unwrap()));
    clock.set(exp * 1000);
    let again = verifier.check_with_keys(&token, KeyAge::Fresh).unwrap();
    assert!(!Arc::ptr_eq(&first, &again), "checked anew at its exp");
    clock.set((exp + 5) * 1000);
    assert_eq!(
        verifier.check_with_keys(&token, KeyAge::Fresh),
        Err(TokenRefusal::Because("expired"))
    );
}

#[test]
fn what_is_minted_passes() {
    let now = now();
    let minted = Minted {
        iss: "portage".to_owned(),
        aud: "portage".to_owned(),
        sub: "4001".to_owned(),
        scope: "admin".to_owned(),
        iat: now,
        nbf: now,
        exp: now + 3600,
    };
    assert!(
        verifier().check_with_keys(&minted.sign("at+jwt", KEY).unwrap(), KeyAge::Fresh).is_ok()
    );
    assert!(
        verifier().check_with_keys(&minted.sign("id+jwt", KEY).unwrap(), KeyAge::Fresh).is_err()
    );
    let mut header = Header::new(Algorithm::HS512);
    header.typ = Some("at+jwt".to_owned());
    let other = jsonwebtoken::encode(&header, &minted, &EncodingKey::from_secret(KEY)).unwrap();
    assert!(verifier().check_with_keys(&other, KeyAge::Fresh).is_err());
}
