//! The operators' routes for cases, the questions that the service asks people: list, read, assign and comment.

use super::admin_response;
use super::{cursor, limit};
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::Done;
use api::admin::cases::{Assign, Case, CaseNote, CaseStory, Cases, Comment};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::operators::{Note, Subject};
use kernel::ports::admin_queries::{CaseRow, NoteRow};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which cases are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct CasesQuery {
    /// `open`, `closed` or `all`; `open` where nothing is said.
    #[param(pattern = "^(open|closed|all)$", default = "open")]
    status: Option<String>,
    /// Only about this: `service`, `transfer/<id>`, `user/4001`, `ledger/SPOT`.
    subject: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Cases of one status or of all, newest first.
#[utoipa::path(
    get, path = "/api/v1/cases", tag = "ops", params(CasesQuery),
    operation_id = "list_cases", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Cases, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<CasesQuery>,
) -> Result<Json<Cases>, Refusal> {
    let open = match query.status.as_deref() {
        None | Some("open" | "OPEN") => Some(true),
        Some("closed" | "CLOSED") => Some(false),
        Some("all" | "ALL") => None,
        Some(_) => return Err(Refusal::bad("`status`: `open`, `closed` or `all`")),
    };
    let unfit =
        || Refusal::bad("`subject`: `service`, `transfer/<id>`, `user/4001` or `ledger/SPOT`");
    let subject = query.subject.as_deref().map(|text| Subject::parse(text).ok_or_else(unfit));
    let (before, limit) = (cursor(query.cursor.as_deref())?, limit(query.limit)?);
    let found = app.admin_queries.cases(open, subject.transpose()?, before, limit).await;
    let found = found.map_err(no_answer("cases"))?;
    let next =
        found.last().filter(|_| found.len() == limit).map(|last| last.opened.number.to_string());
    Ok(Json(Cases { cases: found.iter().map(shown).collect(), next }))
}

/// A case as it is shown.
fn shown(case: &CaseRow) -> Case {
    let opened = &case.opened;
    Case {
        id: opened.number,
        kind: opened.kind.to_string(),
        severity: opened.severity.name().to_owned(),
        subject: opened.subject.to_string(),
        facts: opened.facts.to_string(),
        status: if case.closed.is_some() { "CLOSED" } else { "OPEN" }.to_owned(),
        opened_at: format::time(opened.opened_at),
        closed_at: case.closed.as_ref().map(|(_, at)| format::time(*at)),
        closed_by: case.closed.as_ref().map(|(fact, _)| fact.to_string()),
        assigned: case.assigned.as_ref().map(ToString::to_string),
    }
}

/// A case with its notes.
#[utoipa::path(
    get, path = "/api/v1/cases/{id}", tag = "ops",
    operation_id = "get_case", security(("token" = ["ops:read"])),
    params(("id" = u64, Path, description = "The case")),
    responses(
        (status = 200, body = CaseStory, description = "The case"),
        (status = 404, body = Problem, description = "No such case: `NOT_FOUND`"),
    )
)]
pub(in crate::http) async fn get(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(number): PathParams<u64>,
) -> Result<Json<CaseStory>, Refusal> {
    let found = app.admin_queries.case(number).await.map_err(no_answer("case"))?;
    let (case, notes) = found.ok_or_else(|| Refusal::no_such("case"))?;
    let notes = notes.into_iter().map(noted).collect();
    Ok(Json(CaseStory { case: shown(&case), notes }))
}

fn noted(row: NoteRow) -> CaseNote {
    let (assigned, comment) = match row.note {
        Note::Assigned(to) => (Some(to.to_string()), None),
        Note::Comment(text) => (None, Some(text.to_string())),
    };
    CaseNote { at: format::time(row.at), by: row.caller.to_string(), assigned, comment }
}

/// Says who looks after a case.
#[utoipa::path(
    post, path = "/api/v1/cases/{id}/assign", tag = "ops", request_body = Assign,
    operation_id = "assign_case", security(("token" = ["ops:act"])),
    params(
        ("id" = u64, Path, description = "The case"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is noted: `NOTED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such case: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn assign(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(case): PathParams<u64>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Assign = body.read()?;
    words("to", &form.to, 128)?;
    let action = AdminAction::Assign { case, to: form.to.as_str().into() };
    admin_response::run_action(
        &app,
        &caller,
        &headers,
        form.reason.as_deref().unwrap_or("assigned"),
        action,
    )
    .await
}

/// Adds words to a case.
#[utoipa::path(
    post, path = "/api/v1/cases/{id}/comment", tag = "ops", request_body = Comment,
    operation_id = "comment_case", security(("token" = ["ops:act"])),
    params(
        ("id" = u64, Path, description = "The case"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It is noted: `NOTED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such case: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn comment(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(case): PathParams<u64>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: Comment = body.read()?;
    words("text", &form.text, 2000)?;
    let action = AdminAction::Comment { case, text: form.text.as_str().into() };
    admin_response::run_action(&app, &caller, &headers, "commented", action).await
}

/// Words that people can read later; a line may end.
fn words(name: &str, text: &str, most: usize) -> Result<(), Refusal> {
    let fits = (1..=most).contains(&text.chars().count())
        && !text.trim().is_empty()
        && !text.chars().any(|c| c.is_control() && c != '\n');
    let refuse = || Refusal::bad(format!("field `{name}`: 1 to {most} characters, no controls"));
    fits.then_some(()).ok_or_else(refuse)
}
