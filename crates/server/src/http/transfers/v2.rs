//! The routes of internal transfers in the v2 source's spelling: lower case, UUID text, times in milliseconds.

use super::response::{self, Outcome};
use super::validate::{AccountNames, TransferRequest};
use super::{create, routes};
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{
    RequireTransfersCreate, RequireTransfersRead, acts_for, unfit_body,
};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::pages::openapi::descriptions;
use crate::http::{App, format};
use crate::telemetry;
use api::problem::Problem;
use api::transfers::CreateTransfer;
use api::transfers_v2::{CreateV2, MadeV2, TransferV2, UnmadeV2};
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Moves money between two accounts of one user (the v2 spelling).
#[utoipa::path(
    post, path = "/api/v1/transfer", tag = "transfers",
    operation_id = "create_transfer_v2", security(("token" = ["transfers:create"])),
    request_body = CreateV2,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`"),
        ("X-Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`"),
    ),
    responses(
        (status = 200, body = MadeV2, description = "It ended committed"),
        (status = 202, body = MadeV2, description = "It is durable and goes on; ask for it by `req_id`"),
        (status = 400, body = Problem, description = descriptions::CREATE_400),
        (status = 409, body = Problem, description = descriptions::CREATE_409),
        (status = 422, body = UnmadeV2, description = descriptions::CREATE_422),
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
    let unfit = |fault| unfit_body(&caller, [body.user("user_id")], fault);
    let form: CreateV2 = body.read().map_err(unfit)?;
    let user = acts_for(&caller, form.user_id)?;
    let key = body::key(&headers, form.cid.as_deref())?;
    let principal = Arc::clone(&caller.principal);
    let (key, body) = (key.map(Into::into), plain(form));
    let ask = TransferRequest { principal, user, key, names: AccountNames::V2, body };
    let accepted = create::create(&app, &ask).await?;
    let record = &accepted.record;
    telemetry::subject(record.id);
    let (outcome, _) = Outcome::of(&app, record);
    let status = match outcome {
        Outcome::Committed => "committed",
        Outcome::Pending => "pending",
        Outcome::Failed => "failed",
    };
    let made = MadeV2 {
        req_id: format::uuid(record.id),
        status: status.to_owned(),
        message: response::message(&app, record),
    };
    let response = match outcome {
        Outcome::Committed | Outcome::Pending => (outcome.status(), Json(made)).into_response(),
        Outcome::Failed => {
            (outcome.status(), response::failed(record, &made.message, &made)).into_response()
        }
    };
    Ok(create::mark_replayed(response, accepted.replayed))
}

/// The same request; its account types keep the names that they came with.
fn plain(form: CreateV2) -> CreateTransfer {
    let CreateV2 { from, to, user_id, asset, amount, cid, reference, metadata } = form;
    CreateTransfer { from, to, asset, amount, cid, user_id, reference, metadata }
}

/// A transfer (the v2 spelling).
#[utoipa::path(
    get, path = "/api/v1/transfer/{req_id}", tag = "transfers",
    operation_id = "read_transfer_v2", security(("token" = ["transfers:read"])),
    params((
        "req_id" = String, Path, example = "0193f771-751f-0783-41d4-962e0d93e91b",
        description = "The transfer's id: UUID text, or the ULID of the same 128 bits",
    )),
    responses(
        (status = 200, body = TransferV2, description = "As it is now"),
        (status = 404, body = Problem, description = descriptions::UNSEEN),
    )
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    PathParams(req_id): PathParams<String>,
) -> Result<Json<TransferV2>, Refusal> {
    let (record, _) = routes::seen(&app, &caller, app.internal, &req_id).await?;
    let transfer = response::exact(&app, &record);
    Ok(Json(TransferV2 {
        req_id: format::uuid(record.id),
        state: transfer.state.to_lowercase(),
        from: AccountNames::V2.of(&record.terms.source).to_owned(),
        to: AccountNames::V2.of(&record.terms.target).to_owned(),
        user_id: UserIdText(record.terms.owner.number()),
        asset: transfer.asset,
        amount: transfer.amount,
        message: transfer.message,
        error: record.error.as_ref().map(|error| error.code.to_string()),
        retry_count: record.head.retries,
        cid: transfer.cid,
        reference: transfer.reference,
        metadata: transfer.metadata,
        created_at: record.created_at,
        updated_at: record.updated_at,
    }))
}
