//! Verifies the token of each request for the HTTP API, and caches valid tokens for a few seconds.

use super::keys::{Current, Keys};
use super::token::{Claims, UniqueClaims};
use super::{Caller, Scope};
use crate::{config, json};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Header, Validation};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time for which a valid token stays in the cache.
const REMEMBERED_MS: Millis = 5_000;
/// The most tokens in the cache.
const MOST: usize = 10_000;
/// A longer token is refused unread.
const LONGEST: usize = 8 * 1024;

/// The validation rules of a token, for each algorithm.
type TokenRules = [(Algorithm, Validation); 4];

/// Checks tokens against the keys that count now.
pub struct Verifier {
    keys: Arc<Keys>,
    rules: TokenRules,
    typ: Vec<String>,
    user_claim: String,
    scope_claim: String,
    leeway: u64,
    max_lifetime: u64,
    clock: Arc<dyn Clock>,
    passed: Mutex<HashMap<[u8; 32], CheckedToken>>,
}

struct CheckedToken {
    until: Millis,
    /// The generation of keys that it was checked with; newer keys check it again.
    generation: u64,
    caller: Arc<Caller>,
}

/// Which keys may check a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAge {
    /// Those that were read within `auth.jwks_max_stale_seconds`.
    Fresh,
    /// The last good set, however old it is: for what moves no money and changes nothing but HALT.
    Any,
}

/// The reason why a token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The token is invalid: the reason is for the log and never for the caller.
    #[error("{0}")]
    Because(&'static str),
    /// Nothing can be said of it: the keys were not read again for too long.
    #[error("the set of keys is older than auth.jwks_max_stale_seconds")]
    Stale,
}

/// The reason why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRefusal {
    /// The token is invalid for good: the reason, for the log.
    Because(&'static str),
    /// The keys are too old to say.
    Stale,
    /// It names a key that this generation of keys does not have.
    UnknownKey(u64),
}

