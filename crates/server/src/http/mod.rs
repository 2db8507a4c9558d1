//! The HTTP API of the server: the [`listener`] accepts connections, the [`middleware`] handles every request, and
//! the routes serve users ([`transfers`], [`account_transfers`], [`relay`], [`balances`]), operators ([`admin`])
//! and machines ([`pages`]).

pub mod account_transfers;
pub mod admin;
pub mod balances;
mod fan_out;
pub mod format;
#[cfg(test)]
mod fuzz;
pub mod listener;
pub mod middleware;
mod name_errors;
pub mod pages;
pub mod relay;
pub mod transfers;

use self::admin::webhooks::WebhookAdmin;
use self::middleware::error::{self, Refusal};
use self::middleware::rate_limit::RateLimit;
use self::middleware::refused_creates::RefusedCreates;
use self::middleware::{body, envelope};
use self::relay::intake::RelayIntake;
use crate::auth::verify::Verifier;
use crate::backup::BackupService;
use crate::config::Ops;
use crate::metrics::Metrics;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::get;
use engine::Engine;
use engine::audit::Sealer;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{FlowId, LedgerId};
use kernel::ports::admin_queries::AdminQueries;
use kernel::ports::bus::Bus;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::ledger::Ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that the routes use.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct App {
    pub engine: Arc<Engine>,
    /// The brokers, where the settings name any.
    pub kafka: Option<Arc<dyn Bus>>,
    /// Answers the queries of operators.
    pub admin_queries: Arc<dyn AdminQueries>,
    /// The endpoints of webhooks, their queue and their log.
    pub webhooks: WebhookAdmin,
    pub verifier: Verifier,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// Seals the audit and proves it.
    pub sealer: Arc<Sealer>,
    pub backups: Arc<BackupService>,
    /// Chance, for the ids of requests.
    pub rng: Arc<dyn Rng>,
    /// How fast one user's creates may come.
    pub rate_limit: RateLimit,
    /// How many of one user's transfers may end without effect.
    pub refused_creates: Arc<RefusedCreates>,
    pub internal: FlowId,
    /// The part of the relay's settings that its routes need, where the relay is offered.
    pub relay: Option<RelayIntake>,
    /// How much one person moves by hand.
    pub ops: Ops,
    /// A create without a client's key is refused.
    pub require_key: bool,
    /// `/metrics` and `/openapi.json` need no token.
    pub open_pages: bool,
    /// The process is about to end: `/readyz` says so, and requests are still taken.
    pub leaving: AtomicBool,
    /// The process is ending: nothing new is begun.
    pub draining: AtomicBool,
}

impl App {
    /// Every configured ledger, by number.
    pub fn ledgers(&self) -> impl Iterator<Item = Arc<dyn Ledger>> {
        LedgerId::all().filter_map(|id| self.engine.ledger(id))
    }

    /// Every configured account type of users, by number.
    pub fn user_ledgers(&self) -> impl Iterator<Item = Arc<dyn Ledger>> {
        LedgerId::of_users().filter_map(|id| self.engine.ledger(id))
    }

    /// True once a load balancer should send nothing here any more.
    pub fn leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed) || self.draining()
    }

    /// True while the process is ending.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// Every route with its answers, as a service.
pub fn router(app: Arc<App>) -> Router {
    pages::openapi::routes()
        .route("/", get(|| async { Redirect::to("/docs") }))
        .method_not_allowed_fallback(|| async { Refusal::of(Code::MethodNotAllowed) })
        .fallback(|| async { Refusal::of(Code::NotFound) })
        .layer(DefaultBodyLimit::max(body::MOST))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(error::panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), envelope::envelope))
        .with_state(app)
}

/// Logs the cause of an unknown outcome, which the caller does not see.
fn unknown(what: &'static str, cause: &Cause) {
    tracing::error!(%cause, "{what}: outcome unknown");
}

/// The journal did not answer a question.
fn no_answer(what: &'static str) -> impl Fn(Cause) -> Refusal {
    move |cause| {
        unknown(what, &cause);
        Refusal::because(Code::SystemError, "The journal does not answer at the moment")
    }
}
