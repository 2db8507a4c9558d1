//! The operators' routes for approvals: list, approve and reject proposals that need a second person.

use super::admin_response;
use super::{cursor, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsApprove, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::{Done, ReasonBody};
use api::admin::approvals::{ApprovalRow, Approvals};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::ids::Id;
use kernel::operators::{Approval, ApprovalStatus};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which approvals are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ApprovalsQuery {
    /// `PENDING`, `APPROVED`, `REJECTED`, `SUPERSEDED` or `LAPSED`; all where nothing is said.
    #[param(pattern = "^(PENDING|APPROVED|REJECTED|SUPERSEDED|LAPSED)$")]
    status: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// What waits, and what was decided.
#[utoipa::path(
    get, path = "/api/v1/ops/approvals", tag = "ops", params(ApprovalsQuery),
    operation_id = "list_approvals", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Approvals, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<ApprovalsQuery>,
) -> Result<Json<Approvals>, Refusal> {
    let unfit = || {
        let all = "`PENDING`, `APPROVED`, `REJECTED`, `SUPERSEDED` or `LAPSED`";
        Refusal::bad(format!("`status`: {all}"))
    };
    let stand = query.status.as_deref().map(|text| ApprovalStatus::parse(text).ok_or_else(unfit));
    let (before, limit) = (cursor::<Id>(query.cursor.as_deref())?, limit(query.limit)?);
    let found = app.admin_queries.approvals(stand.transpose()?, before, limit).await;
    let found = found.map_err(no_answer("approvals"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.id.to_string());
    Ok(Json(Approvals { approvals: found.iter().map(shown).collect(), next }))
}

fn shown(approval: &Approval) -> ApprovalRow {
    ApprovalRow {
        id: approval.id.to_string(),
        kind: approval.kind.to_string(),
        subject: approval.subject.to_string(),
        value: serde_json::from_str(&approval.value).unwrap_or_default(),
        reason: approval.reason.to_string(),
        by: approval.caller.to_string(),
        at: format::time(approval.at),
        status: approval.stand.name().to_owned(),
        expires_at: format::time(approval.expires_at),
        decided_by: approval.decided.as_ref().map(|(who, _)| who.to_string()),
        decided_at: approval.decided.as_ref().map(|(_, at)| format::time(*at)),
    }
}

/// Approves what another person proposed. It takes effect now: a verdict only as far as the ledger
/// bears it out, a resume only of the halt that it names and where every break is accepted.
#[utoipa::path(
    post, path = "/api/v1/ops/approvals/{id}/approve", tag = "ops", request_body = ReasonBody,
    operation_id = "approve_proposal", security(("token" = ["ops:approve"])),
    params(
        ("id" = String, Path, description = "The approval"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "What it came to: `RESUMED`, `RESOLVED`, `DEPOSITED`, `WITHDRAWN`, `UNPAUSED`, `STATUS_SET`, `ACCOUNT_SET`, or `SUPERSEDED` where something else was done meanwhile"),
        (status = 202, body = Done, description = "`PROVING`: a resume whose proof takes longer; repeat it with the same `Idempotency-Key`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such approval: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`ALREADY_DECIDED`, `BREAKS_NOT_ACCEPTED`, `NOT_POSSIBLE` or `DUPLICATE_REQUEST`"),
        (status = 422, body = Problem, description = "A deposit that the account does not take: `ACCOUNT_DISABLED`, `ACCOUNT_CLOSED`; it still waits"),
        (status = 503, body = Problem, description = "`HALTED`: no fence is called and no deposit booked; it still waits. `OVERLOADED`"),
    )
)]
pub(in crate::http) async fn approve(
    State(app): State<Arc<App>>,
    RequireOpsApprove(caller): RequireOpsApprove,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let id = id.parse().map_err(|_| Refusal::no_such("approval"))?;
    let why: ReasonBody = body.read()?;
    admin_response::run_action(&app, &caller, &headers, &why.reason, AdminAction::Approve(id)).await
}

/// Refuses a proposal; nothing takes effect. The person who proposed may do that too.
#[utoipa::path(
    post, path = "/api/v1/ops/approvals/{id}/reject", tag = "ops", request_body = ReasonBody,
    operation_id = "reject_proposal", security(("token" = ["ops:approve"])),
    params(
        ("id" = String, Path, description = "The approval"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is rejected: `REFUSED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such approval: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`ALREADY_DECIDED` or `DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn reject(
    State(app): State<Arc<App>>,
    RequireOpsApprove(caller): RequireOpsApprove,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let id = id.parse().map_err(|_| Refusal::no_such("approval"))?;
    let why: ReasonBody = body.read()?;
    admin_response::run_action(&app, &caller, &headers, &why.reason, AdminAction::Reject(id)).await
}
