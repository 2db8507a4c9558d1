//! The operators' routes for webhook endpoints: list, add, change, rotate the secret, delete. `log` has the routes
//! for deliveries.

pub mod log;
pub mod request;

use super::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::transfers::create;
use crate::http::{App, format, no_answer};
use crate::webhooks::fan_out::FanOutContext;
use crate::webhooks::sign;
use crate::webhooks::target::TargetRules;
use api::admin::actions::Done;
use api::admin::webhooks::{
    AddWebhook, ChangeWebhook, RotateWebhook, WebhookList, WebhookRow, WebhookWithSecret,
};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{ActionResult, AdminAction, PerformedAction, WebhookAction};
use kernel::ids::Id;
use kernel::operators::{NewWebhook, WebhookChange};
use kernel::ports::journal::Resource;
use kernel::webhooks::{self, Channel, StoredWebhook, WebhookEndpoint, WebhookSecret};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The context of the routes of endpoints.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct WebhookAdmin {
    /// The queue, the log, and what a preview reads.
    pub context: FanOutContext,
    /// Where an endpoint may be.
    pub rules: TargetRules,
}

/// Why an endpoint is deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// For the audit: 1 to 256 characters; `deleted` where none is given.
    reason: Option<String>,
}

/// The routes of endpoints, for the description and the server.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(get, change, delete))
        .routes(routes!(rotate))
        .merge(log::routes())
}

/// The endpoint of a path.
///
/// # Errors
/// 404: there is none; 500: the journal does not answer.
async fn find(app: &App, id: &str) -> Result<StoredWebhook, Refusal> {
    let name = webhooks::resource(webhook_id(id)?);
    let found =
        app.engine.journal().resources(name.clone()).await.map_err(no_answer("webhooks"))?;
    let found = found.into_iter().find(|one| one.name == name);
    found.and_then(|one| StoredWebhook::read(&one.value)).ok_or_else(none)
}

/// The id of a path.
fn webhook_id(text: &str) -> Result<Id, Refusal> {
    text.parse().map_err(|_| none())
}

fn none() -> Refusal {
    admin_response::refusal(engine::operators::Objection::NotFound("webhook"))
}

fn row(endpoint: &WebhookEndpoint) -> WebhookRow {
    let texts = |all: &[Arc<str>]| all.iter().map(ToString::to_string).collect();
    let text = |one: &Option<Arc<str>>| one.as_deref().map(str::to_owned);
    WebhookRow {
        id: endpoint.id.to_string(),
        channel: endpoint.channel.name().to_owned(),
        target: endpoint.target.to_string(),
        description: endpoint.description.to_string(),
        events: texts(&endpoint.filter.events),
        flows: texts(&endpoint.filter.flows),
        owner: text(&endpoint.filter.owner),
        status: endpoint.status.name().to_owned(),
        disabled_because: text(&endpoint.disabled_because),
        created_at: format::time(endpoint.created_at),
        enabled_at: format::time(endpoint.enabled_at),
        rotating_until: endpoint.rotating_until.map(format::time),
    }
}

/// The result of an action, with a secret that this request generated.
fn answer(
    performed: PerformedAction,
    secret: Option<WebhookSecret>,
    first: StatusCode,
) -> Response {
    let replayed = performed.replayed;
    let status = if replayed { StatusCode::OK } else { first };
    let response = match (&performed.outcome, secret) {
        (ActionResult::Webhook { endpoint }, Some(secret)) => {
            // the first answer showed it; a repeat is not known to come from the same person
            let shown = !replayed && endpoint.channel == Channel::Http;
            let secret = shown.then(|| secret.0.to_string());
            (status, Json(WebhookWithSecret { webhook: row(endpoint), secret })).into_response()
        }
        (ActionResult::Webhook { endpoint }, None) => (status, Json(row(endpoint))).into_response(),
        _ => (status, Json(admin_response::to_response(performed))).into_response(),
    };
    create::mark_replayed(response, replayed)
}

/// 32 random bytes, as a secret is written.
fn draw_secret(app: &App) -> WebhookSecret {
    let words = [(); 4].map(|()| app.rng.next().to_be_bytes());
    WebhookSecret(sign::encode(words.as_flattened()).into())
}

/// Every endpoint, in the order in which they were added.
#[utoipa::path(
    get, path = "/api/v1/webhooks", tag = "ops", operation_id = "list_webhooks",
    security(("token" = ["ops:read"])),
    responses((status = 200, body = WebhookList, description = "Every endpoint"))
)]
async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<WebhookList>, Refusal> {
    let found = app.engine.journal().resources(webhooks::PREFIX.into()).await;
    let read = |one: Resource| StoredWebhook::read(&one.value);
    let found = found.map_err(no_answer("webhooks"))?.into_iter().filter_map(read);
    Ok(Json(WebhookList { webhooks: found.map(|one| row(&one.endpoint)).collect() }))
}

