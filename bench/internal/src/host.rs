//! A server in a process of its own: ours, or the peer behind the same door.
//!
//! It prints its address, answers each line on its standard input with its counter of syncs, and
//! ends with the input.

use crate::bare::Bare;
use crate::ours;
use crate::probe::Syncs;
use axum::Router;
use axum::extract::{Json, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use engine::audit::Sealer;
use kernel::audit::seal::SealKey;
use kernel::ports::clock::Clock;
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
use server::runtime::{SystemClock, Tasks};
use server::webhooks::fan_out::FanOutContext;
use server::webhooks::target::TargetRules;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// The key that the benchmark's tokens are signed with.
pub(crate) const KEY: [u8; 32] = [7; 32];

/// Whose store stands behind the door.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Whose {
    Portage,
    Sqlite,
}

impl Whose {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Portage => "portage",
            Self::Sqlite => "sqlite",
        }
    }
}

/// Serves until the standard input ends.
pub(crate) async fn serve(whose: Whose, dir: &Path) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let begun = crate::probe::now();
    let (router, syncs, tasks) = match whose {
        Whose::Portage => portage(dir).await?,
        Whose::Sqlite => sqlite(dir)?,
    };
    let ready = crate::probe::now().duration_since(begun).as_millis();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        tell(&format!("{address} {ready}"));
        for _ in std::io::stdin().lock().lines() {
            tell(&syncs.so_far().to_string());
        }
        let _gone = stop.send(());
    });
    let stopped = async { stopped.await.unwrap_or_default() };
    http::listener::serve::serve(listener, router, &tasks, stopped, Duration::from_secs(1)).await;
    tasks.ending();
    Ok(())
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // the benchmark went away
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn config() -> Result<Config, String> {
    Config::load(&CliFlags { config: None, data_dir: None, listen: None })
        .map_err(|e| format!("{e:?}"))
}

async fn portage(dir: &Path) -> Result<(Router, Arc<Syncs>, Tasks), String> {
    let ours = ours::start(dir).await?;
    // nobody asks it here
    let (audit, journal) = (ours.store.clone(), ours.store.clone());
    let sealer = Sealer::new(audit, journal, ours.clock.clone(), SealKey::new(&KEY), 3_600_000);
    let (store, clock) = (ours.store.clone(), ours.clock.clone());
    let source =
        Source { journal: JournalStore::Folder(store), spot: None, dir: dir.to_owned(), clock };
    let context = FanOutContext {
        outbox: ours.store.clone(),
        journal: ours.store.clone(),
        clock: ours.clock.clone(),
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
        internal: ours.engine.flows().named("internal").ok_or("no internal flow")?,
        verifier: Verifier::new(&config()?.auth, &KEY, ours.clock.clone()),
        metrics: Arc::new(Metrics::default()),
        clock: ours.clock.clone(),
        rng: ours.rng.clone(),
        admin_queries: ours.store.clone(),
        rate_limit: RateLimit::new(0),
        refused_creates: Arc::new(RefusedCreates::new(0)),
        sealer: Arc::new(sealer),
        backups: Arc::new(BackupService::new(source, dir.join("backups"))),
        open_pages: true,
        leaving: AtomicBool::new(false),
        draining: AtomicBool::new(false),
        engine: ours.engine,
    };
    Ok((http::router(Arc::new(app)), ours.syncs, ours.tasks))
}

/// What the peer's one route reaches.
struct Peer {
    bare: Bare,
    verifier: Verifier,
    next: AtomicU64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    from: String,
    to: String,
    asset: String,
    amount: String,
    cid: String,
}

fn sqlite(dir: &Path) -> Result<(Router, Arc<Syncs>, Tasks), String> {
    let syncs = Arc::new(Syncs::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let peer = Arc::new(Peer {
        bare: Bare::open(dir, syncs.clone())?,
        verifier: Verifier::new(&config()?.auth, &KEY, clock),
        next: AtomicU64::new(0),
    });
    let router = Router::new()
        .route("/api/v1/internal_transfer", post(transfer))
        .layer(axum::extract::DefaultBodyLimit::max(16_384))
        .with_state(peer);
    Ok((router, syncs, Tasks::new(ours::fatal())))
}

async fn transfer(
    State(peer): State<Arc<Peer>>,
    headers: HeaderMap,
    Json(body): Json<Body>,
) -> Result<Json<Value>, StatusCode> {
    let token =
        headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let token = token.ok_or(StatusCode::UNAUTHORIZED)?;
    peer.verifier.check(token, KeyAge::Fresh).await.map_err(|_| StatusCode::UNAUTHORIZED)?;
    let n = peer.next.fetch_add(1, Ordering::Relaxed);
    let Body { from, to, asset, amount, cid } = body;
    peer.bare.transfer(n).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(Json(json!({
        "transfer_id": n, "req_id": format!("01M7YPNH1T{n:016}"), "from": from, "to": to,
        "asset": asset, "amount": amount, "state": "COMMITTED", "message": "Transfer successful",
        "cid": cid, "created_at": "2026-11-21T09:23:15.121Z", "updated_at": "2026-11-21T09:23:15.121Z"
    })))
}
