//! Stopping all money, and letting it move again.

use super::super::App;
use super::super::body::Body;
use super::super::caller::Acts;
use super::super::error::{Problem, Refusal};
use super::done::{self, AcceptedBreak, Done, Why};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::deeds::Deed;
use kernel::people::Accepted;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Why money may move again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// Why, for the audit: 1 to 256 characters.
    #[schema(
        min_length = 1,
        max_length = 256,
        example = "the ledger was restored and every break is explained in ticket 4711"
    )]
    pub reason: String,
    /// The breaks of conservation that are accepted, each with its exact amount. Any other one
    /// stops money again.
    #[serde(default)]
    pub accept: Vec<AcceptedBreak>,
}

/// Stops all money: no claim is written and no call with an effect is begun until persons resume.
/// Answers when what had begun before has ended, or lists what is still on the wire.
#[utoipa::path(
    post, path = "/api/v1/ops/halt", tag = "ops", request_body = Why,
    operation_id = "halt_money", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = Done, description = "No money moves"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
    )
)]
pub(in super::super) async fn halt(
    State(app): State<Arc<App>>,
    Acts(caller): Acts,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let why: Why = body.read()?;
    done::done(&app, &caller, &headers, &why.reason, Deed::Halt).await
}

/// Proposes that money moves again. When another person approves, a fresh proof of conservation is
/// made: a break that was not accepted with its exact amount refuses.
#[utoipa::path(
    post, path = "/api/v1/ops/resume", tag = "ops", request_body = Resume,
    operation_id = "resume_money", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = Done, description = "Money moves: with `ops.four_eyes` off"),
        (status = 202, body = Done, description = "Another person has to approve"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 409, body = Problem, description = "`NOT_POSSIBLE` (there is no HALT), `BREAKS_NOT_ACCEPTED` or `DUPLICATE_REQUEST`"),
    )
)]
pub(in super::super) async fn resume(
    State(app): State<Arc<App>>,
    Acts(caller): Acts,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Resume = body.read()?;
    if form.accept.len() > 1000 {
        return Err(Refusal::bad("field `accept`: at most 1000 breaks"));
    }
    let accept = form.accept.iter().map(accepted).collect::<Result<_, _>>()?;
    done::done(&app, &caller, &headers, &form.reason, Deed::Resume { accept }).await
}

fn accepted(form: &AcceptedBreak) -> Result<Accepted, Refusal> {
    let unfit = || Refusal::bad("field `accept`: a key and a whole number of base units as text");
    if form.key.is_empty() || form.key.len() > 256 {
        return Err(unfit());
    }
    let amount = form.amount.parse().map_err(|_| unfit())?;
    Ok(Accepted { key: form.key.as_str().into(), amount })
}
