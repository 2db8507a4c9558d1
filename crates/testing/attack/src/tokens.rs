//! Who calls: one token per role, made with a secret that is ours, or given.

use crate::Outcome;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// A kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A caller without a token.
    NoToken,
    /// The user whose transfer is asked for.
    User,
    /// A user who may not see that transfer.
    Other,
    /// An operator with `ops:read` only.
    Watcher,
    /// An operator with `ops:act` only.
    Actor,
    /// An operator with `ops:approve` only.
    Approver,
    /// A service that acts for any user.
    Service,
}

impl Role {
    /// All of them, with their names in a file of tokens, subjects and scopes.
    pub const ALL: [(Self, &'static str, &'static str, &'static str); 7] = [
        (Self::NoToken, "none", "", ""),
        (Self::User, "user", "4001", "transfers:create transfers:read"),
        (Self::Other, "other", "4002", "transfers:create transfers:read"),
        (Self::Watcher, "read", "watcher", "ops:read"),
        (Self::Actor, "act", "actor", "ops:act"),
        (Self::Approver, "approve", "approver", "ops:approve"),
        (Self::Service, "any", "service", "transfers:any transfers:create transfers:read"),
    ];

    fn row(self) -> (&'static str, &'static str, &'static str) {
        let found = Self::ALL.into_iter().find(|(role, ..)| *role == self);
        found.map_or(("", "", ""), |(_, name, sub, scope)| (name, sub, scope))
    }

    /// Its name in a file of tokens.
    pub fn name(self) -> &'static str {
        self.row().0
    }
}

/// The tokens there are.
#[derive(Debug, Clone)]
pub struct Tokens {
    given: Value,
    secret: Option<String>,
}

impl Tokens {
    /// Made with the server's own development secret.
    pub fn minted(secret: &str) -> Self {
        Self { given: Value::Null, secret: Some(secret.to_owned()) }
    }

    /// `{"user": "<token>", "other": …, "read": …, "act": …, "approve": …, "any": …}`.
    ///
    /// # Errors
    /// It is no such object, or there is none of `user`.
    pub fn read(text: &str) -> Outcome<Self> {
        let given: Value =
            serde_json::from_str(text).map_err(|fault| format!("tokens: {fault}"))?;
        let known = |name: &String| Role::ALL.iter().any(|(_, known, ..)| known == name);
        if let Some(name) = given.as_object().and_then(|all| all.keys().find(|name| !known(name))) {
            return Err(format!("tokens: no role is called `{name}`"));
        }
        let tokens = Self { given, secret: None };
        match tokens.of(Role::User) {
            Some(_) => Ok(tokens),
            None => Err("tokens: `user` is missing".to_owned()),
        }
    }

    /// The token of a role, where there is one.
    pub fn of(&self, role: Role) -> Option<String> {
        if role == Role::NoToken {
            return None;
        }
        let (name, sub, scope) = role.row();
        let given = || self.given.get(name).and_then(Value::as_str).map(str::to_owned);
        let claims = claims(&json!({"sub": sub, "scope": scope}));
        self.sign(&header(&json!({})), &claims).or_else(given)
    }

    /// The user that a token is of.
    pub fn user(&self, role: Role) -> u64 {
        let claims = self.of(role).and_then(|token| decoded(token.split('.').nth(1)?));
        let sub = claims.and_then(|claims| claims.get("sub")?.as_str()?.parse().ok());
        sub.unwrap_or(4001)
    }

    /// Signs what it is given with the server's secret, where that is ours.
    pub fn sign(&self, header: &str, claims: &str) -> Option<String> {
        self.secret.as_deref().map(|secret| signed(header, claims, secret.as_bytes()))
    }
}

/// A token of these two texts.
pub fn signed(header: &str, claims: &str, secret: &[u8]) -> String {
    let message = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.as_bytes()));
    let key = EncodingKey::from_secret(secret);
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256);
    format!("{message}.{}", signature.unwrap_or_default())
}

/// Good header members with some replaced (`null`: left out).
pub fn header(changes: &Value) -> String {
    changed(json!({"alg": "HS256", "typ": "at+jwt"}), changes)
}

/// Good claims with some replaced (`null`: left out).
pub fn claims(changes: &Value) -> String {
    let (now, end) = (now(), now().saturating_add(3000));
    let good = json!({
        "iss": "portage", "aud": "portage", "sub": "4001", "iat": now, "nbf": now, "exp": end,
        "scope": "transfers:create transfers:read",
    });
    changed(good, changes)
}

fn changed(mut good: Value, changes: &Value) -> String {
    if let (Some(good), Some(changes)) = (good.as_object_mut(), changes.as_object()) {
        good.extend(changes.clone());
        good.retain(|_, value| !value.is_null());
    }
    good.to_string()
}

/// The seconds since 1970 by the machine's clock.
#[expect(clippy::disallowed_methods, reason = "a server of its own process has the world's time")]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The bytes as base64url without padding.
pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A part of a token, read.
pub fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Role, Tokens};

    #[test]
    fn a_file_of_tokens_names_roles_only() {
        let tokens = Tokens::read(r#"{"user": "a.b.c"}"#).unwrap();
        assert_eq!(tokens.of(Role::User).as_deref(), Some("a.b.c"));
        assert_eq!(tokens.of(Role::Actor), None);
        assert!(Tokens::read(r#"{"other": "x"}"#).is_err());
        assert!(Tokens::read(r#"{"user": "a", "root": "x"}"#).is_err());
        assert_eq!(Tokens::minted("s").user(Role::Other), 4002);
    }
}
