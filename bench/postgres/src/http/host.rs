//! A server in a process of its own: ours, or the bare statements behind the same door. It prints its
//! address, and ends with its standard input.

use crate::Outcome;
use crate::bare::Bare;
use crate::load::AMOUNT;
use crate::ours::{self, Ours, Spot};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Json, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use engine::audit::Sealer;
use kernel::audit::seal::SealKey;
use kernel::ports::clock::Clock;
use naive::Wal;
use serde::Deserialize;
use serde_json::{Value, json};
use server::auth::verify::{KeyAge, Verifier};
use server::backup::{BackupService, JournalStore, Source};
use server::config::Config;
use server::config::sources::CliFlags;
use server::http::admin::webhooks::WebhookAdmin;
use server::http::middleware::rate_limit::RateLimit;
use server::http::middleware::refused_creates::RefusedCreates;
use server::http::{self, App};
use server::metrics::Metrics;
use server::runtime::{Fatal, SystemClock, Tasks};
use server::webhooks::fan_out::FanOutContext;
use server::webhooks::target::TargetRules;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// The key that the benchmark's tokens are signed with.
pub(crate) const KEY: [u8; 32] = [7; 32];
/// Number of transfers in flight that the bare lanes share: as in process at level 1024.
const IN_FLIGHT: usize = 1_024;

/// What stands behind the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Host {
    Ours,
    Bare,
    /// The Spot core of a folder, as `portage spot serve` serves it.
    Spot,
}

impl Host {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Bare => "bare",
            Self::Spot => "spot",
        }
    }
}

/// Serves until the standard input ends.
pub(crate) async fn serve(host: Host, url: &str, folder: &Path) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|why| why.to_string())?;
    let address = listener.local_addr().map_err(|why| why.to_string())?;
    let (router, tasks) = match host {
        Host::Ours => ours(url, folder).await?,
        Host::Bare => bare(url, folder).await?,
        Host::Spot => spot(folder).await?,
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut out = std::io::stdout().lock();
        // the benchmark went away
        let _gone = writeln!(out, "{address}").and_then(|()| out.flush());
        let _ended = std::io::stdin().lock().read_to_end(&mut Vec::new());
        let _over = stop.send(());
    });
    let stopped = async { stopped.await.unwrap_or_default() };
    http::listener::serve::serve(listener, router, &tasks, stopped, Duration::from_secs(1)).await;
    tasks.ending();
    Ok(())
}

fn config() -> Outcome<Config> {
    let none = CliFlags { config: None, data_dir: None, listen: None };
    Config::load(&none).map_err(|why| format!("{why:?}"))
}

async fn ours(url: &str, folder: &Path) -> Outcome<(Router, Tasks)> {
    let ours = Ours::open(url, Spot::Inside(folder.join("spot"))).await?;
    let (store, clock) = (ours.store.clone(), ours.clock.clone());
    // nobody asks for seals or backups here
    let sealer =
        Sealer::new(store.clone(), store.clone(), clock.clone(), SealKey::new(&KEY), 3_600_000);
    let journal = JournalStore::Database(store.clone());
    let source = Source { journal, spot: None, dir: folder.to_owned(), clock: clock.clone() };
    let context = FanOutContext {
        outbox: store.clone(),
        journal: store.clone(),
        clock: clock.clone(),
        flows: Arc::new(flows::registry()),
        keep: 0,
        replay_room: 0,
    };
    let rules = TargetRules { allow_private: false, allow_private_http: false, mails: false };
    let app = App {
        kafka: None,
        relay: None,
        ops: config()?.ops,
        require_key: false,
        webhooks: WebhookAdmin { context, rules },
        internal: ours.flow,
        verifier: Verifier::new(&config()?.auth, &KEY, clock.clone()),
        metrics: Arc::new(Metrics::default()),
        clock,
        rng: ours.rng.clone(),
        admin_queries: store,
        rate_limit: RateLimit::new(0),
        refused_creates: Arc::new(RefusedCreates::new(0)),
        sealer: Arc::new(sealer),
        backups: Arc::new(BackupService::new(source, folder.join("backups"))),
        open_pages: true,
        leaving: AtomicBool::new(false),
        draining: AtomicBool::new(false),
        engine: ours.engine.clone(),
    };
    Ok((http::router(Arc::new(app)), ours.tasks.clone()))
}

