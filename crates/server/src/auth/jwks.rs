//! Parses a JWK set (RFC 7517), the public keys that verify tokens, and refuses a set with an unsafe key.

use crate::json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The largest document, in bytes; a longer one is refused.
pub const MOST: usize = 64 * 1024;
/// The longest name of a key.
const LONGEST_KID: usize = 256;
/// RSA keys below this can be broken, keys above cost too much per check.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=4096;
/// Members of a key that only its owner may have, and `k`, the secret itself.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The reason why a document is no valid set of keys. The sentence names no key material.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnfitKeySet(String);

fn unfit<T>(what: impl Into<String>) -> Result<T, UnfitKeySet> {
    Err(UnfitKeySet(what.into()))
}

/// A key that checks signatures, of one algorithm and no other.
#[derive(Debug, Clone)]
pub(super) struct VerificationKey {
    pub alg: Algorithm,
    pub key: DecodingKey,
}

/// The keys by name. One that stands alone may be without a name.
#[derive(Debug, Clone)]
pub(super) struct KeySet {
    named: BTreeMap<String, VerificationKey>,
    alone: Option<VerificationKey>,
}

impl KeySet {
    /// The one development key.
    pub(super) fn secret(key: &[u8]) -> Self {
        let key = VerificationKey { alg: Algorithm::HS256, key: DecodingKey::from_secret(key) };
        Self { named: BTreeMap::new(), alone: Some(key) }
    }

    /// Reads a document. Keys for other purposes are passed over; one that contradicts itself, is
    /// weak, or should never have left its owner makes the whole document unfit.
    ///
    /// # Errors
    /// The first fault of the document.
    pub(super) fn read(text: &[u8]) -> Result<Self, UnfitKeySet> {
        if text.len() > MOST {
            return unfit("above 64 KiB");
        }
        json::plain(text).map_err(|fault| UnfitKeySet(fault.to_string()))?;
        let whole: Value =
            serde_json::from_slice(text).map_err(|fault| UnfitKeySet(fault.to_string()))?;
        let Some(all) = whole.get("keys").and_then(Value::as_array) else {
            return unfit("no list `keys`");
        };
        let mut named = BTreeMap::new();
        let mut nameless = Vec::new();
        for (number, jwk) in (1_usize..).zip(all) {
            let Some(jwk) = jwk.as_object() else {
                return unfit(format!("key {number} is no object"));
            };
            let at = |UnfitKeySet(what)| UnfitKeySet(format!("key {number}: {what}"));
            let Some(key) = read(jwk).map_err(at)? else { continue };
            match kid(jwk).map_err(at)? {
                None => nameless.push(key),
                Some(kid) => {
                    if named.insert(kid.to_owned(), key).is_some() {
                        return unfit(format!("the kid {kid:?} stands there twice"));
                    }
                }
            }
        }
        match (named.is_empty(), nameless.pop(), nameless.is_empty()) {
            (true, None, _) => unfit("no key that signs tokens by EdDSA, ES256 or RS256"),
            (false, None, _) => Ok(Self { named, alone: None }),
            (true, Some(key), true) => Ok(Self { named, alone: Some(key) }),
            (_, Some(_), _) => unfit("a key without a kid beside others"),
        }
    }

    /// The key of that name; without a name the only one there is.
    pub(super) fn find(&self, kid: Option<&str>) -> Option<&VerificationKey> {
        match kid {
            Some(kid) => self.named.get(kid),
            None => self.alone.as_ref().or_else(|| {
                let mut all = self.named.values();
                all.next().filter(|_| all.next().is_none())
            }),
        }
    }

    /// Each name with its algorithm.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, Algorithm)> {
        self.named.iter().map(|(kid, key)| (kid.as_str(), key.alg))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.named.len().saturating_add(usize::from(self.alone.is_some()))
    }
}

fn kid(jwk: &Map<String, Value>) -> Result<Option<&str>, UnfitKeySet> {
    match jwk.get("kid") {
        None => Ok(None),
        Some(Value::String(kid)) if (1..=LONGEST_KID).contains(&kid.len()) => Ok(Some(kid)),
        Some(_) => unfit("its kid is no text of 1 to 256 bytes"),
    }
}

/// Makes a key of its members.
type KeyReader = fn(&Map<String, Value>) -> Result<DecodingKey, UnfitKeySet>;

