//! `portage serve`: opens the store, starts the engine and the HTTP API, and runs until a signal ends it.

use super::exit::{Exit, Fault, fatal};
use super::{Global, listen_address, output};
use crate::auth::keys::{Keys, RefreshTimes};
use crate::auth::source::Source;
use crate::auth::{key, verify::Verifier};
use crate::bootstrap::{AppContext, Service};
use crate::config::sources::{self, CliFlags, LoadedConfig, Origin};
use crate::config::{Auth, Config};
use crate::http::listener::serve::{self, Listener};
use crate::http::listener::tls::Tls;
use crate::http::{self, App};
use crate::metrics::Metrics;
use crate::runtime::Tasks;
use crate::shutdown::Signals;
use crate::webhooks::WEBHOOKS;
use crate::webhooks::dispatch::WEBHOOK_POSTS;
use crate::webhooks::fan_out::{FanOut, WEBHOOK_EVENTS};
use crate::{outbound_http, telemetry};
use engine::Engine;
use engine::audit::Sealer;
use engine::tasks::Background;
use kernel::ids::{ChainId, Millis};
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use kernel::ports::spawn::{OnEnd, Spawn, Task};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;

/// Run the server until it gets a signal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage serve --data-dir ./portage-data --listen 127.0.0.1:3000\n\n\
    SIGINT or SIGTERM drains and stops; a second one ends at once.\n\
    --no-workers opens transfers and leaves them to `portage work`: it needs database.url, and a Spot\n\
    that is served by itself.")]
pub(super) struct ServeArgs {
    /// Carry no transfer here; the same as `engine.workers = false`.
    #[arg(long)]
    no_workers: bool,
    /// Address and port, over `server.listen`; port 0 takes a free one. A port alone is on this machine only.
    #[arg(long, value_name = "ADDR", visible_alias = "port", value_parser = listen_address)]
    listen: Option<SocketAddr>,
}

/// How long connections may finish what they are answering.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// How long open transfers may reach their end before they are left to the next start.
const DRAIN_MS: u64 = 5_000;
/// The threads of the runtime: the engine and the HTTP API share few cores.
const WORKERS: usize = 2;

/// Without it a new certificate would lie unused until the old one has expired.
pub(super) const CERTIFICATE: Task = Task { name: "certificate", on_end: OnEnd::EndsProcess };
/// Without it a key that was taken back would count for ever.
const KEYS: Task = Task { name: "keys", on_end: OnEnd::EndsProcess };

pub(super) fn run(global: &Global, args: &ServeArgs) -> Result<(), Fault> {
    let mut settings = loaded(global, args.listen)?;
    let engine = &mut settings.config.engine;
    engine.workers = engine.workers && !args.no_workers;
    shared(&settings.config, settings.config.engine.workers)?;
    to_its_end(serve(&settings.config)).map_err(|fault| placed(&settings, fault))
}

/// The settings, with the log begun as they say.
pub(super) fn loaded(global: &Global, listen: Option<SocketAddr>) -> Result<LoadedConfig, Fault> {
    let (config, data_dir) = (global.config.clone(), global.data_dir.clone());
    let flags = CliFlags { config, data_dir, listen };
    let settings = sources::load_here(&flags)?;
    telemetry::start(&settings.config.log)?;
    for sentence in &settings.idle {
        tracing::warn!("{sentence}");
    }
    Ok(settings)
}

/// A limit, or an asset of a ledger, that the store refused, with the place of its setting.
pub(super) fn placed(settings: &LoadedConfig, fault: Fault) -> Fault {
    let classes = ["BAD_LIMIT: ", "NO_ASSET: "];
    let refused = classes.into_iter().find_map(|class| fault.sentence.split_once(class));
    let Some((_, refused)) = refused else { return fault };
    let key = refused.split_once(": ").map_or(refused, |(key, _)| key);
    match settings.origin(key) {
        Origin::Default => fault,
        origin @ (Origin::File(..) | Origin::Variable(_) | Origin::Flag(_)) => {
            Fault::new(fault.exit, format!("{origin}: {refused}"))
        }
    }
}

