//! `portage work`: runs the engine's workers for transfers that other processes open, without the HTTP API.

use super::exit::{Exit, Fault, fatal};
use super::serve::{closed, loaded, shared, to_its_end};
use super::{Global, output};
use crate::bootstrap::Service;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::runtime::Tasks;
use crate::shutdown::Signals;
use engine::tasks::Background;
use kernel::ports::meter::Meter;
use kernel::ports::spawn::Spawn;
use std::sync::Arc;

/// Carry transfers, and answer no HTTP.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage work --config /etc/portage/portage.toml\n\n\
    Any number of them share one database, beside `portage serve`. They need database.url, and a Spot\n\
    that is served by itself (`portage spot serve`). One may be killed at any moment: another takes over\n\
    what it held once its lease is over (engine.lease_seconds). SIGINT or SIGTERM gives it back at once.")]
pub(super) struct WorkArgs {}

pub(super) fn run(global: &Global, _: &WorkArgs) -> Result<(), Fault> {
    let mut config = loaded(global, None)?;
    config.engine.workers = true;
    shared(&config, false)?;
    to_its_end(work(&config))
}

async fn work(config: &Config) -> Result<(), Fault> {
    let mut signals = Signals::take()?;
    let metrics = Arc::new(Metrics::default());
    let meter: Arc<dyn Meter> = metrics.clone();
    let service = Service::of(config, Arc::clone(&meter), fatal(Exit::Io)).await?;
    let config = &service.with_token_asset(config, &meter).await?;
    let tasks = Tasks::new(fatal(Exit::Software));
    let engine = service.start(config, meter, &tasks).await?;
    metrics.know(&engine.assets());
    let sealer = service.sealer(config).await?;
    tasks.spawn(Background::Sealer.task(), Box::pin(Arc::clone(&sealer).run()));
    output::announce("portage works".to_owned());
    signals.next().await;
    tracing::info!("draining; a second signal ends at once");
    crate::runtime::beside(signals.end_at_once());
    closed(&service, &engine, &sealer, &tasks).await;
    Ok(())
}
