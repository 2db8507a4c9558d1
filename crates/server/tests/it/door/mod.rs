//! The door on the real store, without a network: what is refused, in which order, and how.

mod accounts;
mod admin;
mod audit;
mod backup;
mod batch;
mod bodies;
mod dry_run;
mod endpoints;
mod halts;
mod keys;
mod list;
mod pages;
mod pairs;
mod precedence;
mod rate_limit;
mod references;
mod relay;
mod remote_ledgers;
mod roles;
mod routes;
mod spellings;
mod tokens;

use axum::body::Body;
use axum::http::{Request, header};
use engine::{Engine, Parts};
use kernel::answer::Cause;
use kernel::ids::Serial;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Authority, External, Moved, World};
use serde_json::{Value, json};
use server::auth::token::Minted;
use server::auth::verify::Verifier;
use server::bootstrap::Service;
use server::config::Config;
use server::http::App;
use server::http::middleware::rate_limit::RateLimit;
use server::http::relay::intake::RelayIntake;
use server::metrics::Metrics;
use server::runtime::Tasks;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use tower::ServiceExt;

const KEY: &[u8] = b"the key of these tests: 32 bytes and more";
const CREATE: &str = "/api/v1/internal_transfer";
/// Scopes of an ordinary user.
const USER: &str = "transfers:create transfers:read";

/// A server without a socket.
struct Door {
    service: Service,
    app: Arc<App>,
    router: axum::Router,
    dir: TempDir,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    body: Value,
    headers: axum::http::HeaderMap,
}

impl Reply {
    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// A world that dies of being asked.
struct Dying;

impl World for Dying {
    fn book(&self, _: External, _: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async { panic!("on purpose") })
    }

    fn booked(&self, _: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        Box::pin(async { panic!("on purpose") })
    }
}

impl Door {
    async fn open() -> Self {
        Self::with(false, true).await
    }

    async fn with(dying: bool, open_pages: bool) -> Self {
        Self::built(Config::default(), dying, open_pages).await
    }

    /// A server whose settings differ from the defaults in this.
    async fn set(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        Self::built(config, false, true).await
    }

    /// With these settings, and something done to the store before the engine starts.
    async fn prepared(change: impl FnOnce(&mut Config), store: impl FnOnce(&Path)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let auth = config.auth.clone();
        let verifier = |clock: &Arc<dyn Clock>| Verifier::new(&auth, KEY, clock.clone());
        Self::made(config, true, verifier, (store, |_: &mut Parts| ())).await
    }

    /// Over other parts than the real ones.
    async fn over(change: impl FnOnce(&mut Parts)) -> Self {
        let config = Config::default();
        let auth = config.auth.clone();
        let verifier = |clock: &Arc<dyn Clock>| Verifier::new(&auth, KEY, clock.clone());
        Self::made(config, true, verifier, (|_: &Path| (), change)).await
    }

    async fn built(config: Config, dying: bool, open_pages: bool) -> Self {
        let auth = config.auth.clone();
        let verifier = |clock: &Arc<dyn Clock>| Verifier::new(&auth, KEY, clock.clone());
        let world = move |parts: &mut Parts| {
            if dying {
                parts.world = Arc::new(Dying);
            }
        };
        Self::made(config, open_pages, verifier, (|_: &Path| (), world)).await
    }

    /// A server whose tokens are checked by that.
    async fn guarded(config: Config, verifier: impl FnOnce(&Arc<dyn Clock>) -> Verifier) -> Self {
        Self::made(config, true, verifier, (|_: &Path| (), |_: &mut Parts| ())).await
    }

    async fn made(
        config: Config,
        open_pages: bool,
        verifier: impl FnOnce(&Arc<dyn Clock>) -> Verifier,
        (prepare, change): (impl FnOnce(&Path), impl FnOnce(&mut Parts)),
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        Self::in_folder(dir, config, (open_pages, verifier), (prepare, change)).await
    }

