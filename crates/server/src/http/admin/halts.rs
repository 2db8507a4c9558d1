//! The operators' routes that halt all money and propose its resume.

use super::admin_response;
use super::{cursor, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireHalt, RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::{AcceptedBreak, Done, ReasonBody};
use api::admin::halts::{HaltRow, Halts, Resume};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::operators::{Accepted, Halt};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which halts are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct HaltsQuery {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Every HALT that was raised, by a person or by the service, with its number and reason. Those without
/// `lifted_at` stand together, and a resume lifts all of them.
#[utoipa::path(
    get, path = "/api/v1/ops/halts", tag = "ops", params(HaltsQuery),
    operation_id = "list_halts", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Halts, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<HaltsQuery>,
) -> Result<Json<Halts>, Refusal> {
    let (before, limit) = (cursor::<u64>(query.cursor.as_deref())?, limit(query.limit)?);
    let found = app.admin_queries.halts(before, limit).await.map_err(no_answer("halts"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.number.to_string());
    Ok(Json(Halts { halts: found.into_iter().map(row).collect(), next }))
}

fn row(halt: Halt) -> HaltRow {
    HaltRow {
        number: halt.number,
        reason: halt.reason.to_string(),
        at: format::time(halt.at),
        lifted_at: halt.resumed_at.map(format::time),
    }
}

/// Stops all money: no claim is written and no call with an effect is begun until persons resume.
/// Answers when what had begun before has ended, or lists what is still on the wire.
#[utoipa::path(
    post, path = "/api/v1/ops/halt", tag = "ops", request_body = ReasonBody,
    operation_id = "halt_money", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = Done, description = "No money moves: `HALTED`"),
        (status = 202, body = Done, description = "The store takes no writes: `HALTED` with `stored` false. The HALT stands in this process alone; repeat it under its key"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
    )
)]
pub(in crate::http) async fn halt(
    State(app): State<Arc<App>>,
    RequireHalt(caller): RequireHalt,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let why: ReasonBody = body.read()?;
    admin_response::run_action(&app, &caller, &headers, &why.reason, AdminAction::Halt).await
}

/// Proposes that money moves again, after the last halt that stands: the proposal names its number, and
/// a halt that is raised later needs a proposal of its own. When another person approves, a fresh proof
/// of conservation is made: a break that was not accepted with its exact amount refuses.
#[utoipa::path(
    post, path = "/api/v1/ops/resume", tag = "ops", request_body = Resume,
    operation_id = "resume_money", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = Done, description = "Money moves: `RESUMED`, with `ops.four_eyes` off"),
        (status = 202, body = Done, description = "Another person has to approve: `PROPOSED`; or `PROVING`, with `ops.four_eyes` off"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` (there is no HALT), `BREAKS_NOT_ACCEPTED` or `DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn resume(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Resume = body.read()?;
    if form.accept.len() > 1000 {
        return Err(Refusal::bad("field `accept`: at most 1000 breaks"));
    }
    let accept = form.accept.iter().map(accepted).collect::<Result<_, _>>()?;
    admin_response::run_action(
        &app,
        &caller,
        &headers,
        &form.reason,
        AdminAction::Resume { accept },
    )
    .await
}

fn accepted(form: &AcceptedBreak) -> Result<Accepted, Refusal> {
    let unfit = || Refusal::bad("field `accept`: a key and a whole number of base units as text");
    if form.key.is_empty() || form.key.len() > 256 {
        return Err(unfit());
    }
    let amount = form.amount.parse().map_err(|_| unfit())?;
    Ok(Accepted { key: form.key.as_str().into(), amount })
}