async fn spot(folder: &Path) -> Outcome<(Router, Tasks)> {
    let fatal: Fatal = Arc::new(|what| panic!("{what}"));
    let core = ours::core(&folder.join("spot"), fatal.clone()).await?;
    let service = server::remote_ledger::LedgerService::new(core, ours::symbols(), ours::TOKEN);
    Ok((server::remote_ledger::router(Arc::new(service)), Tasks::new(fatal)))
}

/// What the peer's routes reach.
struct Peer {
    bare: Bare,
    verifier: Verifier,
    next: AtomicU64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    from: String,
    to: String,
    asset: String,
    amount: String,
    cid: String,
    user_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Many {
    transfers: Vec<One>,
}

async fn bare(url: &str, folder: &Path) -> Outcome<(Router, Tasks)> {
    let wal = Wal::open(&folder.join("bare-http.log"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let peer = Arc::new(Peer {
        bare: Bare::open(url, &wal, IN_FLIGHT).await?,
        verifier: Verifier::new(&config()?.auth, &KEY, clock),
        next: AtomicU64::new(1 << 40),
    });
    let router = Router::new()
        .route("/api/v1/internal_transfer", post(single))
        .route("/api/v1/internal_transfers", post(batch))
        .layer(DefaultBodyLimit::max(1 << 20))
        .with_state(peer);
    Ok((router, Tasks::new(Arc::new(|what| panic!("{what}")))))
}

impl Peer {
    /// The token's user; 0 where it names none.
    async fn checked(&self, headers: &HeaderMap) -> Result<i64, StatusCode> {
        let token = headers.get("authorization").and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer "));
        let token = token.ok_or(StatusCode::UNAUTHORIZED)?;
        let caller = self
            .verifier
            .check(token, KeyAge::Fresh)
            .await
            .map_err(|_| StatusCode::UNAUTHORIZED)?;
        let user = caller.user.and_then(|user| i64::try_from(user.0).ok());
        Ok(user.unwrap_or(0))
    }

    async fn transfer(&self, ask: One, user: i64) -> Result<Value, StatusCode> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let done = self.bare.transfer(n, ask.user_id.unwrap_or(user), AMOUNT).await;
        done.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        let One { from, to, asset, amount, cid, user_id: _ } = ask;
        Ok(json!({
            "transfer_id": n, "req_id": format!("01M7YPNH1T{n:016}"), "from": from, "to": to,
            "asset": asset, "amount": amount, "state": "COMMITTED",
            "message": "Transfer successful", "cid": cid,
            "created_at": "2026-11-21T09:23:15.121Z", "updated_at": "2026-11-21T09:23:15.121Z"
        }))
    }
}

async fn single(
    State(peer): State<Arc<Peer>>,
    headers: HeaderMap,
    Json(body): Json<One>,
) -> Result<Json<Value>, StatusCode> {
    let user = peer.checked(&headers).await?;
    Ok(Json(peer.transfer(body, user).await?))
}

async fn batch(
    State(peer): State<Arc<Peer>>,
    headers: HeaderMap,
    Json(body): Json<Many>,
) -> Result<Json<Value>, StatusCode> {
    let user = peer.checked(&headers).await?;
    let mut tasks = tokio::task::JoinSet::new();
    for (index, ask) in body.transfers.into_iter().enumerate() {
        let peer = peer.clone();
        tasks.spawn(async move { Ok::<_, StatusCode>((index, peer.transfer(ask, user).await?)) });
    }
    let mut results = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (index, mut value) = done.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)??;
        if let Value::Object(fields) = &mut value {
            fields.insert("index".to_owned(), index.into());
            fields.insert("status".to_owned(), 200.into());
            fields.insert("replayed".to_owned(), false.into());
        }
        results.push((index, value));
    }
    results.sort_by_key(|(index, _)| *index);
    let results: Vec<Value> = results.into_iter().map(|(_, value)| value).collect();
    Ok(Json(json!({ "results": results })))
}
