//! Keys that are parked: listed, and tried again at once.

use super::none_offered;
use crate::http::admin::{admin_response, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, silent};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::ports::inbox::ParkedKey;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Which parked keys are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ParkedQuery {
    /// Only the keys of this group.
    group: Option<String>,
    /// At most so many rows, from 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Keys whose messages wait off the bus, by group, topic and key.
#[derive(Debug, Serialize, ToSchema)]
pub struct ParkedKeys {
    /// One row for each key.
    pub keys: Vec<ParkedKeyRow>,
}

/// A key whose messages failed too often.
#[derive(Debug, Serialize, ToSchema)]
pub struct ParkedKeyRow {
    /// The group for which it waits.
    #[schema(example = "execution-group")]
    pub group: String,
    /// The topic of its messages.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The key: the number of the account that pays.
    #[schema(example = "ACC-4001-1")]
    pub key: String,
    /// So many messages wait, in their order.
    #[schema(example = 3)]
    pub messages: u64,
    /// Why its first message failed the last time.
    #[schema(example = "TIMEOUT")]
    pub cause: String,
    /// How often it failed.
    #[schema(example = 7)]
    pub failures: u32,
    /// Since when it waits, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub since: String,
    /// When it is tried again, RFC 3339.
    #[schema(example = "2026-11-21T09:23:45.121Z")]
    pub next_try_at: String,
}

/// A key that is tried again now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpark {
    /// The group for which it waits.
    #[schema(example = "execution-group")]
    pub group: String,
    /// The topic of its messages.
    #[schema(example = "transfer-execution")]
    pub topic: String,
    /// The key of its messages.
    #[schema(example = "ACC-4001-1")]
    pub key: String,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the ledger is back")]
    pub reason: String,
}

/// The routes of parked keys, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(unpark))
}

/// Keys that are parked, in the order of their names.
#[utoipa::path(
    get, path = "/api/v1/ops/pipeline/parked", tag = "ops", params(ParkedQuery),
    operation_id = "list_parked_keys", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = ParkedKeys, description = "The first of them"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No flow that messages carry is offered here: `NOT_FOUND`"),
    )
)]
async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<ParkedQuery>,
) -> Result<Json<ParkedKeys>, Refusal> {
    let limit = limit(query.limit)?;
    let group = query.group.map(Into::into);
    let found =
        app.engine.messaging.parked_keys(group, limit).await.map_err(silent("parked keys"))?;
    let found = found.ok_or_else(none_offered)?;
    Ok(Json(ParkedKeys { keys: found.iter().map(row).collect() }))
}

fn row(key: &ParkedKey) -> ParkedKeyRow {
    ParkedKeyRow {
        group: key.name.group.to_string(),
        topic: key.name.topic.to_string(),
        key: key.name.key.to_string(),
        messages: key.messages,
        cause: key.next.cause.to_string(),
        failures: key.next.failures,
        since: format::time(key.since),
        next_try_at: format::time(key.next.due),
    }
}

/// Has a parked key tried again now, instead of when its time has come.
#[utoipa::path(
    post, path = "/api/v1/ops/pipeline/parked/unpark", tag = "ops", request_body = Unpark,
    operation_id = "unpark_key", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = admin_response::Done, description = "It is tried now"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such key is parked: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
    )
)]
async fn unpark(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Unpark = body.read()?;
    let (group, topic, key) = (form.group.into(), form.topic.into(), form.key.into());
    let action = AdminAction::Unpark { group, topic, key };
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}
