//! The routes of relay transfers: create and get.

use super::intake::offered;
use super::request::{self, RelayTransferRequest};
use super::response;
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{RequireRelayCreate, RequireRelayRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::pages::openapi::descriptions;
use crate::http::transfers::create;
use crate::http::{App, no_answer};
use crate::telemetry;
use api::problem::Problem;
use api::relay::{CreateRelayTransfer, OpenedRelayTransfer, RelayTransfer};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of the relay, for the description and the server.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(get))
        .routes(routes!(super::batch::create))
}

/// Pays an account on NEAR from the relay's own.
///
/// It is answered as soon as the transfer is durable. The key is the transfer's name among those of its
/// caller; with `relay.shared_keys` among those of all callers.
#[utoipa::path(
    post, path = "/transfer", tag = "relay",
    operation_id = "create_relay_transfer", security(("token" = ["relay:create"])),
    request_body = CreateRelayTransfer,
    params(
        ("X-Idempotency-Key" = String, Header, description = "The transfer's name, bound for ever: 1 to 128 visible ASCII characters", example = "payout-7"),
        ("Idempotency-Key" = Option<String>, Header, description = "Another spelling of it: one of both is enough"),
    ),
    responses(
        (status = 200, body = OpenedRelayTransfer, description = "The key was bound before: the transfer as it is now, with its transaction and its end"),
        (status = 201, body = OpenedRelayTransfer, description = "It is durable and goes on; ask for it by its key"),
        (status = 400, body = Problem, description = descriptions::RELAY_400),
        (status = 404, body = Problem, description = "The flow is not offered here: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The key is bound to another body; with `relay.shared_keys` also: to another caller's transfer: `DUPLICATE_REQUEST`"),
        (status = 422, body = Problem, description = "Nothing was opened: `ASSET_SUSPENDED`, `TRANSFER_NOT_ALLOWED`"),
        (status = 429, body = Problem, description = descriptions::CREATE_429),
        (status = 500, body = Problem, description = descriptions::CREATE_500),
        (status = 503, body = Problem, description = descriptions::RELAY_503),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireRelayCreate(caller): RequireRelayCreate,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let relay = offered(&app)?;
    let form: CreateRelayTransfer = body.read()?;
    let key = request::key(&headers)?;
    let ask = RelayTransferRequest::new(&app, relay, &caller, key, form);
    let accepted = create::create(&app, &ask).await?;
    telemetry::subject(accepted.record.id);
    let status = if accepted.replayed { StatusCode::OK } else { StatusCode::CREATED };
    let opened = response::create_response(&app, &accepted).await?;
    Ok(create::mark_replayed((status, Json(opened)).into_response(), accepted.replayed))
}

/// A transfer of the relay with its events.
#[utoipa::path(
    get, path = "/transfer/{key}", tag = "relay",
    operation_id = "read_relay_transfer", security(("token" = ["relay:read"])),
    params(("key" = String, Path, example = "payout-7", description = "The key that it was asked for under")),
    responses(
        (status = 200, body = RelayTransfer, description = "As it is now"),
        (status = 404, body = Problem, description = "None of that key that is the caller's: `NOT_FOUND`"),
    )
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    RequireRelayRead(caller): RequireRelayRead,
    PathParams(key): PathParams<String>,
) -> Result<Json<RelayTransfer>, Refusal> {
    let relay = offered(&app)?;
    let nothing = || Refusal::no_such("transfer");
    body::visible("key", &key, request::KEY).map_err(|_| nothing())?;
    let bound = request::bound(&app, relay, &caller, &key).await.map_err(no_answer("get"))?;
    let id = bound.ok_or_else(nothing)?.id;
    telemetry::subject(id);
    let found = app.engine.transfer(id).await.map_err(no_answer("get"))?;
    let (record, history) = found.ok_or_else(nothing)?;
    let attempts =
        app.engine.journal().attempts_of(vec![id]).await.map_err(no_answer("attempts"))?;
    Ok(Json(response::story(&app, &record, &attempts, history)))
}