/// Who shares transfers with other processes shares a database with them, and a Spot that is in
/// none of them.
///
/// # Errors
/// 78: no other process could carry what is opened here.
pub(super) fn shared(config: &Config, alone: bool) -> Result<(), Fault> {
    if alone || (config.database.is_set() && !config.ledgers.has_own_spot()) {
        return Ok(());
    }
    let what = "workers in other processes need database.url, and ledgers.spot.kind = \"remote\" with \
                a `portage spot serve`: else no process carries what is opened here";
    Err(Fault::new(Exit::Config, what))
}

/// Runs it on a runtime of its own.
pub(super) fn to_its_end(work: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

async fn serve(config: &Config) -> Result<(), Fault> {
    let signals = Signals::take()?;
    let tls = config.server.tls.is_set().then(|| Tls::open(&config.server.tls)).transpose()?;
    let tls = tls.map(Arc::new);
    let listener = bound(config.server.listen).await?;
    let address = listener.local_addr()?;
    let metrics = Arc::new(Metrics::default());
    let meter: Arc<dyn Meter> = metrics.clone();
    let service = Service::of(config, Arc::clone(&meter), fatal(Exit::Io)).await?;
    let config = &service.with_token_asset(config, &meter).await?;
    let keys = keys(config, &service.clock).await?;
    if config.ops.default_deposit_limit == 0 {
        tracing::warn!(
            "ops.default_deposit_limit is 0: of an asset without a limit of its own one operator alone deposits and \
             withdraws any amount by hand"
        );
    }
    if config.relay.is_unbounded() {
        tracing::warn!(
            "neither relay.daily_amount nor relay.receivers is set: a caller with a token may pay all that the relay has"
        );
    }
    let tasks = Tasks::new(fatal(Exit::Software));
    if let Some(webhooks) = service.webhooks(config, &metrics).await? {
        tasks.spawn(WEBHOOKS, Box::pin(webhooks.run()));
    }
    let dispatch = service.dispatch(config, &metrics)?;
    tasks.spawn(WEBHOOK_POSTS, Box::pin(dispatch.run()));
    let events = FanOut::new(service.fan_out(config));
    tasks.spawn(WEBHOOK_EVENTS, Box::pin(events.run()));
    let engine = service.start(config, meter, &tasks).await?;
    metrics.know(&engine.assets());
    metrics.know_providers(ChainId::NEAR.name(), config.relay.provider_labels());
    metrics.know_providers(ChainId::SOLANA.name(), config.swap.provider_labels());
    let verifier = Verifier::over(&config.auth, Arc::clone(&keys), Arc::clone(&service.clock));
    let open_pages = config.server.open_pages();
    let context = AppContext { engine, metrics, verifier, open_pages };
    let app = Arc::new(service.app(config, context).await?);
    tasks.spawn(Background::Sealer.task(), Box::pin(Arc::clone(&app.sealer).run()));
    if config.auth.has_jwks() {
        let engine = Arc::clone(&app.engine);
        tasks.spawn(KEYS, Box::pin(keys.watch(move |old| engine.monitor.keys_read(old))));
    }
    if let Some(tls) = &tls {
        tasks.spawn(CERTIFICATE, Box::pin(Arc::clone(tls).watch()));
    }
    let url = config.server.url(address);
    service.write_owner_note(&config.server.local_url(address));
    tracing::info!(%url, data = %config.data.dir.display(), "ready");
    output::announce(format!("portage listens on {url}\nread and try its API: {url}/docs"));
    let stop = stopped(signals, Arc::clone(&app), config.server.drain_delay_ms);
    let listener = Listener::new(listener, &config.server, tls.as_deref());
    let listener = listener.counted(Arc::clone(&app.metrics));
    serve::serve(listener, http::router(Arc::clone(&app)), &tasks, stop, GRACE).await;
    closed(&service, &app.engine, &app.sealer, &tasks).await;
    Ok(())
}

/// A clean stop: transfers in flight end, or are released for any worker.
pub(super) async fn closed(service: &Service, engine: &Engine, sealer: &Sealer, tasks: &Tasks) {
    engine.drain(DRAIN_MS).await;
    tasks.ending();
    if let Err(cause) = sealer.seal().await {
        tracing::warn!(%cause, "the end of the audit is not sealed; the next start seals it");
    }
    if let Some(spot) = &service.spot
        && let Err(fault) = spot.snapshot().await
    {
        tracing::warn!(%fault, "no snapshot; the next start repeats the log");
    }
    if let Err(fault) = service.rest().await {
        tracing::warn!(%fault, "the write-ahead log stays; the next start takes it in");
    }
    tracing::info!("drained");
}

pub(super) async fn bound(address: SocketAddr) -> Result<TcpListener, Fault> {
    TcpListener::bind(address).await.map_err(|fault| {
        let denied = fault.kind() == std::io::ErrorKind::PermissionDenied;
        let exit = if denied { Exit::NoPerm } else { Exit::Unavailable };
        Fault::new(exit, format!("{address}: cannot listen: {fault}; another process has it, or it is not of this machine"))
    })
}

/// The keys that verify tokens: the configured set, or for development one secret.
async fn keys(config: &Config, clock: &Arc<dyn Clock>) -> Result<Arc<Keys>, Fault> {
    if !config.auth.has_jwks() {
        return Ok(Arc::new(Keys::secret(&secret(config)?, Arc::clone(clock))));
    }
    configured_keys(&config.auth, Arc::clone(clock)).await
}

/// The keys of `auth.jwks_file` or `auth.jwks_url`.
pub(super) async fn configured_keys(
    auth: &Auth,
    clock: Arc<dyn Clock>,
) -> Result<Arc<Keys>, Fault> {
    let (source, rhythm) = if auth.jwks_url.is_empty() {
        (Source::File(auth.jwks_file.clone()), RefreshTimes::FILE)
    } else {
        let fault = |what: String| Fault::new(Exit::Config, format!("auth.jwks_url: {what}"));
        let url = outbound_http::address(&auth.jwks_url).map_err(|rule| fault(rule.to_owned()))?;
        let every_ms = auth.jwks_refresh_seconds.saturating_mul(1000);
        (Source::url(url).map_err(fault)?, RefreshTimes::url(every_ms))
    };
    let rhythm = rhythm.stale_after(auth.jwks_max_stale_seconds.saturating_mul(1000));
    Ok(Arc::new(Keys::open(source, rhythm, clock).await?))
}

/// The configured secret, or the development key of the folder.
fn secret(config: &Config) -> Result<Vec<u8>, Fault> {
    match config.auth.hs256_secret.reveal() {
        "" => {
            let (key, made) = key::read_or_make(&config.data.dir, key::AUTH)?;
            let file = config.data.dir.join(key::AUTH);
            let what = if made { "made" } else { "in use" };
            tracing::warn!(
                file = %file.display(),
                "DEVELOPMENT KEY {what}: a person who reads this file can act as any user. For development only"
            );
            Ok(key)
        }
        secret => {
            tracing::warn!("auth.hs256_secret is set: for development only");
            Ok(secret.as_bytes().to_vec())
        }
    }
}

/// Ends `delay` milliseconds after the first signal; then the server begins nothing new. The second signal ends all.
async fn stopped(mut signals: Signals, app: Arc<App>, delay: Millis) {
    signals.next().await;
    app.leaving.store(true, Ordering::Relaxed);
    crate::runtime::beside(signals.end_at_once());
    if delay > 0 {
        tracing::info!(ms = delay, "leaving: no longer ready; a second signal ends at once");
        app.clock.sleep(delay).await;
    }
    app.draining.store(true, Ordering::Relaxed);
    tracing::info!("draining; a second signal ends at once");
}
