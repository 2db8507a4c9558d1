//! Requests as an attacker sends them: any header, any body.

use super::Rig;
use super::http::{Reply, replied};
use super::life::KEY;
use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use server::auth::token::Minted;
use tower::ServiceExt;

/// Who stands at the door, and with what in hand.
#[derive(Debug, Clone)]
pub(crate) enum Knock {
    /// No header at all.
    Nobody,
    /// This header.
    Header(String),
    /// A token for this user: so many seconds past its end, signed with this key.
    Token { user: u64, late: u64, key: &'static [u8], alter: Option<Alter> },
}

/// What is done to a token after it was signed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Alter {
    /// The signature is taken off.
    Unsigned,
    /// Another subject under the old signature.
    Subject,
}

impl Knock {
    pub(crate) const fn nobody() -> Self {
        Self::Nobody
    }

    pub(crate) fn header(text: &str) -> Self {
        Self::Header(text.to_owned())
    }

    pub(crate) const fn user(user: u64) -> Self {
        Self::Token { user, late: 0, key: KEY, alter: None }
    }

    pub(crate) const fn expired(user: u64, late: u64) -> Self {
        Self::Token { user, late, key: KEY, alter: None }
    }

    pub(crate) const fn forged(user: u64) -> Self {
        let key = b"somebody else's key, of 32 bytes and more";
        Self::Token { user, late: 0, key, alter: None }
    }

    pub(crate) const fn unsigned(user: u64) -> Self {
        Self::Token { user, late: 0, key: KEY, alter: Some(Alter::Unsigned) }
    }

    pub(crate) const fn altered(user: u64) -> Self {
        Self::Token { user, late: 0, key: KEY, alter: Some(Alter::Subject) }
    }

    fn authorization(&self, now_ms: u64) -> Option<String> {
        let (user, late, key, alter) = match self {
            Self::Nobody => return None,
            Self::Header(text) => return Some(text.clone()),
            Self::Token { user, late, key, alter } => (*user, *late, *key, *alter),
        };
        let token = signed(user, late, key, now_ms);
        let parts: Vec<&str> = token.split('.').collect();
        let [head, claims, signature] = parts[..] else { panic!("three parts in {token}") };
        Some(match alter {
            None => format!("Bearer {token}"),
            Some(Alter::Unsigned) => format!("Bearer {head}.{claims}."),
            Some(Alter::Subject) => {
                let other = signed(user + 1, late, key, now_ms);
                let claims = other.split('.').nth(1).unwrap_or_default();
                format!("Bearer {head}.{claims}.{signature}")
            }
        })
    }
}

fn signed(user: u64, late: u64, key: &[u8], now_ms: u64) -> String {
    let exp = if late == 0 { now_ms / 1_000 + 600 } else { now_ms / 1_000 - late };
    let minted = Minted {
        iss: "portage".to_owned(),
        aud: "portage".to_owned(),
        sub: user.to_string(),
        scope: "transfers:create".to_owned(),
        iat: exp - 600,
        nbf: exp - 600,
        exp,
    };
    minted.sign("at+jwt", key).expect("a token can be signed")
}

impl Rig {
    /// Asks for a transfer with whatever is in hand.
    pub(crate) fn knock(&self, knock: &Knock, body: &Value) -> Reply {
        self.knock_raw(knock, body.to_string())
    }

    /// The same with a body that need not be JSON.
    pub(crate) fn knock_raw(&self, knock: &Knock, body: String) -> Reply {
        let life = self.life();
        let mut request =
            Request::post("/api/v1/internal_transfer").header("content-type", "application/json");
        if let Some(text) = knock.authorization(life.app.clock.now()) {
            request = request.header("authorization", text);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let router = life.router.clone();
        life.run(async move {
            let Ok(response) = router.oneshot(request).await;
            replied(response).await
        })
    }
}
