//! `portage spot serve`: serves the Spot core of a folder as a remote ledger for other servers.

use super::exit::{Exit, Fault, fatal};
use super::serve::{CERTIFICATE, GRACE, bound};
use super::{Global, listen_address, output};
use crate::auth::key;
use crate::config::Config;
use crate::http::listener::serve::Listener;
use crate::http::listener::tls::Tls;
use crate::remote_ledger::{LedgerService, router};
use crate::runtime::{SystemRng, Tasks};
use crate::shutdown::Signals;
use crate::{bootstrap, http, telemetry};
use kernel::ids::AssetId;
use kernel::money::Asset;
use kernel::ports::spawn::Spawn;
use ledgers::remote::AssetCodes;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A Spot core that is served by itself.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage spot serve --data-dir ./spot-data")]
pub(super) enum SpotCommand {
    /// Serve the Spot core of a folder to a server elsewhere.
    Serve(ServeArgs),
    /// Print the token that callers of it show.
    Token(TokenArgs),
}

/// Serve the Spot core of a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage spot serve --data-dir ./spot-data --listen 127.0.0.1:3100\n\n\
    The server that uses it is told so by its settings: ledgers.spot.kind = \"remote\", with url and\n\
    token (`portage spot token`). The core keeps its identity: one that was in a server's own folder\n\
    may be served from there, and taken back. It may be stopped, or die, at any moment. Beyond\n\
    loopback it needs spot.tls, or spot.behind_proxy.")]
pub(super) struct ServeArgs {
    /// Address and port, over `spot.listen`; port 0 takes a free one. A port alone is on this machine only.
    #[arg(long, value_name = "ADDR", visible_alias = "port", value_parser = listen_address)]
    listen: Option<SocketAddr>,
}

/// Print the token that callers show.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage spot token --data-dir ./spot-data\n\n\
    It is made where there is none yet. A person who has it can move all money in that folder.")]
pub(super) struct TokenArgs {}

pub(super) fn run(global: &Global, command: &SpotCommand) -> Result<(), Fault> {
    let config = global.settings()?;
    match command {
        SpotCommand::Token(TokenArgs {}) => {
            bootstrap::create_folder(&config.data.dir)?;
            output::print(&token(&config)?)
        }
        SpotCommand::Serve(ServeArgs { listen }) => {
            let mut config = config;
            if let Some(listen) = listen {
                config.spot.listen = *listen;
            }
            if let Some(broken) = config.broken().into_iter().next() {
                let sentence = format!("{}: {}", broken.key, broken.rule);
                return Err(Fault::new(Exit::Config, sentence));
            }
            telemetry::start(&config.log)?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
            let served = runtime.block_on(serve(&config));
            runtime.shutdown_timeout(Duration::from_secs(1));
            served
        }
    }
}

/// The configured token, or the one of the folder.
fn token(config: &Config) -> Result<String, Fault> {
    if !config.spot.token.is_empty() {
        return Ok(config.spot.token.reveal().to_owned());
    }
    let (key, _) = key::read_or_make(&config.data.dir.join(bootstrap::SPOT), key::AUTH)?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The fresh assets, and those of the settings.
fn assets(config: &Config) -> Vec<(AssetId, String)> {
    let fresh = Asset::fresh().into_iter().map(|asset| (asset.id, asset.symbol));
    let more = config.spot.assets.iter().map(|(symbol, id)| (AssetId(*id), symbol.clone()));
    let mut all: Vec<_> = fresh.chain(more).collect();
    all.sort_unstable();
    // one that is fresh may be named again
    all.dedup();
    all
}

async fn serve(config: &Config) -> Result<(), Fault> {
    let mut signals = Signals::take()?;
    let door = config.spot.door();
    let tls = door.tls.is_set().then(|| Tls::open(&door.tls)).transpose()?;
    let tls = tls.map(Arc::new);
    let listener = bound(door.listen).await?;
    let address = listener.local_addr()?;
    let dir: &Path = &config.data.dir;
    bootstrap::create_folder(dir)?;
    let symbols = AssetCodes::of(assets(config));
    // what senders had an answer of, they say with each request: one that knows more is told that
    // this is another ledger
    let rng = SystemRng::default();
    let (spot, torn) = bootstrap::spot(dir, symbols.assets(), 0, &rng, fatal(Exit::Io)).await?;
    if let Some(torn) = torn {
        tracing::warn!(?torn, "the log ended in the middle of a batch, which was dropped");
    }
    let token = token(config)?;
    let tasks = Tasks::new(fatal(Exit::Software));
    let service = Arc::new(LedgerService::new(spot.clone(), symbols, &token));
    let known = spot.known();
    tracing::info!(%address, data = %dir.display(), identity = %known.identity, operations = known.highest, "ready");
    output::announce(format!("portage spot listens on {}", door.url(address)));
    if let Some(tls) = &tls {
        tasks.spawn(CERTIFICATE, Box::pin(Arc::clone(tls).watch()));
    }
    let stop = async {
        signals.next().await;
        tracing::info!("ending; a second signal ends at once");
        crate::runtime::beside(signals.end_at_once());
    };
    let listener = Listener::new(listener, &door, tls.as_deref());
    http::listener::serve::serve(listener, router(service), &tasks, stop, GRACE).await;
    tasks.ending();
    if let Err(fault) = spot.snapshot().await {
        tracing::warn!(%fault, "no snapshot; the next start repeats the log");
    }
    tracing::info!("ended");
    Ok(())
}
