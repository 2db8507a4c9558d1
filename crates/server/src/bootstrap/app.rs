//! Composes the state that the HTTP routes use, for `portage serve` and for tests without a socket.

use super::Service;
use crate::auth::verify::Verifier;
use crate::cli::exit::{Exit, Fault};
use crate::config::Config;
use crate::http::App;
use crate::http::middleware::rate_limit::RateLimit;
use crate::http::middleware::refused_creates::RefusedCreates;
use crate::http::relay::intake::RelayIntake;
use crate::metrics::Metrics;
use engine::Engine;
use flows::internal;
use kernel::flow::life::Life as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The parts of an [`App`] besides those of its service.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct AppContext {
    /// The engine that was started in the service.
    pub engine: Arc<Engine>,
    pub metrics: Arc<Metrics>,
    pub verifier: Verifier,
    /// The pages of machines need no token.
    pub open_pages: bool,
}

impl Service {
    /// The state of the routes, over an engine that was started in this service.
    ///
    /// # Errors
    /// The key of the seals cannot be used; 70: the flow `internal` is missing; 74: the journal does not
    /// answer.
    pub async fn app(&self, config: &Config, context: AppContext) -> Result<App, Fault> {
        let AppContext { engine, metrics, verifier, open_pages } = context;
        let missing = || Fault::new(Exit::Software, "the flow `internal` is missing");
        Ok(App {
            engine,
            kafka: self.kafka.clone(),
            admin_queries: self.store.clone(),
            webhooks: self.webhook_admin(config),
            verifier,
            metrics,
            clock: Arc::clone(&self.clock),
            sealer: self.sealer(config).await?,
            backups: self.backups(config),
            rng: Arc::clone(&self.rng),
            rate_limit: RateLimit::new(config.limits.requests_per_second),
            refused_creates: Arc::new(RefusedCreates::new(config.limits.refused_per_hour)),
            internal: self.flows.named(internal::State::FLOW).ok_or_else(missing)?,
            relay: RelayIntake::of(&config.relay),
            ops: config.ops.clone(),
            require_key: config.transfer.require_key,
            open_pages,
            leaving: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        })
    }
}
