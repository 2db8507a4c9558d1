//! The check of a token, and a short memory of those that passed.

use super::token::{Claims, Once};
use super::{Caller, Scope};
use crate::config;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a token that passed is not checked again.
const REMEMBERED_MS: Millis = 5_000;
/// How many are remembered.
const MOST: usize = 10_000;
/// Longer ones are not even looked at.
const LONGEST: usize = 8 * 1024;

/// Checks tokens of one key and one algorithm.
pub struct Verifier {
    key: DecodingKey,
    validation: Validation,
    typ: Vec<String>,
    user_claim: String,
    leeway: u64,
    max_lifetime: u64,
    clock: Arc<dyn Clock>,
    passed: Mutex<HashMap<[u8; 32], Passed>>,
}

struct Passed {
    until: Millis,
    caller: Arc<Caller>,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    /// A verifier of HS256 tokens.
    pub fn new(settings: &config::Auth, key: &[u8], clock: Arc<dyn Clock>) -> Self {
        // every default of the library is spelled out: several of them take too much
        let mut validation = Validation::new(Algorithm::HS256);
        validation.algorithms = vec![Algorithm::HS256];
        validation.set_required_spec_claims(&["exp", "nbf", "aud", "iss", "sub"]);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[&settings.audience]);
        validation.leeway = settings.leeway_seconds;
        validation.validate_exp = true;
        validation.validate_nbf = true;
        validation.validate_aud = true;
        Self {
            key: DecodingKey::from_secret(key),
            validation,
            typ: settings.typ.clone(),
            user_claim: settings.user_claim.clone(),
            leeway: settings.leeway_seconds,
            max_lifetime: settings.max_lifetime_seconds,
            clock,
            passed: Mutex::default(),
        }
    }

    /// Who holds this token.
    ///
    /// # Errors
    /// Why it proves nothing: for the log, never for the caller.
    pub fn check(&self, token: &str) -> Result<Arc<Caller>, &'static str> {
        if token.len() > LONGEST {
            return Err("the token is too long");
        }
        let name: [u8; 32] = Sha256::digest(token).into();
        let now = self.clock.now();
        if let Some(passed) = self.passed().get(&name).filter(|passed| now < passed.until) {
            return Ok(Arc::clone(&passed.caller));
        }
        let claims = self.claims(token, now / 1000)?;
        let caller = Arc::new(Caller {
            principal: format!("{}|{}", claims.iss, claims.sub).into(),
            user: claims.user,
            scopes: claims.scope.split_ascii_whitespace().filter_map(Scope::parse).collect(),
        });
        self.remember(name, now, claims.exp, &caller);
        Ok(caller)
    }

    fn claims(&self, token: &str, now: u64) -> Result<Claims, &'static str> {
        self.front(token)?;
        let read = jsonwebtoken::decode::<Once>(token, &self.key, &self.validation);
        let claims = read.map_err(|fault| said(fault.kind()))?.claims;
        let claims = Claims::read(claims, &self.user_claim)?;
        let latest = now.saturating_add(self.leeway);
        if now >= claims.exp.saturating_add(self.leeway) {
            return Err("expired");
        }
        if claims.iat > latest || claims.nbf > latest {
            return Err("not valid yet");
        }
        match claims.exp.checked_sub(claims.iat) {
            Some(lifetime) if lifetime <= self.max_lifetime => Ok(claims),
            Some(_) => Err("it lives too long"),
            None => Err("it expires before it is issued"),
        }
    }

    /// The header, before the library chooses anything by it. A name of a key, an address of one,
    /// an extension: none is known here, so a token that carries any is refused.
    fn front(&self, token: &str) -> Result<(), &'static str> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| "the header is unfit")?;
        if header.alg != Algorithm::HS256 {
            return Err("another algorithm");
        }
        if !header.typ.as_ref().is_some_and(|typ| self.typ.contains(typ)) {
            return Err("another type of token");
        }
        let mut plain = Header::new(Algorithm::HS256);
        plain.typ.clone_from(&header.typ);
        if header == plain { Ok(()) } else { Err("the header says more than it may") }
    }

    fn remember(&self, name: [u8; 32], now: Millis, exp: u64, caller: &Arc<Caller>) {
        let expires = exp.saturating_mul(1000);
        let soon = now.saturating_add(REMEMBERED_MS);
        let until = if soon < expires { soon } else { expires };
        let mut passed = self.passed();
        if passed.len() >= MOST {
            passed.retain(|_, passed| now < passed.until);
            if passed.len() >= MOST {
                passed.clear();
            }
        }
        passed.insert(name, Passed { until, caller: Arc::clone(caller) });
    }

    fn passed(&self) -> MutexGuard<'_, HashMap<[u8; 32], Passed>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The library's reason in a word of bounded kinds.
const fn said(kind: &jsonwebtoken::errors::ErrorKind) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the library's list may grow")]
    match kind {
        ErrorKind::InvalidSignature => "forged",
        ErrorKind::ExpiredSignature => "expired",
        ErrorKind::ImmatureSignature => "not valid yet",
        ErrorKind::InvalidIssuer => "another issuer",
        ErrorKind::InvalidAudience => "another audience",
        ErrorKind::MissingRequiredClaim(_) => "a claim is missing",
        ErrorKind::Json(_) => "the claims are unfit",
        _ => "malformed",
    }
}