/// The key, or none where it is for something else.
fn read(jwk: &Map<String, Value>) -> Result<Option<VerificationKey>, UnfitKeySet> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let kty = text("kty").ok_or_else(|| UnfitKeySet("no kty".to_owned()))?;
    if kty == "oct" {
        return unfit("a symmetric key: every reader of the set could sign tokens");
    }
    if let Some(name) = PRIVATE.iter().find(|name| jwk.contains_key(**name)) {
        return unfit(format!("a private key (`{name}`): it must never leave its owner"));
    }
    if !signs(jwk)? {
        return Ok(None);
    }
    let (alg, name, form): (_, _, KeyReader) = match (kty, text("crv")) {
        ("OKP", Some("Ed25519")) => (Algorithm::EdDSA, "EdDSA", ed25519),
        ("EC", Some("P-256")) => (Algorithm::ES256, "ES256", p256),
        ("RSA", _) => (Algorithm::RS256, "RS256", rsa),
        _ => return Ok(None),
    };
    match jwk.get("alg") {
        None => {}
        Some(Value::String(said)) if said == name => {}
        // a key that is not understood is passed over (RFC 7517, section 5)
        Some(Value::String(said)) if !confused(said) => return Ok(None),
        Some(said) => return unfit(format!("a key of kty {kty} with alg {said}")),
    }
    let key = form(jwk)?;
    // a point that is not on its curve is found out only when a checker is made of it
    match jsonwebtoken::crypto::verify("", b"", &key, alg) {
        Ok(_) => Ok(Some(VerificationKey { alg, key })),
        Err(_) => unfit("no point of its curve"),
    }
}

/// Whether a public key that says this algorithm, and another one than its own, is an attempt to have tokens
/// taken that it did not sign: no signature, a symmetric one, or one of the algorithms here.
fn confused(alg: &str) -> bool {
    alg == "none" || alg.starts_with("HS") || ["EdDSA", "ES256", "RS256"].contains(&alg)
}

/// Whether it may check signatures.
fn signs(jwk: &Map<String, Value>) -> Result<bool, UnfitKeySet> {
    let wanted = match jwk.get("use") {
        None => true,
        Some(Value::String(wanted)) => wanted == "sig",
        Some(_) => return unfit("its use is no text"),
    };
    match jwk.get("key_ops") {
        None => Ok(wanted),
        Some(Value::Array(all)) => Ok(wanted && all.iter().any(|one| one == "verify")),
        Some(_) => unfit("its key_ops are no list"),
    }
}

fn bytes(jwk: &Map<String, Value>, name: &str) -> Result<Vec<u8>, UnfitKeySet> {
    let text = jwk.get(name).and_then(Value::as_str);
    let read = text.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    read.ok_or_else(|| UnfitKeySet(format!("`{name}` is missing or no base64url")))
}

fn exactly<const N: usize>(jwk: &Map<String, Value>, name: &str) -> Result<[u8; N], UnfitKeySet> {
    let read = bytes(jwk, name)?;
    read.try_into().map_err(|_| UnfitKeySet(format!("`{name}` does not have {N} bytes")))
}

fn ed25519(jwk: &Map<String, Value>) -> Result<DecodingKey, UnfitKeySet> {
    // the library takes the first 32 bytes of whatever there is, and dies where there are fewer
    Ok(DecodingKey::from_ed_der(&exactly::<32>(jwk, "x")?))
}

fn p256(jwk: &Map<String, Value>) -> Result<DecodingKey, UnfitKeySet> {
    let (x, y) = (exactly::<32>(jwk, "x")?, exactly::<32>(jwk, "y")?);
    // a point as SEC 1 writes it in full
    Ok(DecodingKey::from_ec_der(&[&[4][..], &x, &y].concat()))
}

fn rsa(jwk: &Map<String, Value>) -> Result<DecodingKey, UnfitKeySet> {
    let (n, e) = (bytes(jwk, "n")?, bytes(jwk, "e")?);
    let size = bits(&n);
    if !RSA_BITS.contains(&size) {
        return unfit(format!("an RSA key of {size} bits: 2048 to 4096 are taken"));
    }
    let odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 == 1);
    if !odd(&n) || !odd(&e) || !(2..=32).contains(&bits(&e)) {
        return unfit("no RSA key: its modulus or exponent cannot be");
    }
    Ok(DecodingKey::from_rsa_raw_components(&n, &e))
}

