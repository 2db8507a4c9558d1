//! The operators' routes for dead letters: read them, and redrive them to the topic that they came from.

use super::{DryRunQuery, MessagesPreview, ReasonCount, previewed};
use crate::http::admin::{admin_response, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::Done;
use api::admin::pipeline::{DeadLetterMessage, DeadLetters, RedriveDeadLetters};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::messaging::DeadLetter;
use engine::messaging::dead_letter::header;
use engine::operators::{AdminAction, Redrive};
use kernel::ids::Id;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The default maximum of messages that are looked at.
const MOST: u64 = 100;
/// The default maximum of messages that are sent in a second.
const PER_SECOND: u32 = 50;
/// The default number of times that a message goes back before it is passed over.
const REPLAYS: u32 = 3;

/// How many dead letters are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeadLettersQuery {
    /// Maximum number of rows, from 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// The routes of dead letters, for the description and the server.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(redrive))
}

/// What waits on a topic of dead letters.
#[utoipa::path(
    get, path = "/api/v1/ops/dlt/{topic}", tag = "ops",
    operation_id = "list_dead_letters", security(("token" = ["ops:read"])),
    params(
        ("topic" = String, Path, description = "The topic of dead letters", example = "transfer-execution-dlt"),
        DeadLettersQuery,
    ),
    responses(
        (status = 200, body = DeadLetters, description = "The first of them"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such topic: `NOT_FOUND`"),
        (status = 500, body = Problem, description = "The bus does not answer: `SYSTEM_ERROR`"),
    )
)]
async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(topic): PathParams<String>,
    QueryParams(query): QueryParams<DeadLettersQuery>,
) -> Result<Json<DeadLetters>, Refusal> {
    let limit = limit(query.limit)?;
    if !app.engine.messaging.dead_letter_topics().iter().any(|known| **known == *topic) {
        return Err(Refusal::no_such("topic"));
    }
    let found = app
        .engine
        .messaging
        .dead_letters(&topic, limit)
        .await
        .map_err(no_answer("dead letters"))?;
    let messages = found.letters.into_iter().map(row).collect();
    Ok(Json(DeadLetters { topic, waiting: found.waiting, messages }))
}

fn row(letter: DeadLetter) -> DeadLetterMessage {
    let text = |name: &str| letter.header(name).to_owned();
    let first = letter.header(header::FIRST_FAILED).parse().ok();
    DeadLetterMessage {
        id: format::uuid(Id(letter.delivery.message.number)),
        partition: letter.delivery.partition.number,
        offset: letter.delivery.offset,
        key: letter.delivery.message.key.to_string(),
        reason: text(header::REASON),
        group: text(header::GROUP),
        original_topic: text(header::TOPIC),
        replays: letter.replays(),
        first_failed_at: first.map(format::time),
        payload: letter.delivery.message.payload.to_string(),
        headers: letter.headers,
    }
}

/// Sends dead letters back to the topic that they came from, under the ids that they have. One that can
/// still not be consumed comes back.
#[utoipa::path(
    post, path = "/api/v1/ops/dlt/{topic}/redrive", tag = "ops", request_body = RedriveDeadLetters,
    operation_id = "redrive_dead_letters", security(("token" = ["ops:act"])),
    params(
        ("topic" = String, Path, description = "The topic of dead letters", example = "transfer-execution-dlt"),
        DryRunQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "They went back: `REDRIVEN`; with `dry_run` a `MessagesPreview` of which would"),
        (status = 400, body = Problem, description = "Too many at once: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such topic: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same key: `SYSTEM_ERROR`"),
    )
)]
#[expect(clippy::too_many_arguments, reason = "one extractor each")]
async fn redrive(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(topic): PathParams<String>,
    QueryParams(query): QueryParams<DryRunQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: RedriveDeadLetters = body.read()?;
    let asked = Redrive {
        topic: topic.into(),
        most: form.most.unwrap_or(MOST),
        per_second: form.per_second.unwrap_or(PER_SECOND),
        replays: form.max_replays.unwrap_or(REPLAYS),
    };
    if query.dry_run {
        let reasons =
            app.engine.operators.redrive_preview(&asked).await.map_err(admin_response::refusal)?;
        let reasons: Vec<ReasonCount> = reasons
            .into_iter()
            .map(|(reason, messages, passed_over)| ReasonCount { reason, messages, passed_over })
            .collect();
        let messages = reasons.iter().map(|reason| reason.messages).sum();
        let passed_over = reasons.iter().map(|reason| reason.passed_over).sum();
        let preview = MessagesPreview { messages, passed_over, reasons, ..Default::default() };
        return Ok(previewed(preview));
    }
    let action = AdminAction::Redrive(asked);
    admin_response::run_action(&app, &caller, &headers, &form.reason, action).await
}
