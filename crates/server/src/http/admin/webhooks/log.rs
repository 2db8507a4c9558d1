//! The operators' routes for the deliveries of an endpoint: list them, send a test event, and send messages again.

use super::{WebhookRow, answer, find, webhook_id};
use crate::http::admin::admin_response;
use crate::http::admin::{cursor, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use crate::webhooks::replay;
use api::admin::actions::ReasonBody;
use api::admin::webhooks::{Deliveries, DeliveryRow, ReplayPreview, ReplayWebhook};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{AdminAction, Objection, WebhookAction};
use kernel::ports::webhooks::WebhookMessage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Which deliveries are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeliveriesQuery {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(test))
        .routes(routes!(deliveries))
        .routes(routes!(resend))
        .routes(routes!(replay_since))
}

fn row(message: &WebhookMessage) -> DeliveryRow {
    // one that was taken before may wait again
    let status = match (message.due_at, message.delivered_at, &message.error) {
        (Some(_), ..) => "QUEUED",
        (None, Some(_), None) => "DELIVERED",
        (None, ..) => "GIVEN_UP",
    };
    DeliveryRow {
        number: message.number,
        id: message.id.to_string(),
        r#type: message.kind.to_string(),
        subject: message.subject.to_string(),
        status: status.to_owned(),
        attempts: message.attempts,
        queued_at: format::time(message.at),
        next_try_at: message.due_at.map(format::time),
        tried_at: message.tried_at.map(format::time),
        delivered_at: message.delivered_at.map(format::time),
        response_status: message.status,
        error: message.error.as_deref().map(str::to_owned),
    }
}

/// What was sent to an endpoint, or waits to be: newest first.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{id}/deliveries", tag = "ops", params(
        ("id" = String, Path, description = "The endpoint's id"), DeliveriesQuery,
    ),
    operation_id = "list_webhook_deliveries", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Deliveries, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is no such endpoint: `NOT_FOUND`"),
    )
)]
async fn deliveries(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<DeliveriesQuery>,
) -> Result<Json<Deliveries>, Refusal> {
    let (before, limit) = (cursor::<u64>(query.cursor.as_deref())?, limit(query.limit)?);
    let id = find(&app, &id).await?.endpoint.id;
    let outbox = &app.webhooks.context.outbox;
    let found = outbox.messages(id, before, limit).await.map_err(no_answer("deliveries"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.number.to_string());
    Ok(Json(Deliveries { deliveries: found.iter().map(row).collect(), next }))
}

/// Sends a test event: it shows in the log whether the endpoint took it.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/test", tag = "ops", request_body = ReasonBody,
    operation_id = "test_webhook", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 202, body = WebhookRow, description = "It is on its way"),
        (status = 200, body = WebhookRow, description = "It had been asked for under the same key before"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is no such endpoint: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The endpoint is disabled: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn test(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: ReasonBody = body.read()?;
    let action = AdminAction::Webhook(WebhookAction::Test(webhook_id(&id)?));
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(performed, None, StatusCode::ACCEPTED))
}

/// Sends one message of the log again, under its `webhook-id`.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/deliveries/{number}/resend", tag = "ops",
    request_body = ReasonBody,
    operation_id = "resend_webhook_delivery", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        ("number" = u64, Path, description = "The message's number in the log"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 202, body = WebhookRow, description = "It is on its way"),
        (status = 200, body = WebhookRow, description = "It had been asked for under the same key before"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is no such endpoint, or no such message in its log: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The endpoint is disabled: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn resend(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams((id, number)): PathParams<(String, u64)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: ReasonBody = body.read()?;
    let id = webhook_id(&id)?;
    let found = app.webhooks.context.outbox.message(id, number).await;
    if found.map_err(no_answer("deliveries"))?.is_none() {
        return Err(admin_response::refusal(Objection::NotFound("delivery")));
    }
    let action = AdminAction::Webhook(WebhookAction::Resend { id, number });
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(performed, None, StatusCode::ACCEPTED))
}

/// Sends every event again that the endpoint wants and that happened since a time, each under its
/// `webhook-id`; what happened before the endpoint was added too. A dry run says how many that are.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/replay", tag = "ops", request_body = ReplayWebhook,
    operation_id = "replay_webhook", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 202, body = WebhookRow, description = "They are on their way, page by page"),
        (status = 200, body = ReplayAnswer, description = "A dry run; or it had been asked for under the same key before"),
        (status = 400, body = Problem, description = "No such time: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is no such endpoint: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The endpoint is disabled: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn replay_since(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: ReplayWebhook = body.read()?;
    let unfit = || Refusal::bad("field `since`: a time as in 2026-11-21T09:00:00Z");
    let since = format::instant(&form.since).ok_or_else(unfit)?;
    if form.dry_run {
        let webhook = find(&app, &id).await?;
        let preview = replay::preview(&app.webhooks.context, &webhook, since).await;
        let replay::Preview { messages, complete } = preview.map_err(no_answer("replay"))?;
        return Ok(Json(ReplayPreview { messages, complete }).into_response());
    }
    let action = AdminAction::Webhook(WebhookAction::Replay { id: webhook_id(&id)?, since });
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(performed, None, StatusCode::ACCEPTED))
}

/// What a replay answers with 200.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "two bodies of one status, for the description")]
enum ReplayAnswer {
    Preview(ReplayPreview),
    Repeated(Box<WebhookRow>),
}
