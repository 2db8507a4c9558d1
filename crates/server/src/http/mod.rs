//! The door: routes, the order of checks, the shape of answers.

mod abreast;
pub mod accounts;
pub mod asked;
pub mod audit;
pub mod backup;
pub mod balances;
pub mod batch;
pub mod body;
pub mod caller;
pub mod desk;
pub mod docs;
pub mod dry;
pub mod error;
mod finish;
pub mod form;
#[cfg(test)]
mod fuzz;
pub mod list;
pub mod machine;
mod made;
pub mod names;
pub mod openapi;
pub mod ops;
pub mod pace;
pub mod patience;
mod seats;
pub mod segments;
pub mod serve;
pub mod shown;
pub mod tls;
pub mod transfers;
pub mod v2;
pub mod weigh;
pub mod wire;

use crate::auth::verify::Verifier;
use crate::backup::Desk;
use crate::metrics::Metrics;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use engine::Engine;
use engine::audit::Sealer;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{FlowId, LedgerId};
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::ledger::{Ledger, World};
use kernel::ports::office::Office;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the routes reach.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct App {
    /// Carries transfers.
    pub engine: Arc<Engine>,
    /// Looks things up for people.
    pub office: Arc<dyn Office>,
    /// Where external money enters and leaves.
    pub world: Arc<dyn World>,
    /// Checks tokens.
    pub verifier: Verifier,
    /// Takes measurements.
    pub metrics: Arc<Metrics>,
    /// Time, for measurements.
    pub clock: Arc<dyn Clock>,
    /// Seals the audit and proves it.
    pub sealer: Arc<Sealer>,
    /// Takes backups.
    pub backups: Arc<Desk>,
    /// Chance, for the ids of requests.
    pub rng: Arc<dyn Rng>,
    /// How fast one user's creates may come.
    pub pace: pace::Pace,
    /// The flow `internal`.
    pub internal: FlowId,
    /// `/metrics` and `/openapi.json` need no token.
    pub open_pages: bool,
    /// The process is about to end: whoever asks whether it is ready is told so, and requests are
    /// taken still.
    pub leaving: AtomicBool,
    /// The process is ending: nothing new is begun.
    pub draining: AtomicBool,
}

impl App {
    /// Every configured ledger, by number.
    pub fn ledgers(&self) -> impl Iterator<Item = Arc<dyn Ledger>> {
        [LedgerId::FUNDING, LedgerId::SPOT, LedgerId::FUTURE, LedgerId::MARGIN]
            .into_iter()
            .filter_map(|id| self.engine.ledger(id))
    }

    /// True once nobody should send anything here any more.
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
    let (router, _) = openapi::documented().split_for_parts();
    router
        .method_not_allowed_fallback(|| async { error::Refusal::of(Code::MethodNotAllowed) })
        .fallback(|| async { error::Refusal::of(Code::NotFound) })
        .layer(DefaultBodyLimit::max(body::MOST))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(error::panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), finish::finish))
        .with_state(app)
}

/// Logs what a caller is not told.
fn unknown(what: &'static str, cause: &Cause) {
    tracing::error!(%cause, "{what}: outcome unknown");
}

/// The journal did not answer a question.
fn silent(what: &'static str) -> impl Fn(Cause) -> error::Refusal {
    move |cause| {
        unknown(what, &cause);
        error::Refusal::because(Code::SystemError, "The journal does not answer at the moment")
    }
}
