//! Serves a Spot core for `portage spot serve`, as the server side of the remote ledger's contract (`spec/api.md`,
//! "Remote ledger").

mod answer;
mod routes;

use crate::http::middleware::envelope::NoHost;
use crate::http::pages::machine;
use crate::metrics::LedgerMetrics;
use crate::runtime::SystemClock;
use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{get, post};
use kernel::code::Code;
use kernel::ports::clock::Clock as _;
use ledgers::remote::{AssetCodes, wire};
use ledgers::spot::Spot;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A ledger that is served over HTTP.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct LedgerService {
    ledger: Arc<Spot>,
    symbols: AssetCodes,
    /// Compared instead of the token itself: how long that takes says nothing of it.
    token: [u8; 32],
    metrics: LedgerMetrics,
    clock: SystemClock,
}

impl LedgerService {
    /// Serves this ledger to callers that have the token.
    pub fn new(ledger: Arc<Spot>, symbols: AssetCodes, token: &str) -> Self {
        let token = Sha256::digest(token.as_bytes()).into();
        let (metrics, clock) = (LedgerMetrics::default(), SystemClock::default());
        Self { ledger, symbols, token, metrics, clock }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let (Some(header), None) = (all.next(), all.next()) else { return false };
        let Some((scheme, token)) = header.to_str().ok().and_then(|text| text.split_once(' '))
        else {
            return false;
        };
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        scheme.eq_ignore_ascii_case("bearer") && digest == self.token
    }
}

/// Every route of the full form, and the pages for machines without a token: they say nothing of money.
pub fn router(service: Arc<LedgerService>) -> Router {
    let many = || DefaultBodyLimit::max(wire::MANY);
    let guarded = Router::new()
        .route("/hello", get(routes::hello))
        .route("/operations", get(routes::list).post(routes::execute).layer(many()))
        .route("/operations/{req_id}/{leg}", get(routes::query))
        .route("/fences", post(routes::fence))
        .route("/halt", post(routes::halt))
        .route("/totals", get(routes::totals))
        .route("/accounts", get(routes::accounts))
        .route("/accounts/{user_id}", get(routes::account))
        .route("/accounts/{user_id}/status", post(routes::status))
        .route("/horizon", post(routes::horizon).layer(DefaultBodyLimit::max(wire::OPEN)))
        .route_layer(axum::middleware::from_fn_with_state(Arc::clone(&service), guard));
    guarded
        .route("/health", get(routes::health))
        .route("/readyz", get(routes::health))
        .route("/livez", get(machine::livez))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(async || answer::refused(Code::MethodNotAllowed))
        .fallback(async || answer::refused(Code::NotFound))
        .layer(DefaultBodyLimit::max(crate::http::middleware::body::MOST))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(answer::panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&service), measure))
        .with_state(service)
}

async fn metrics(State(service): State<Arc<LedgerService>>, headers: HeaderMap) -> Response {
    machine::metrics_page(&headers, |format| service.metrics.page(format))
}

/// Measures how long an answer takes.
async fn measure(
    State(service): State<Arc<LedgerService>>,
    request: Request,
    next: Next,
) -> Response {
    let start = service.clock.ticks();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let nanos = service.clock.ticks().saturating_sub(start);
    service.metrics.request(route, response.status().as_u16(), nanos);
    response
}

/// Refuses every request without the token, and one that does not name its one host.
async fn guard(
    State(service): State<Arc<LedgerService>>,
    request: Request,
    next: Next,
) -> Response {
    if request.extensions().get::<NoHost>().is_some() {
        return answer::refused(Code::BadRequest);
    }
    if service.knows(request.headers()) {
        return next.run(request).await;
    }
    tracing::warn!(target: "security", path = request.uri().path(), "token refused");
    answer::refused(Code::Unauthorized)
}
