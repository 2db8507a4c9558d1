//! The routes for machines: health, readiness, metrics and the OpenAPI description.

use super::openapi;
use crate::http::fan_out::fan_out;
use crate::http::middleware::caller::RequirePageAccess;
use crate::http::middleware::error::Refusal;
use crate::http::{App, no_answer};
use crate::metrics::{Metrics, PageFormat};
use api::health::{Alive, Health, ProviderHealth};
use axum::Json;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{Engine, ProviderCounts};
use kernel::ids::ChainId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The longest wait for the journal.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the journal can be read, and whether this process can write to it; and the number of the halt
/// that stands last in it.
async fn journal(engine: &Engine) -> (&'static str, Option<u64>) {
    let read = timeout(TIMEOUT, engine.journal().service_status()).await;
    let Ok(Ok(status)) = read else { return (UNAVAILABLE, None) };
    let part = match engine.writes() {
        Err(_) => NOT_WRITING,
        Ok(()) if engine.full() => FULL,
        Ok(()) => CONNECTED,
    };
    (part, status.halted.map(|_| status.halts))
}

const CONNECTED: &str = "connected";
const UNAVAILABLE: &str = "unavailable";
/// The store has no room.
const FULL: &str = "full";
/// The writers hear nothing of the database, or it takes nothing that they write, or the lease has run out.
const NOT_WRITING: &str = "not writing";

/// Providers answer, and none of them is of the right chain.
const WRONG_CHAIN: &str = "wrong chain";

/// The providers of a chain: in a word, and in numbers.
fn providers(app: &App, chain: ChainId) -> Option<(&'static str, ProviderHealth)> {
    let ProviderCounts { configured, usable, wrong_chain } =
        app.engine.chains.provider_counts(chain).filter(|counts| counts.configured > 0)?;
    let part = match (usable, wrong_chain) {
        (0, 0) => UNAVAILABLE,
        (0, _) => WRONG_CHAIN,
        _ => CONNECTED,
    };
    Some((part, ProviderHealth { configured, usable, wrong_chain }))
}

const fn word(connected: bool) -> &'static str {
    if connected { CONNECTED } else { UNAVAILABLE }
}

/// How the whole is.
#[utoipa::path(
    get, path = "/health", tag = "machine", operation_id = "read_health", security(()),
    responses(
        (status = 200, body = Health, description = "Healthy or degraded", example = json!({
            "status": "healthy", "account": "connected", "funding": "connected", "journal": "connected", "spot": "connected",
        })),
        (status = 503, body = Health, description = "HALT stands", example = json!({
            "status": "halted", "halt": 3, "account": "connected", "funding": "connected", "journal": "connected",
            "spot": "connected",
        })),
    )
)]
pub(super) async fn health(State(app): State<Arc<App>>) -> Response {
    let mut parts = BTreeMap::new();
    let (journal, halt) = journal(&app.engine).await;
    parts.insert("journal".to_owned(), journal);
    if let Some(connected) = app.verifier.keys().connected() {
        parts.insert("keys".to_owned(), word(connected));
    }
    for (ledger, said) in fan_out(app.ledgers(), |ledger| ledger.hello()).await {
        parts.insert(ledger.name().to_lowercase(), word(said.is_ok()));
    }
    if let Some(kafka) = &app.kafka {
        let answers = timeout(TIMEOUT, kafka.probe()).await.is_ok_and(|said| said.is_ok());
        parts.insert("kafka".to_owned(), word(answers));
    }
    if let Some((part, _)) = providers(&app, ChainId::SOLANA) {
        parts.insert("solana".to_owned(), part);
    }
    let providers = providers(&app, ChainId::NEAR).map(|(part, health)| {
        parts.insert("rpc".to_owned(), part);
        health
    });
    let whole = parts.values().all(|part| *part == CONNECTED);
    let (code, status) = match (app.engine.halted(), whole) {
        (Some(_), _) => (StatusCode::SERVICE_UNAVAILABLE, "halted"),
        (None, true) => (StatusCode::OK, "healthy"),
        (None, false) => (StatusCode::OK, "degraded"),
    };
    let parts = parts.into_iter().map(|(part, word)| (part, word.to_owned())).collect();
    (code, Json(Health { status: status.to_owned(), halt, providers, parts })).into_response()
}

fn alive(status: &str) -> Json<Alive> {
    Json(Alive { status: status.to_owned() })
}

/// 200 while the process turns.
#[utoipa::path(
    get, path = "/livez", tag = "machine", operation_id = "read_liveness", security(()),
    responses((status = 200, body = Alive, description = "It turns"))
)]
pub(crate) async fn livez() -> Json<Alive> {
    alive("ok")
}

/// 200 while reads can be served, also under HALT, and this process can write.
#[utoipa::path(
    get, path = "/readyz", tag = "machine", operation_id = "read_readiness", security(()),
    responses(
        (status = 200, body = Alive, description = "Reads can be served"),
        (status = 503, body = Alive, description = "Draining, without a journal, with one that takes no writes of this process, or without keys that may check tokens", example = json!({"status": "draining"})),
    )
)]
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    if app.leaving() {
        unready("draining")
    } else if app.verifier.keys().stale() {
        unready("stale keys")
    } else {
        writable(&app.engine).await
    }
}

/// 503 with the reason.
pub(super) fn unready(status: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, alive(status)).into_response()
}

/// 200 while the journal can be read, and this process can write to it.
pub(super) async fn writable(engine: &Engine) -> Response {
    match journal(engine).await.0 {
        NOT_WRITING => unready(NOT_WRITING),
        FULL => unready(FULL),
        UNAVAILABLE => unready("no journal"),
        _ => alive("ok").into_response(),
    }
}

/// Measurements for Prometheus: OpenMetrics, or its older text format where `Accept` names `text/plain` alone.
#[utoipa::path(
    get, path = "/metrics", tag = "machine", operation_id = "read_metrics",
    security((), ("token" = ["ops:read"])),
    responses(
        (status = 200, body = String, content_type = "application/openmetrics-text",
            description = "OpenMetrics text", example = "portage_halted 0\n# EOF\n"),
    )
)]
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    _: RequirePageAccess,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    measured(&app.engine, &app.metrics, &headers).await
}

/// The metrics of this process, with what the journal counts.
///
/// # Errors
/// 500: the journal does not answer.
pub(super) async fn measured(
    engine: &Engine,
    metrics: &Metrics,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let journal = engine.journal();
    let counts = journal.counts().await.map_err(no_answer("metrics"))?;
    metrics.cases(&journal.open_cases().await.map_err(no_answer("metrics"))?);
    metrics.counted(engine.flows(), &counts, journal.now());
    Ok(metrics_page(headers, |format| metrics.page(format)))
}

/// A page of measurements, in the format that the request asks for.
pub(crate) fn metrics_page(
    headers: &HeaderMap,
    page: impl FnOnce(PageFormat) -> String,
) -> Response {
    let all = headers.get_all(ACCEPT).iter().filter_map(|one| one.to_str().ok());
    let format = PageFormat::accepted(&all.collect::<Vec<_>>().join(","));
    ([(CONTENT_TYPE, format.content_type())], page(format)).into_response()
}

/// This description of the API.
#[utoipa::path(
    get, path = "/openapi.json", tag = "machine", operation_id = "read_description",
    security((), ("token" = ["ops:read"])),
    responses((
        status = 200, body = Object, description = "OpenAPI 3.1", example = json!({ "openapi": "3.1.0" }),
    ))
)]
pub(super) async fn description(_: RequirePageAccess) -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi::page()).into_response()
}