/// The length of a number without its leading zeros.
fn bits(number: &[u8]) -> usize {
    let mut rest = number.iter().skip_while(|byte| **byte == 0);
    rest.next().map_or(0, |first| {
        let top = u8::BITS.saturating_sub(first.leading_zeros());
        let below = rest.count().saturating_mul(8);
        below.saturating_add(usize::try_from(top).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::{KeySet, MOST, bits};
    use crate::auth::keys_for_tests::{ED, ES, RS, jwk, other, sign};
    use jsonwebtoken::Algorithm;
    use serde_json::{Value, json};

    fn read(keys: Value) -> Result<KeySet, String> {
        let text = json!({ "keys": keys, "issuer": "passed over" }).to_string();
        KeySet::read(text.as_bytes()).map_err(|fault| fault.to_string())
    }

    /// That key with members replaced (`null`: left out).
    fn with(mut jwk: Value, changes: Value) -> Value {
        for (name, value) in changes.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        jwk
    }

    #[test]
    fn each_kind_of_key_has_its_algorithm() {
        let set = read(json!([jwk(ED, "a"), jwk(ES, "b"), jwk(RS, "c")])).unwrap();
        let names: Vec<_> = set.names().collect();
        let expected = [("a", Algorithm::EdDSA), ("b", Algorithm::ES256), ("c", Algorithm::RS256)];
        assert_eq!(names, expected);
        assert_eq!(set.len(), 3);
        for alg in ["EdDSA", "ES256", "RS256"] {
            let key = [ED, ES, RS].into_iter().find(|key| key.alg == alg).unwrap();
            let said =
                with(jwk(key, "a"), json!({"alg": alg, "use": "sig", "key_ops": ["verify"]}));
            assert_eq!(read(json!([said])).unwrap().len(), 1, "{alg}");
        }
    }

    #[test]
    fn a_key_checks_its_own_signatures_and_no_others() {
        for pair in [ED, ES, RS] {
            let set = read(json!([jwk(pair, "a")])).unwrap();
            let key = set.find(Some("a")).unwrap();
            let checked = |signature: &str| {
                jsonwebtoken::crypto::verify(signature, b"text", &key.key, key.alg).unwrap()
            };
            assert!(checked(&sign(pair, "text")), "{}", pair.alg);
            assert!(!checked(&sign(pair, "texT")) && !checked(&sign(other(pair), "text")));
        }
    }

    #[test]
    fn a_name_finds_its_key_and_no_name_only_a_single_one() {
        let two = read(json!([jwk(ED, "a"), jwk(ES, "b")])).unwrap();
        assert_eq!(two.find(Some("b")).unwrap().alg, Algorithm::ES256);
        assert!(two.find(Some("c")).is_none() && two.find(Some("")).is_none());
        assert!(two.find(None).is_none());
        let one = read(json!([jwk(ED, "a")])).unwrap();
        assert!(one.find(None).is_some() && one.find(Some("b")).is_none());
        let nameless = read(json!([with(jwk(ED, "a"), json!({"kid": null}))])).unwrap();
        assert!(nameless.find(None).is_some() && nameless.find(Some("a")).is_none());
        let secret = KeySet::secret(&[1; 32]);
        assert!(secret.find(None).is_some() && secret.find(Some("a")).is_none());
    }

    #[test]
    fn keys_for_other_purposes_are_passed_over() {
        let others = [
            with(jwk(RS, "x"), json!({"use": "enc"})),
            with(jwk(RS, "x"), json!({"key_ops": ["encrypt", "wrapKey"]})),
            with(jwk(RS, "x"), json!({"use": "sig", "key_ops": []})),
            with(jwk(RS, "x"), json!({"alg": "PS256"})),
            with(jwk(RS, "x"), json!({"alg": "RSA-OAEP"})),
            // RFC 9864 and a draft: no release could list all that is to come
            with(jwk(ED, "x"), json!({"alg": "Ed25519"})),
            with(jwk(ES, "x"), json!({"alg": "HPKE-0"})),
            with(jwk(ES, "x"), json!({"crv": "P-384"})),
            with(jwk(ED, "x"), json!({"crv": "X25519"})),
            json!({"kty": "AKP", "kid": "x", "alg": "ML-DSA-44", "pub": "AA"}),
        ];
        for other in others {
            assert_eq!(read(json!([jwk(ED, "a"), other.clone()])).unwrap().len(), 1, "{other}");
            let fault = read(json!([other.clone()])).unwrap_err();
            assert!(fault.starts_with("no key that signs tokens"), "{other}: {fault}");
        }
    }

    #[test]
    fn a_set_that_cannot_be_trusted_is_unfit_as_a_whole() {
        let good = jwk(ED, "a");
        let small = "f".repeat(170) + "w"; // 1028 bits
        let bad = [
            (json!({"kty": "oct", "k": "AAAA", "kid": "s"}), "symmetric"),
            (json!({"kty": "oct", "kid": "s"}), "symmetric"),
            (with(jwk(ED, "b"), json!({"d": "AA"})), "private"),
            (with(jwk(ES, "b"), json!({"d": "AA"})), "private"),
            (with(jwk(RS, "b"), json!({"p": "AA"})), "private"),
            (with(jwk(RS, "b"), json!({"use": "enc", "d": "AA"})), "private"),
            (with(jwk(RS, "b"), json!({"k": "AA"})), "private"),
            (jwk(ES, "a"), "twice"),
            (with(jwk(ES, "b"), json!({"kid": null})), "without a kid"),
            (with(jwk(ES, "b"), json!({"kid": 5})), "kid"),
            (with(jwk(ES, "b"), json!({"kid": ""})), "kid"),
            (with(jwk(ES, "b"), json!({"kid": "x".repeat(257)})), "kid"),
            (with(jwk(RS, "b"), json!({"alg": "HS256"})), "alg \"HS256\""),
            (with(jwk(RS, "b"), json!({"alg": "none"})), "alg \"none\""),
            (with(jwk(RS, "b"), json!({"alg": "ES256"})), "alg \"ES256\""),
            (with(jwk(ES, "b"), json!({"alg": "RS256"})), "alg \"RS256\""),
            (with(jwk(ED, "b"), json!({"alg": "HS256"})), "alg \"HS256\""),
            (with(jwk(ED, "b"), json!({"alg": 1})), "alg 1"),
            (with(jwk(RS, "b"), json!({"n": small})), "RSA key of"),
            (with(jwk(RS, "b"), json!({"n": "A".repeat(400)})), "RSA key of 0 bits"),
            (with(jwk(RS, "b"), json!({"e": "Ag"})), "cannot be"),
            (with(jwk(RS, "b"), json!({"e": "AQ"})), "cannot be"),
            (with(jwk(RS, "b"), json!({"n": null})), "`n` is missing"),
            (with(jwk(ED, "b"), json!({"x": "AAAA"})), "does not have 32 bytes"),
            (with(jwk(ED, "b"), json!({"x": "AAAA="})), "no base64url"),
            (with(jwk(ES, "b"), json!({"y": "A".repeat(43)})), "curve"),
            (with(jwk(ES, "b"), json!({"use": 1})), "use"),
            (with(jwk(ES, "b"), json!({"key_ops": "verify"})), "key_ops"),
            (json!({"kid": "x"}), "no kty"),
            (json!("text"), "no object"),
        ];
        for (key, says) in bad {
            let fault = read(json!([good.clone(), key.clone()])).unwrap_err();
            assert!(fault.contains(says), "{key}: {fault}");
            assert!(!fault.contains("AAAA"), "no key material: {fault}");
        }
        let text = |text: &str| KeySet::read(text.as_bytes()).unwrap_err().to_string();
        assert!(text("{}").contains("keys") && text("[]").contains("keys"));
        assert!(text(r#"{"keys":[],"keys":[]}"#).contains("duplicate"));
        assert!(text("<html>").contains("expected value"));
        assert!(text(&" ".repeat(MOST + 1)).contains("64 KiB"));
        assert!(read(json!([])).is_err());
    }

    #[test]
    fn bits_are_counted_without_leading_zeros() {
        assert_eq!(bits(&[]), 0);
        assert_eq!(bits(&[0, 0]), 0);
        assert_eq!(bits(&[0, 1]), 1);
        assert_eq!(bits(&[0x80, 0]), 16);
    }
}
