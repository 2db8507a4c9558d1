//! The pages of `portage work`, which serves no API: whether it lives, whether it can write, and its metrics.

use super::machine;
use crate::http::middleware::error::{self, Refusal};
use crate::metrics::Metrics;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use engine::Engine;
use kernel::code::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a worker's pages.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct WorkerPages {
    engine: Arc<Engine>,
    metrics: Arc<Metrics>,
    draining: AtomicBool,
}

impl WorkerPages {
    /// The pages of a worker that was started.
    pub fn new(engine: Arc<Engine>, metrics: Arc<Metrics>) -> Self {
        Self { engine, metrics, draining: AtomicBool::new(false) }
    }

    /// From now on `/readyz` answers 503: the process is ending.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// `/livez`, `/readyz` and `/metrics`, without a token.
pub fn router(pages: Arc<WorkerPages>) -> Router {
    Router::new()
        .route("/livez", get(machine::livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(async || Refusal::of(Code::MethodNotAllowed))
        .fallback(async || Refusal::of(Code::NotFound))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(error::panicked))
        .with_state(pages)
}

async fn readyz(State(pages): State<Arc<WorkerPages>>) -> Response {
    if pages.draining.load(Ordering::Relaxed) {
        return machine::unready("draining");
    }
    machine::writable(&pages.engine).await
}

async fn metrics(
    State(pages): State<Arc<WorkerPages>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    machine::measured(&pages.engine, &pages.metrics, &headers).await
}
