//! `portage work`: runs the engine's workers for transfers that other processes open, without the HTTP API. With
//! `work.listen` it serves pages for machines.

use super::exit::{Exit, Fault, fatal};
use super::serve::{GRACE, bound, closed, loaded, placed, shared, to_its_end};
use super::{Global, output};
use crate::bootstrap::Service;
use crate::config::Config;
use crate::http::listener::serve;
use crate::http::pages::worker::{self, WorkerPages};
use crate::metrics::Metrics;
use crate::runtime::Tasks;
use crate::shutdown::Signals;
use engine::tasks::Background;
use kernel::ids::ChainId;
use kernel::ports::meter::Meter;
use kernel::ports::spawn::Spawn;
use std::sync::Arc;

/// Carry transfers, and answer no HTTP.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage work --config /etc/portage/portage.toml\n\n\
    Any number of them share one database, beside `portage serve`. They need database.url, and a Spot\n\
    that is served by itself (`portage spot serve`). One may be killed at any moment: another takes over\n\
    what it held once its lease is over (engine.lease_seconds). SIGINT or SIGTERM gives it back at once.\n\
    With work.listen it has /livez, /readyz and /metrics there.")]
pub(super) struct WorkArgs {}

pub(super) fn run(global: &Global, _: &WorkArgs) -> Result<(), Fault> {
    let mut settings = loaded(global, None)?;
    settings.config.engine.workers = true;
    shared(&settings.config, false)?;
    to_its_end(work(&settings.config)).map_err(|fault| placed(&settings, fault))
}

async fn work(config: &Config) -> Result<(), Fault> {
    let mut signals = Signals::take()?;
    let listener = match config.work.listen {
        Some(address) => Some(bound(address).await?),
        None => None,
    };
    let metrics = Arc::new(Metrics::default());
    let meter: Arc<dyn Meter> = metrics.clone();
    let service = Service::of(config, Arc::clone(&meter), fatal(Exit::Io)).await?;
    let config = &service.with_token_asset(config, &meter).await?;
    let tasks = Tasks::new(fatal(Exit::Software));
    let engine = service.start(config, meter, &tasks).await?;
    metrics.know(&engine.assets());
    metrics.know_providers(ChainId::NEAR.name(), config.relay.provider_labels());
    metrics.know_providers(ChainId::SOLANA.name(), config.swap.provider_labels());
    let pages = Arc::new(WorkerPages::new(Arc::clone(&engine), metrics));
    let sealer = service.sealer(config).await?;
    tasks.spawn(Background::Sealer.task(), Box::pin(Arc::clone(&sealer).run()));
    let stop = async {
        signals.next().await;
        pages.drain();
        tracing::info!("draining; a second signal ends at once");
        crate::runtime::beside(signals.end_at_once());
    };
    match listener {
        None => {
            output::announce("portage works".to_owned());
            stop.await;
        }
        Some(listener) => {
            let address = listener.local_addr()?;
            output::announce(format!("portage works, with pages on http://{address}"));
            let router = worker::router(Arc::clone(&pages));
            serve::serve(listener, router, &tasks, stop, GRACE).await;
        }
    }
    closed(&service, &engine, &sealer, &tasks).await;
    Ok(())
}