impl From<&'static str> for TokenRefusal {
    fn from(why: &'static str) -> Self {
        Self::Because(why)
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    /// A verifier of HS256 tokens, for development.
    pub fn new(settings: &config::Auth, key: &[u8], clock: Arc<dyn Clock>) -> Self {
        Self::over(settings, Arc::new(Keys::secret(key, Arc::clone(&clock))), clock)
    }

    /// A verifier of tokens of these keys.
    pub fn over(settings: &config::Auth, keys: Arc<Keys>, clock: Arc<dyn Clock>) -> Self {
        let algorithms = [Algorithm::EdDSA, Algorithm::ES256, Algorithm::RS256, Algorithm::HS256];
        Self {
            keys,
            rules: algorithms.map(|alg| (alg, validation(settings, alg))),
            typ: settings.typ.clone(),
            user_claim: settings.user_claim.clone(),
            scope_claim: settings.scope_claim.clone(),
            leeway: settings.leeway_seconds,
            max_lifetime: settings.max_lifetime_seconds,
            clock,
            passed: Mutex::default(),
        }
    }

    /// Who holds this token, by keys of this age. A key that is not known yet is looked for once.
    ///
    /// # Errors
    /// [`Denied`].
    pub async fn check(&self, token: &str, age: KeyAge) -> Result<Arc<Caller>, Denied> {
        let generation = match self.check_with_keys(token, age) {
            Ok(caller) => return Ok(caller),
            Err(TokenRefusal::Because(why)) => return Err(Denied::Because(why)),
            Err(TokenRefusal::Stale) => return Err(Denied::Stale),
            Err(TokenRefusal::UnknownKey(generation)) => generation,
        };
        self.keys.unknown(generation).await;
        self.check_with_keys(token, age).map_err(|no| match no {
            TokenRefusal::Because(why) => Denied::Because(why),
            TokenRefusal::Stale => Denied::Stale,
            // a set that was read since may have it
            TokenRefusal::UnknownKey(_) if self.keys.stale() => Denied::Stale,
            TokenRefusal::UnknownKey(_) => Denied::Because("an unknown key"),
        })
    }

    /// The keys that it checks with.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// As [`Verifier::check`], with the keys as they are.
    pub(super) fn check_with_keys(
        &self,
        token: &str,
        age: KeyAge,
    ) -> Result<Arc<Caller>, TokenRefusal> {
        if token.len() > LONGEST {
            return Err(TokenRefusal::Because("the token is too long"));
        }
        if age == KeyAge::Fresh && self.keys.stale() {
            // what is no token at all is told so, and remembered ones count no more either
            self.front(token)?;
            return Err(TokenRefusal::Stale);
        }
        let name: [u8; 32] = Sha256::digest(token).into();
        let now = self.clock.now();
        let keys = self.keys.current();
        let fresh =
            |passed: &&CheckedToken| now < passed.until && passed.generation == keys.generation;
        if let Some(passed) = self.passed().get(&name).filter(fresh) {
            return Ok(Arc::clone(&passed.caller));
        }
        let claims = self.claims(token, now / 1000, &keys)?;
        let caller = Arc::new(Caller {
            principal: format!("{}|{}", claims.iss, claims.sub).into(),
            user: claims.user,
            scopes: claims.scopes.iter().filter_map(|word| Scope::parse(word)).collect(),
        });
        let (soon, expires) = (now.saturating_add(REMEMBERED_MS), claims.exp.saturating_mul(1000));
        let until = if soon < expires { soon } else { expires };
        let passed =
            CheckedToken { until, generation: keys.generation, caller: Arc::clone(&caller) };
        self.remember(name, now, passed);
        Ok(caller)
    }

    fn claims(&self, token: &str, now: u64, keys: &Current) -> Result<Claims, TokenRefusal> {
        let header = self.front(token)?;
        let found = keys.set.find(header.kid.as_deref());
        let key = found.ok_or(TokenRefusal::UnknownKey(keys.generation))?;
        let rules = self.rules.iter().find(|(alg, _)| *alg == key.alg && *alg == header.alg);
        let (_, rules) = rules.ok_or("another algorithm")?;
        let read = jsonwebtoken::decode::<UniqueClaims>(token, &key.key, rules);
        let claims = read.map_err(|fault| kind_name(fault.kind()))?.claims;
        plain(token)?;
        let claims = Claims::read(claims, &self.user_claim, &self.scope_claim)?;
        let latest = now.saturating_add(self.leeway);
        if now >= claims.exp.saturating_add(self.leeway) {
            return Err(TokenRefusal::Because("expired"));
        }
        if claims.iat > latest || claims.nbf.is_some_and(|nbf| nbf > latest) {
            return Err(TokenRefusal::Because("not valid yet"));
        }
        match claims.exp.checked_sub(claims.iat) {
            Some(lifetime) if lifetime <= self.max_lifetime => Ok(claims),
            Some(_) => Err(TokenRefusal::Because("it lives too long")),
            None => Err(TokenRefusal::Because("it expires before it is issued")),
        }
    }

    /// The header, before anything is chosen by it: an algorithm, a type, the name of a key. A token that brings a
    /// key, the address of one, or an extension that has to be understood is refused; other members say nothing.
    fn front(&self, token: &str) -> Result<Header, &'static str> {
        let header =
            jsonwebtoken::decode_header(token).map_err(|_| "the token's header cannot be read")?;
        if !self.rules.iter().any(|(alg, _)| *alg == header.alg) {
            return Err("another algorithm");
        }
        // a media type, without regard to case, and without its `application/` (RFC 7515, section 4.1.9)
        let typ = header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        let typ = typ.strip_prefix("application/").unwrap_or(&typ);
        if !self.typ.iter().any(|known| known.eq_ignore_ascii_case(typ)) {
            return Err("another type of token (typ)");
        }
        let refused = [
            (header.jku.is_some(), "the header has jku"),
            (header.jwk.is_some(), "the header has jwk"),
            (header.x5u.is_some(), "the header has x5u"),
            (header.x5c.is_some(), "the header has x5c"),
            (header.crit.is_some(), "the header has crit"),
            (header.enc.is_some(), "the header has enc"),
            (header.zip.is_some(), "the header has zip"),
            (header.extras.get::<IgnoredAny>("b64") != Ok(None), "the header has b64"),
        ];
        match refused.into_iter().find(|(there, _)| *there) {
            Some((_, why)) => Err(why),
            None => Ok(header),
        }
    }

    fn remember(&self, name: [u8; 32], now: Millis, new: CheckedToken) {
        let mut passed = self.passed();
        if passed.len() >= MOST {
            passed.retain(|_, passed| now < passed.until && passed.generation == new.generation);
            if passed.len() >= MOST {
                passed.clear();
            }
        }
        passed.insert(name, new);
    }

    fn passed(&self) -> MutexGuard<'_, HashMap<[u8; 32], CheckedToken>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claims of a token that was signed, as JSON from outside: also below the first level no name
/// stands twice.
fn plain(token: &str) -> Result<(), &'static str> {
    let claims = token.split('.').nth(1).unwrap_or_default();
    let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| "malformed")?;
    json::plain(&claims).map_err(|_| "the claims are unfit")
}

/// Every default of the library is spelled out: several of them take too much.
fn validation(settings: &config::Auth, alg: Algorithm) -> Validation {
    let mut validation = Validation::new(alg);
    validation.algorithms = vec![alg];
    validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
    validation.set_issuer(&[&settings.issuer]);
    validation.set_audience(&[&settings.audience]);
    validation.leeway = settings.leeway_seconds;
    validation.validate_exp = true;
    validation.validate_nbf = true;
    validation.validate_aud = true;
    validation
}

/// The library's reason in a word of bounded kinds.
fn kind_name(kind: &jsonwebtoken::errors::ErrorKind) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the library's list may grow")]
    match kind {
        ErrorKind::InvalidSignature => "forged",
        ErrorKind::ExpiredSignature => "expired",
        ErrorKind::ImmatureSignature => "not valid yet",
        ErrorKind::InvalidIssuer => "another issuer (iss)",
        ErrorKind::InvalidAudience => "another audience (aud)",
        ErrorKind::MissingRequiredClaim(name) => match name.as_str() {
            "exp" => "exp is missing",
            "aud" => "aud is missing",
            "iss" => "iss is missing",
            _ => "sub is missing",
        },
        ErrorKind::Json(_) => "the claims are unfit",
        _ => "malformed",
    }
}
