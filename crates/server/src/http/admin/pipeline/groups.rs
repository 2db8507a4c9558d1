//! The operators' route that moves a group of consumers back or forward to a time. A group is paused and resumed
//! like everything else (`/ops/pauses`, kind `group`).

use super::{DryRunQuery, MessagesPreview, SeekRow, previewed, time};
use crate::http::App;
use crate::http::admin::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::RequireOpsAct;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use api::admin::actions::Done;
use api::admin::pipeline::SeekGroup;
use api::problem::Problem;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The route, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(seek))
}

/// Takes a group back or forward to a time. It is paused first. What it meets again has no second effect.
#[utoipa::path(
    post, path = "/api/v1/ops/pipeline/seek", tag = "ops", request_body = SeekGroup,
    operation_id = "seek_group", security(("token" = ["ops:act"])),
    params(
        DryRunQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It goes on there: `SOUGHT`; with `dry_run` a `MessagesPreview` of where it would"),
        (status = 400, body = Problem, description = "No time: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such group: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "It has consumers: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same key: `SYSTEM_ERROR`"),
    )
)]
async fn seek(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    QueryParams(query): QueryParams<DryRunQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: SeekGroup = body.read()?;
    let to = time("to", &form.to)?;
    if query.dry_run {
        let all = app.engine.operators.seek_preview(&form.group, to).await;
        let all = all.map_err(admin_response::refusal)?;
        let moves = all.iter().filter(|seek| seek.from != seek.to);
        let partitions: Vec<SeekRow> = moves
            .map(|seek| SeekRow {
                topic: seek.partition.topic.to_string(),
                partition: seek.partition.number,
                from: seek.from,
                to: seek.to,
            })
            .collect();
        let messages = partitions.iter().map(|row| row.from.abs_diff(row.to)).sum();
        return Ok(previewed(MessagesPreview { messages, partitions, ..Default::default() }));
    }
    let action = AdminAction::Seek { group: form.group.into(), to };
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}
