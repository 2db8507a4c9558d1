//! The operators' routes for parked keys: list them, and have one tried again now.

use super::none_offered;
use crate::http::admin::{admin_response, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::Done;
use api::admin::pipeline::{ParkedKeyRow, ParkedKeys, Unpark};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::ports::inbox::ParkedKey;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Which parked keys are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ParkedQuery {
    /// Only the keys of this group.
    group: Option<String>,
    /// Maximum number of rows, from 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
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
        app.engine.messaging.parked_keys(group, limit).await.map_err(no_answer("parked keys"))?;
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
        (status = 200, body = Done, description = "It is tried now: `UNPARKED`"),
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
