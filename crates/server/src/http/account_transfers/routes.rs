//! The routes of account transfers: create and get.

use super::request::{AccountTransferRequest, fits, flow};
use super::response;
use crate::auth::{Caller, Scope};
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{RequireTransfersCreate, RequireTransfersRead, own};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::pages::openapi::descriptions;
use crate::http::transfers::{create, routes};
use crate::http::{App, no_answer};
use crate::telemetry;
use api::account_transfers::{AccountTransfer, CreateAccountTransfer, OpenedAccountTransfer};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kernel::accounts::AccountsOf;
use kernel::code::Code;
use kernel::ids::UserId;
use std::sync::Arc;

/// Moves money from one numbered account to another.
///
/// It is answered as soon as the transfer is durable; messages carry it on. The account that pays must be
/// the caller's; a service with `transfers:any` may name anyone's.
#[utoipa::path(
    post, path = "/api/transfers", tag = "transfers",
    operation_id = "create_account_transfer", security(("token" = ["transfers:create"])),
    request_body = CreateAccountTransfer,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The client's own key, bound for ever"),
        ("X-Idempotency-Key" = Option<String>, Header, description = "Another spelling of it"),
    ),
    responses(
        (status = 200, body = OpenedAccountTransfer, description = "The key was bound before: the transfer as it is now"),
        (status = 201, body = OpenedAccountTransfer, description = "It is durable and goes on; ask for it by `transferId`"),
        (status = 400, body = Problem, description = descriptions::CREATE_400),
        (status = 403, body = Problem, description = "The account that pays is not the caller's: `FORBIDDEN`"),
        (status = 409, body = Problem, description = descriptions::CREATE_409),
        (status = 422, body = Problem, description = "The asset cannot be transferred now: `ASSET_SUSPENDED`, `TRANSFER_NOT_ALLOWED`"),
        (status = 429, body = Problem, description = descriptions::CREATE_429),
        (status = 500, body = Problem, description = descriptions::CREATE_500),
        (status = 503, body = Problem, description = descriptions::CREATE_503),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireTransfersCreate(caller): RequireTransfersCreate,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: CreateAccountTransfer = body.read()?;
    fits(&form)?;
    let key = body::key(&headers, None)?;
    let user = owner(&app, &caller, &form.from_account_number).await?;
    let flow = flow(&app).ok_or_else(|| Refusal::of(Code::NotFound))?;
    let principal = Arc::clone(&caller.principal);
    let ask =
        AccountTransferRequest { principal, user, key: key.map(Into::into), flow, body: form };
    let accepted = create::create(&app, &ask).await?;
    telemetry::subject(accepted.record.id);
    let status = if accepted.replayed { StatusCode::OK } else { StatusCode::CREATED };
    let opened = response::opened(&app, &accepted.record);
    Ok(create::mark_replayed((status, Json(opened)).into_response(), accepted.replayed))
}

/// The owner of the account that pays, where the caller may move its money. An account that is not there
/// looks like another user's.
///
/// # Errors
/// 403: it is not the caller's. 500: the journal did not answer.
async fn owner(app: &App, caller: &Caller, number: &str) -> Result<UserId, Refusal> {
    let any = caller.may(Scope::TransfersAny);
    let user = if any { None } else { Some(own(caller)?) };
    let asked = AccountsOf::Numbers(vec![number.into()]);
    let found =
        app.engine.journal().numbered_accounts(asked).await.map_err(no_answer("accounts"))?;
    let owner = found.first().map(|account| account.owner);
    owner.filter(|owner| any || user == Some(*owner)).ok_or_else(|| {
        tracing::warn!(target: "security", account = number, "another user's account");
        Refusal::because(Code::Forbidden, "No account of that number is yours")
    })
}

/// An account transfer with its full history.
#[utoipa::path(
    get, path = "/api/transfers/{transferId}", tag = "transfers",
    operation_id = "read_account_transfer", security(("token" = ["transfers:read"])),
    params((
        "transferId" = String, Path, example = "0193f771-751f-0783-41d4-962e0d93e91b",
        description = "The transfer's id: UUID text, or the ULID of the same 128 bits",
    )),
    responses(
        (status = 200, body = AccountTransfer, description = "As it is now"),
        (status = 404, body = Problem, description = descriptions::UNSEEN),
    )
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    PathParams(transfer_id): PathParams<String>,
) -> Result<Json<AccountTransfer>, Refusal> {
    let flow = flow(&app).ok_or_else(|| Refusal::of(Code::NotFound))?;
    let (record, history) = routes::seen(&app, &caller, flow, &transfer_id).await?;
    Ok(Json(response::story(&app, &record, history)))
}
