//! Parses the claims of a token strictly, and mints tokens with the development key.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::ids::UserId;
use kernel::principal::fit_subject;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The claims that are looked at. Each is there once and of its kind, or the token is refused.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub iss: String,
    pub sub: String,
    /// A user's id may stand in a claim of another name.
    pub user: Option<UserId>,
    /// The words of the scope claim, known or not.
    pub scopes: Vec<String>,
    pub exp: u64,
    pub iat: u64,
    /// From when it is good, where it says so (optional, RFC 7519, section 4.1.5).
    pub nbf: Option<u64>,
}

/// Seconds above this are no time; JSON's integers are exact below it.
const LATEST: u64 = 1 << 53;

/// A claim's value, as far as it matters.
#[derive(Debug, Clone)]
pub(super) enum Claim {
    Text(String),
    Whole(u64),
    /// A list of texts alone.
    Texts(Vec<String>),
    Other,
}

/// Reads a claim's inside too, so that the parser's limit of nesting holds.
struct ClaimVisitor;

impl<'de> Visitor<'de> for ClaimVisitor {
    type Value = Claim;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a claim")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Claim, E> {
        Ok(Claim::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, whole: u64) -> Result<Claim, E> {
        Ok(Claim::Whole(whole))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Claim, E> {
        Ok(Claim::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Claim, E> {
        Ok(Claim::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Claim, E> {
        Ok(Claim::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Claim, E> {
        Ok(Claim::Other)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut all: A) -> Result<Claim, A::Error> {
        let mut texts = Some(Vec::new());
        while let Some(one) = all.next_element::<Claim>()? {
            match (one, &mut texts) {
                (Claim::Text(text), Some(texts)) => texts.push(text),
                (Claim::Text(_) | Claim::Whole(_) | Claim::Texts(_) | Claim::Other, _) => {
                    texts = None
                }
            }
        }
        Ok(texts.map_or(Claim::Other, Claim::Texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Claim, A::Error> {
        while all.next_entry::<IgnoredAny, Claim>()?.is_some() {}
        Ok(Claim::Other)
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ClaimVisitor)
    }
}

/// All claims by name; a name that comes twice is an error, which serde's own maps do not see.
#[derive(Debug)]
pub(super) struct UniqueClaims(BTreeMap<String, Claim>);

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = UniqueClaims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<UniqueClaims, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, claim)) = from.next_entry::<String, Claim>()? {
            if all.insert(name, claim).is_some() {
                return Err(A::Error::custom("a claim comes twice"));
            }
        }
        Ok(UniqueClaims(all))
    }
}

impl<'de> Deserialize<'de> for UniqueClaims {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(OnceVisitor)
    }
}

impl Claims {
    /// The claims by their kinds. The audience was matched by the library.
    pub(super) fn read(
        UniqueClaims(mut all): UniqueClaims,
        user_claim: &str,
        scope_claim: &str,
    ) -> Result<Self, &'static str> {
        let user = all.get(user_claim).and_then(user);
        let scopes = all.get(scope_claim).map_or(Ok(Vec::new()), scopes)?;
        let mut text = |name: &str| match all.remove(name) {
            Some(Claim::Text(text)) => Some(text),
            Some(Claim::Whole(_) | Claim::Texts(_) | Claim::Other) | None => None,
        };
        let iss = text("iss").ok_or("iss is missing or no text")?;
        let sub = text("sub").ok_or("sub is missing or no text")?;
        fit_subject(&sub)?;
        let has_nbf = all.contains_key("nbf");
        let mut time = |name: &str| match all.remove(name) {
            Some(Claim::Whole(seconds)) if seconds <= LATEST => Some(seconds),
            Some(Claim::Whole(_) | Claim::Text(_) | Claim::Texts(_) | Claim::Other) | None => None,
        };
        let exp = time("exp").ok_or("exp is missing or no time")?;
        let iat = time("iat").ok_or("iat is missing or no time")?;
        let nbf = has_nbf.then(|| time("nbf").ok_or("nbf is no time")).transpose()?;
        Ok(Self { iss, sub, user, scopes, exp, iat, nbf })
    }
}

/// The words of a scope claim: a text with spaces between them (RFC 8693, section 4.2), or a list.
fn scopes(claim: &Claim) -> Result<Vec<String>, &'static str> {
    match claim {
        Claim::Text(text) => Ok(text.split_ascii_whitespace().map(str::to_owned).collect()),
        Claim::Texts(texts) => Ok(texts.clone()),
        Claim::Whole(_) | Claim::Other => Err("the scope claim is no text and no list of texts"),
    }
}

/// A user's id: a decimal integer above 0 and below 2^63, without leading zeros.
fn user(claim: &Claim) -> Option<UserId> {
    let id = match claim {
        Claim::Text(text) if text.starts_with(|c: char| ('1'..='9').contains(&c)) => {
            text.parse().ok()?
        }
        Claim::Whole(id) => *id,
        Claim::Text(_) | Claim::Texts(_) | Claim::Other => return None,
    };
    Some(UserId(id)).filter(|user| user.is_valid())
}

/// The claims of a minted token.
#[derive(Debug, Clone, Serialize)]
pub struct Minted {
    /// The issuer, as `auth.issuer` names it.
    pub iss: String,
    /// The audience, as `auth.audience` names it.
    pub aud: String,
    /// The caller: of a user its number, of an operator a name.
    pub sub: String,
    /// What is allowed, space-separated.
    pub scope: String,
    /// The time of issue, in seconds since 1970.
    pub iat: u64,
    /// From when it is good, in seconds since 1970.
    pub nbf: u64,
    /// Until when it is good, in seconds since 1970.
    pub exp: u64,
}

impl Minted {
    /// The signed token.
    ///
    /// # Errors
    /// The library cannot sign: nothing that the caller could mend.
    pub fn sign(&self, typ: &str, key: &[u8]) -> Result<String, jsonwebtoken::errors::Error> {
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(typ.to_owned());
        jsonwebtoken::encode(&header, self, &EncodingKey::from_secret(key))
    }
}
