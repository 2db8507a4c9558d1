//! The routes of internal transfers: create and get.

use super::create;
use super::dry_run;
use super::response::{self, Outcome};
use super::validate::{AccountNames, TransferRequest};
use crate::auth::Caller;
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{
    RequireTransfersCreate, RequireTransfersRead, acts_for, unfit_body,
};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::pages::openapi::descriptions;
use crate::http::{App, format, no_answer};
use crate::telemetry;
use api::problem::Problem;
use api::transfers::{CreateResult, CreateTransfer, Transfer, TransferStory, UnsuccessfulCreate};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use kernel::ids::{FlowId, UserId};
use kernel::ports::journal::Linked;
use kernel::record::Record;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// How a create is meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CreateQuery {
    /// Only say what would become of it: nothing is written, nothing is counted.
    #[serde(default)]
    #[param(required = false)]
    dry_run: bool,
}

/// Moves money between two accounts of one user.
#[utoipa::path(
    post, path = "/api/v1/internal_transfer", tag = "transfers",
    operation_id = "create_transfer", security(("token" = ["transfers:create"])),
    request_body = CreateTransfer,
    params(
        CreateQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`"),
        ("X-Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`"),
    ),
    responses(
        (status = 200, body = CreateResult, description = "It ended COMMITTED; with `dry_run` what would become of it"),
        (status = 202, body = Transfer, description = "It is durable and goes on; ask for it by `req_id`"),
        (status = 400, body = Problem, description = descriptions::CREATE_400),
        (status = 409, body = Problem, description = descriptions::CREATE_409),
        (status = 422, body = UnsuccessfulCreate, description = descriptions::CREATE_422),
        (status = 429, body = Problem, description = descriptions::CREATE_429),
        (status = 500, body = Problem, description = descriptions::CREATE_500),
        (status = 503, body = Problem, description = descriptions::CREATE_503),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireTransfersCreate(caller): RequireTransfersCreate,
    query: Result<QueryParams<CreateQuery>, Refusal>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let ask = ask(&caller, &headers, &body)?;
    // a parameter that is ignored moves money that the caller meant to keep (`?dryrun=true`)
    let QueryParams(query) = query?;
    if query.dry_run {
        return dry_run::would(&app, &ask).await;
    }
    let accepted = create::create(&app, &ask).await?;
    telemetry::subject(accepted.record.id);
    let (outcome, transfer) = response::create_response(&app, &accepted);
    let response = match outcome {
        Outcome::Committed | Outcome::Pending => (outcome.status(), Json(transfer)).into_response(),
        Outcome::Failed => {
            let refusal = response::failed(&accepted.record, &transfer.message, &transfer);
            (outcome.status(), refusal).into_response()
        }
    };
    Ok(create::mark_replayed(response, accepted.replayed))
}

/// Steps 2 and 3: whose money, then the form.
fn ask(caller: &Caller, headers: &HeaderMap, body: &Body) -> Result<TransferRequest, Refusal> {
    let unfit = |fault| unfit_body(caller, [body.user("user_id")], fault);
    let form: CreateTransfer = body.read().map_err(unfit)?;
    let user: UserId = acts_for(caller, form.user_id)?;
    let key = body::key(headers, form.cid.as_deref())?;
    let principal = Arc::clone(&caller.principal);
    Ok(TransferRequest {
        principal,
        user,
        key: key.map(Into::into),
        names: AccountNames::Plain,
        body: form,
    })
}

/// A transfer with its full history.
#[utoipa::path(
    get, path = "/api/v1/internal_transfer/{req_id}", tag = "transfers",
    operation_id = "read_transfer", security(("token" = ["transfers:read"])),
    params((
        "req_id" = String, Path, example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V",
        description = "The transfer's id: the ULID, or UUID text of the same 128 bits",
    )),
    responses(
        (status = 200, body = TransferStory, description = "As it is now"),
        (status = 404, body = Problem, description = descriptions::UNSEEN),
    )
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    PathParams(req_id): PathParams<String>,
) -> Result<Json<TransferStory>, Refusal> {
    let (record, history) = seen(&app, &caller, app.internal, &req_id).await?;
    let table = app.engine.flows().table(record.flow);
    Ok(Json(TransferStory {
        transfer: response::exact(&app, &record),
        error: record.error.as_ref().map(|error| error.code.to_string()),
        retry_count: record.head.retries,
        history: history.into_iter().map(|linked| response::entry(table, linked)).collect(),
    }))
}

/// A transfer of a flow that the caller may see, in either spelling of its id.
///
/// # Errors
/// 404: none that the caller may see, which looks the same as none. 500: the journal did not answer.
pub(crate) async fn seen(
    app: &App,
    caller: &Caller,
    flow: FlowId,
    req_id: &str,
) -> Result<(Record, Vec<Linked>), Refusal> {
    let nothing = || Refusal::no_such("transfer");
    let id = format::id(req_id).ok_or_else(nothing)?;
    telemetry::subject(id);
    let found = app.engine.transfer(id).await.map_err(no_answer("get"))?;
    let ours = |record: &Record| record.flow == flow && response::may_see(app, caller, record);
    found.filter(|(record, _)| ours(record)).ok_or_else(nothing)
}