    /// The same over a folder that may have been used before.
    async fn in_folder(
        dir: TempDir,
        config: Config,
        (open_pages, verifier): (bool, impl FnOnce(&Arc<dyn Clock>) -> Verifier),
        (prepare, change): (impl FnOnce(&Path), impl FnOnce(&mut Parts)),
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        let fatal: server::runtime::Fatal = Arc::new(|what| panic!("{what}"));
        let service = Service::open(dir.path(), &config.ledgers, metrics.clone(), fatal.clone())
            .await
            .expect("a service");
        prepare(&dir.path().join(store::sqlite::FILE));
        let tasks = Tasks::new(fatal);
        tasks.ending();
        let parts = service.parts(&config, metrics.clone(), &tasks).await;
        let mut parts = parts.expect("the parts of an engine");
        change(&mut parts);
        let engine = Engine::start(parts).await.expect("an engine");
        let app = Arc::new(App {
            internal: engine.flows().named("internal").expect("the flow"),
            relay: RelayIntake::of(&config.relay),
            engine,
            verifier: verifier(&service.clock),
            metrics,
            clock: service.clock.clone(),
            kafka: None,
            rng: service.rng.clone(),
            admin_queries: service.store.clone(),
            webhooks: service.webhook_admin(&config),
            rate_limit: RateLimit::new(config.limits.requests_per_second),
            backups: service.backups(&config),
            sealer: service.sealer(&config).await.expect("a sealer"),
            open_pages,
            leaving: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        });
        let router = server::http::router(app.clone());
        Self { service, app, router, dir }
    }

    fn token(&self, sub: &str, scope: &str) -> String {
        let now = self.service.clock.now() / 1000;
        let minted = Minted {
            iss: "portage".to_owned(),
            aud: "portage".to_owned(),
            sub: sub.to_owned(),
            scope: scope.to_owned(),
            iat: now,
            nbf: now,
            exp: now + 600,
        };
        minted.sign("at+jwt", KEY).expect("a token")
    }

    async fn send(&self, request: Request<Body>) -> Reply {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let Ok(response) = self.router.clone().oneshot(request).await;
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let (status, headers) = (parts.status.as_u16(), parts.headers);
        let kind = headers[header::CONTENT_TYPE].to_str().expect("a media type");
        crate::contract::held(method.as_str(), &path, status, kind, &body);
        Reply { status, body, headers }
    }

    /// Posts text as user 4001.
    async fn text(&self, path: &str, text: impl Into<Body>) -> Reply {
        let token = self.token("4001", &format!("{USER} ops:act ops:read"));
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(text.into());
        self.send(request.expect("a request")).await
    }

    async fn post(&self, who: (&str, &str), path: &str, body: Value) -> Reply {
        self.post_with(who, path, &[], body).await
    }

    /// Posts with more headers.
    async fn post_with(
        &self,
        who: (&str, &str),
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Reply {
        let token = self.token(who.0, who.1);
        let mut request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json; charset=utf-8");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    async fn get(&self, who: (&str, &str), path: &str) -> Reply {
        let token = self.token(who.0, who.1);
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// Gives a user money at Funding.
    async fn fund(&self, user: u64, amount: &str) {
        let body = movement(user, amount, &format!("fund-{user}-{amount}"));
        let reply = self.post(("ops", "ops:act"), "/api/v1/ops/deposits", body).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    /// One base unit appears behind the engine's back, and the proof finds it: HALT.
    async fn halt(&self) {
        let db = rusqlite::Connection::open(self.dir.path().join(store::sqlite::FILE));
        let more =
            "UPDATE balances_tb SET available = printf('%039d', CAST(available AS INTEGER) + 1)
                    WHERE user_id = (SELECT min(user_id) FROM balances_tb)";
        let changed = db.expect("the store").execute(more, []).expect("a change");
        assert!(changed > 0, "there is a balance");
        let proof = self.get(("ops", "ops:read"), "/api/v1/ops/conservation?fresh=true").await;
        assert_eq!(proof.body["ok"], json!(false), "{proof:?}");
        assert!(self.app.engine.halted().is_some());
    }

    /// How many transfers the journal holds.
    async fn rows(&self) -> usize {
        let mut snapshot = self.service.store.snapshot().await.expect("a snapshot");
        snapshot.lines(Serial(0), 5000).await.expect("lines").len()
    }
}

fn movement(user: u64, amount: &str, reference: &str) -> Value {
    json!({"user_id": user, "asset": "USDT", "amount": amount, "ref": reference, "reason": "test"})
}

/// A transfer of USDT from Funding to Spot.
fn transfer(amount: &str, cid: &str) -> Value {
    json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": amount, "cid": cid})
}
