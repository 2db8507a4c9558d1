//! The v2 source's spelling of the same flow: lower case, UUID text, times in milliseconds.

use super::request::{CreateTransfer, Metadata, Reference};
use super::response::{self, Outcome};
use super::validate::{AccountNames, TransferRequest};
use super::{create, routes};
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{RequireTransfersCreate, RequireTransfersRead, acts_for};
use crate::http::middleware::error::{Problem, Refusal};
use crate::http::middleware::path_params::PathParams;
use crate::http::pages::openapi::descriptions;
use crate::http::{App, format};
use crate::telemetry;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use kernel::ids::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// A transfer between two accounts of one user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateV2 {
    /// The account that pays: `funding` or `trading`; `future` and `margin` where configured.
    #[schema(example = "funding")]
    from: String,
    /// The account that receives.
    #[schema(example = "trading")]
    to: String,
    /// For whom; the token's own user, or with `transfers:any` the user that is named (then required).
    #[serde(default)]
    #[schema(example = 4001)]
    user_id: Option<u64>,
    /// The symbol of the asset that moves.
    #[schema(example = "BTC")]
    asset: String,
    /// A plain positive decimal in the asset's unit, with at most its decimals.
    #[schema(example = "1.5")]
    amount: String,
    /// The client's own key, as in the other spelling; the same key there is the same transfer.
    #[serde(default)]
    cid: Option<String>,
    /// The client's own reference, as in the other spelling.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    reference: Option<Reference>,
    /// The client's own words, as in the other spelling.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    metadata: Option<Metadata>,
}

/// What became of a create.
#[derive(Debug, Serialize, ToSchema)]
pub struct MadeV2 {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    req_id: String,
    /// `committed`, `pending` or `failed` (it ended and moved nothing).
    #[schema(example = "committed")]
    status: &'static str,
    /// The same as a sentence.
    message: String,
}

/// A transfer that moved no money in the end: an error and the answer in one.
#[derive(Debug, Serialize, ToSchema)]
pub struct FailedV2 {
    #[serde(flatten)]
    problem: Problem,
    #[serde(flatten)]
    made: MadeV2,
}

/// A create that is well-formed and does not end well.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "two bodies of one status, for the description")]
enum UnmadeV2 {
    Ended(Box<FailedV2>),
    Refused(Box<Problem>),
}

/// A transfer in the v2 spelling.
#[derive(Debug, Serialize, ToSchema)]
pub struct TransferV2 {
    /// The transfer's id, as UUID text.
    #[schema(example = "0193f771-751f-0783-41d4-962e0d93e91b")]
    req_id: String,
    /// `init`, `source_pending`, `source_done`, `target_pending`, `compensating`, `committed`,
    /// `rolled_back` or `failed`.
    #[schema(example = "committed")]
    state: String,
    /// The account that pays.
    #[schema(example = "funding")]
    from: &'static str,
    /// The account that receives.
    #[schema(example = "trading")]
    to: &'static str,
    /// The user whose transfer it is.
    user_id: u64,
    /// The symbol of the asset that moves.
    asset: String,
    /// In the asset's unit.
    amount: String,
    /// Where it stands, as a sentence.
    message: String,
    /// The last refusal, or the cause of the last unclear answer.
    error: Option<String>,
    /// Unclear answers so far.
    #[schema(example = 0)]
    retry_count: u32,
    /// The client's key, where one was given.
    cid: Option<String>,
    /// The client's own reference, where one was given.
    reference: Option<String>,
    /// The client's own words.
    metadata: BTreeMap<String, String>,
    /// When it was opened, in milliseconds since 1970.
    #[schema(value_type = u64, example = 1_702_400_000_000_u64)]
    created_at: Millis,
    /// When it was last written, in milliseconds since 1970.
    #[schema(value_type = u64, example = 1_702_400_000_250_u64)]
    updated_at: Millis,
}

/// Moves money between two accounts of one user (the v2 spelling).
#[utoipa::path(
    post, path = "/api/v1/transfer", tag = "transfers",
    operation_id = "create_transfer_v2", security(("token" = ["transfers:create"])),
    request_body = CreateV2,
    params(("Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`")),
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
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: CreateV2 = match body.read() {
        Ok(form) => form,
        Err(fault) => {
            acts_for(&caller, body.number("user_id"))?;
            return Err(fault);
        }
    };
    let user = acts_for(&caller, form.user_id)?;
    body::no_parameters(query.as_deref())?;
    let key = body::key(&headers, form.cid.as_deref())?;
    let principal = Arc::clone(&caller.principal);
    let (key, body) = (key.map(Into::into), form.plain());
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
        status,
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

impl CreateV2 {
    /// The same request; its account types keep the names that they came with.
    fn plain(self) -> CreateTransfer {
        let Self { from, to, user_id, asset, amount, cid, reference, metadata } = self;
        CreateTransfer { from, to, asset, amount, cid, user_id, reference, metadata }
    }
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
        from: AccountNames::V2.of(&record.terms.source),
        to: AccountNames::V2.of(&record.terms.target),
        user_id: record.terms.owner.number(),
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