/// One endpoint, as it is now.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{id}", tag = "ops", operation_id = "read_webhook",
    security(("token" = ["ops:read"])),
    params(("id" = String, Path, description = "The endpoint's id")),
    responses(
        (status = 200, body = WebhookRow, description = "The endpoint as it is now"),
        (status = 404, body = Problem, description = "There is none: `NOT_FOUND`"),
    )
)]
async fn get(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(id): PathParams<String>,
) -> Result<Json<WebhookRow>, Refusal> {
    Ok(Json(row(&find(&app, &id).await?.endpoint)))
}

/// Adds an endpoint. It is told of what happens from now on, signed with the secret that only this answer
/// shows.
#[utoipa::path(
    post, path = "/api/v1/webhooks", tag = "ops", request_body = AddWebhook,
    operation_id = "add_webhook", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 201, body = WebhookWithSecret, description = "It was added"),
        (status = 200, body = WebhookWithSecret, description = "It had been added under the same key before; the secret is not shown again"),
        (status = 400, body = Problem, description = "An unknown event or flow, or an address that may not be: `BAD_REQUEST`"),
        (status = 409, body = Problem, description = "There are 100: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn add(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: AddWebhook = body.read()?;
    let (reason, parsed) = (form.reason.clone(), request::new(&app, form)?);
    let secret = match parsed.channel {
        Channel::Http => draw_secret(&app),
        Channel::Email => WebhookSecret::default(),
    };
    let id = Id::new(app.engine.journal().now(), u128::from(app.rng.next()));
    let new = NewWebhook { id, secret: secret.clone(), ..parsed };
    let action = AdminAction::Webhook(WebhookAction::Add(new));
    let performed = admin_response::execute(&app, &caller, &headers, &reason, action).await?;
    Ok(answer(performed, Some(secret), StatusCode::CREATED))
}

/// Changes an endpoint, enables it or disables it. What is left out stays. A target at another host gets a new secret,
/// which only this answer shows; those before it sign nothing any more.
#[utoipa::path(
    patch, path = "/api/v1/webhooks/{id}", tag = "ops", request_body = ChangeWebhook,
    operation_id = "change_webhook", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = WebhookWithSecret, description = "The endpoint as it is now; `secret` where a new one was drawn"),
        (status = 400, body = Problem, description = "An unknown event or flow, or an address that may not be: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is none: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
async fn change(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: ChangeWebhook = body.read()?;
    let found = find(&app, &id).await?;
    let (reason, change) = (form.reason.clone(), request::change(&app, &found.endpoint, form)?);
    let signs = change.target.is_some() && found.endpoint.channel == Channel::Http;
    let secret = signs.then(|| draw_secret(&app));
    let change = WebhookChange { secret: secret.clone(), ..change };
    let action = AdminAction::Webhook(WebhookAction::Change(change));
    let performed = admin_response::execute(&app, &caller, &headers, &reason, action).await?;
    // whether it signs was decided where the endpoint was written
    let taken = match &secret {
        Some(secret) => find(&app, &id).await?.secrets.iter().any(|one| one.secret == *secret),
        None => false,
    };
    Ok(answer(performed, secret.filter(|_| taken), StatusCode::OK))
}

/// Deletes an endpoint. What waits for it is not sent.
#[utoipa::path(
    delete, path = "/api/v1/webhooks/{id}", tag = "ops", operation_id = "delete_webhook",
    security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        DeleteQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is gone: `WEBHOOK_DELETED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is none: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
async fn delete(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    QueryParams(DeleteQuery { reason }): QueryParams<DeleteQuery>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let reason = reason.unwrap_or_else(|| "deleted".to_owned());
    let action = AdminAction::Webhook(WebhookAction::Delete(webhook_id(&id)?));
    admin_response::run_action(&app, &caller, &headers, &reason, action).await
}

/// Signs with a new secret, which only this answer shows. The secrets before it sign too for the time of
/// the overlap, so that the receiver can be changed meanwhile.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/rotate", tag = "ops", request_body = RotateWebhook,
    operation_id = "rotate_webhook_secret", security(("token" = ["ops:act"])),
    params(
        ("id" = String, Path, description = "The endpoint's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = WebhookWithSecret, description = "The endpoint with its new secret"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "There is none: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "An e-mail has no secret: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn rotate(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: RotateWebhook = body.read()?;
    let overlap_ms = request::overlap(&form)?;
    let (id, secret) = (webhook_id(&id)?, draw_secret(&app));
    let rotate = WebhookAction::Rotate { id, secret: secret.clone(), overlap_ms };
    let action = AdminAction::Webhook(rotate);
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(performed, Some(secret), StatusCode::OK))
}
