//! Tokens that must be refused, each by its name, over every algorithm: 401 with the one generic
//! sentence, no row, and a line in the security log that does not repeat the token.

mod claims;
mod header;
mod shape;

use super::{CREATE, Door, KEY, Reply, TestSetup, transfer};
use crate::pairs::{ED, ES, Pair, RS, jwk, other, sign};
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use kernel::ports::clock::Clock;
use serde_json::{Value, json};
use server::auth::keys::{Keys, RefreshTimes};
use server::auth::source::Source;
use server::config::{Auth, Config};
use server::runtime::SystemClock;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Debug, Clone, Copy)]
enum Signer {
    Secret(&'static [u8]),
    Pair(Pair),
}

/// One way to make tokens that the verifier takes.
#[derive(Debug, Clone, Copy)]
struct Kind {
    signer: Signer,
    kid: Option<&'static str>,
}

const SECRET: Kind = Kind { signer: Signer::Secret(KEY), kid: None };
const KINDS: [Kind; 3] = [
    Kind { signer: Signer::Pair(ED), kid: Some("a") },
    Kind { signer: Signer::Pair(ES), kid: Some("b") },
    Kind { signer: Signer::Pair(RS), kid: Some("c") },
];

impl Kind {
    const fn alg(self) -> &'static str {
        match self.signer {
            Signer::Secret(_) => "HS256",
            Signer::Pair(pair) => pair.alg,
        }
    }

    /// The third part for this message.
    fn sign(self, message: &str) -> String {
        match self.signer {
            Signer::Secret(key) => hs256(message, key),
            Signer::Pair(pair) => sign(pair, message),
        }
    }

    /// The same with a key that the verifier does not know.
    fn stranger(self) -> Self {
        let signer = match self.signer {
            Signer::Secret(_) => Signer::Secret(b"another key of thirty-two bytes!"),
            Signer::Pair(pair) => Signer::Pair(other(pair)),
        };
        Self { signer, ..self }
    }

    /// A good header with members replaced (`null`: left out).
    fn header(self, changes: &Value) -> String {
        let header = json!({"alg": self.alg(), "typ": "at+jwt", "kid": self.kid});
        changed(header, changes).to_string()
    }

    /// A token of these two texts, signed as they are.
    fn text(self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64url(header), base64url(claims));
        format!("{message}.{}", self.sign(&message))
    }

    /// A good token but for these members of its header.
    fn with_header(self, changes: &Value) -> String {
        self.text(&self.header(changes), &claims(&json!({})))
    }

    /// A good token but for these claims.
    fn with_claims(self, changes: &Value) -> String {
        self.text(&self.header(&json!({})), &claims(changes))
    }
}

fn hs256(message: &str, key: &[u8]) -> String {
    let key = EncodingKey::from_secret(key);
    jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).expect("a signature")
}

fn base64url(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

fn now() -> u64 {
    SystemClock::default().now() / 1000
}

/// Good claims with some replaced (`null`: left out).
fn claims(changes: &Value) -> String {
    let now = now();
    let good = json!({
        "iss": "portage", "aud": "portage", "sub": "4001",
        "scope": "transfers:create transfers:read", "iat": now, "nbf": now, "exp": now + 600,
    });
    changed(good, changes).to_string()
}

fn changed(mut good: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().expect("changes") {
        good[name] = value.clone();
    }
    good.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    good
}

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Takes what was logged since the last time.
    fn taken(&self) -> String {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *text)).into_owned()
    }
}

/// A door, what it takes, and what it logs.
struct TokenFixture {
    door: Door,
    kinds: Vec<Kind>,
    log: Log,
    _logging: tracing::subscriber::DefaultGuard,
}

impl TokenFixture {
    /// Both doors: that of a set of keys, and that of a secret for development.
    async fn each(test: impl AsyncFn(&Self)) {
        test(&Self::keyed(Auth::default()).await).await;
        test(&Self::open(vec![SECRET], Door::open().await)).await;
    }

    async fn keyed(settings: Auth) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.json");
        let set = json!({"keys": [jwk(ED, "a"), jwk(ES, "b"), jwk(RS, "c")]});
        std::fs::write(&file, set.to_string()).expect("a file");
        let clock = Arc::new(SystemClock::default());
        let keys = Keys::open(Source::File(file), RefreshTimes::FILE, clock).await.expect("keys");
        let config = Config { auth: settings, ..Config::default() };
        let setup = TestSetup { config, keys: Some(Arc::new(keys)), ..TestSetup::default() };
        Self::open(KINDS.to_vec(), Door::with(setup).await)
    }

    fn open(kinds: Vec<Kind>, door: Door) -> Self {
        let log = Log::default();
        let lines = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(log.clone());
        let logging = tracing::subscriber::set_default(lines.finish());
        Self { door, kinds, log, _logging: logging }
    }

    /// Asks for a transfer with these headers.
    async fn ask(&self, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::post(CREATE).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Body::from(transfer("1", "k").to_string());
        self.door.send(request.body(body).expect("a request")).await
    }

    /// The positive half: without it a verifier that refuses all would pass.
    async fn takes(&self, token: &str) {
        let bearer = format!("Bearer {token}");
        let request = Request::get("/api/v1/balances").header(AUTHORIZATION, &bearer);
        let reply = self.door.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(reply.status, 200, "{token}: {reply:?}");
    }

    async fn refuses(&self, token: &str) {
        self.refuses_headers(&[("authorization", &format!("Bearer {token}"))], token).await;
    }

    async fn refuses_headers(&self, headers: &[(&str, &str)], token: &str) {
        self.log.taken();
        let reply = self.ask(headers).await;
        assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"), "{token:.400}: {reply:?}");
        assert_eq!(reply.body["error"], "A valid token is required: `Authorization: Bearer …`");
        assert_eq!(self.door.rows().await, 0, "{token:.400}");
        let log = self.log.taken();
        let told = log.lines().any(|line| line.contains(" security: token refused"));
        assert!(told, "a line in the security log: {log}");
        let secret = token.rsplit('.').next().unwrap_or_default();
        assert!(secret.len() < 8 || !log.contains(secret), "no token in the log: {log}");
    }
}
