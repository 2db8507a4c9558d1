//! The operators' route that publishes messages of a time range again, for a broker that lost what it acknowledged.

use super::{DryRunQuery, MessagesPreview, previewed, time};
use crate::http::App;
use crate::http::admin::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::RequireOpsAct;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use api::admin::actions::Done;
use api::admin::pipeline::Reemit;
use api::problem::Problem;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::{AdminAction, Reemission};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The route, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(reemit))
}

/// Sends again what was published in a range of time, under the numbers that it has: consumers that had it
/// find that. Published messages are kept for seven days.
#[utoipa::path(
    post, path = "/api/v1/ops/outbox/reemit", tag = "ops", request_body = Reemit,
    operation_id = "reemit_messages", security(("token" = ["ops:act"])),
    params(
        DryRunQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "They are sent again: `REEMITTED`; with `dry_run` a `MessagesPreview` of how many would be"),
        (status = 400, body = Problem, description = "No range of the past: `BAD_REQUEST`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same key: `SYSTEM_ERROR`"),
    )
)]
async fn reemit(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    QueryParams(query): QueryParams<DryRunQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Reemit = body.read()?;
    let range = Reemission { from: time("from", &form.from)?, to: time("to", &form.to)? };
    if query.dry_run {
        let messages =
            app.engine.operators.reemit_preview(range).await.map_err(admin_response::refusal)?;
        return Ok(previewed(MessagesPreview { messages, ..Default::default() }));
    }
    let action = AdminAction::Reemit(range);
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}
