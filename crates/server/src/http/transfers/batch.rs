//! Many creates in one request: checked as one, then each on its own.

use super::create;
use super::request::CreateTransfer;
use super::response::{self, Outcome, Transfer};
use super::validate::{AccountNames, TransferRequest};
use crate::auth::Caller;
use crate::http::App;
use crate::http::middleware::body::{self, Large};
use crate::http::middleware::caller::{RequireTransfersCreate, acts_for};
use crate::http::middleware::error::{self, Problem, Refusal};
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// The most creates of one batch.
pub(crate) const MOST: usize = 1_000;

/// Transfers to be made, in no order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTransfers {
    /// 1 to 1000, each with its own `cid`; equal ones are the same transfer.
    #[schema(min_items = 1, max_items = 1000)]
    transfers: Vec<CreateTransfer>,
}

/// What became of each, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchResults {
    results: Vec<BatchResult>,
}

/// What became of one create.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchResult {
    /// Its place in the request, from 0.
    #[schema(example = 0)]
    index: usize,
    /// What the create alone would have answered.
    #[schema(example = 200)]
    status: u16,
    /// The key had been used before: this is that transfer, nothing was done now.
    #[schema(example = false)]
    replayed: bool,
    #[serde(flatten)]
    answer: Answer,
}

/// The transfer, a refusal, or both.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Answer {
    Transfer(Box<Transfer>),
    #[schema(value_type = FailedItem)]
    Failed(Map<String, Value>),
    #[schema(value_type = UnmadeItem)]
    Refused(Map<String, Value>),
}

/// An item that opened nothing, or whose outcome is unknown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnmadeItem {
    /// A sentence for a person.
    #[schema(example = "An amount is a plain positive decimal, as a string")]
    error: String,
    /// One of the contract's codes.
    #[schema(example = "INVALID_AMOUNT")]
    code: String,
    /// Where the code's page is.
    #[schema(example = "/docs/errors/INVALID_AMOUNT")]
    docs: Option<String>,
    /// `unknown` where the outcome is not known: repeat it with the same `cid`.
    #[schema(example = "unknown")]
    outcome: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this differs from the first.
    #[schema(example = json!(["amount"]))]
    mismatched_fields: Option<Vec<String>>,
    /// With `OVERLOADED`: what a person has to lift first, where something is paused.
    #[schema(example = "ledger/SPOT")]
    paused: Option<String>,
}

/// An item that was opened, ended FAILED or ROLLED_BACK, and moved nothing.
#[derive(Debug, Serialize, ToSchema)]
struct FailedItem {
    #[serde(flatten)]
    unmade: UnmadeItem,
    #[serde(flatten)]
    transfer: Transfer,
}

/// Makes many transfers. They are independent: each is answered for itself, and the whole may be
/// repeated as it is.
#[utoipa::path(
    post, path = "/api/v1/internal_transfers", tag = "transfers",
    operation_id = "create_transfers", security(("token" = ["transfers:create"])),
    request_body = CreateTransfers,
    responses(
        (status = 200, body = BatchResults, description = "Each item has its own status"),
        (status = 400, body = Problem, description = "One item or the whole does not fit, nothing was opened: `BAD_REQUEST`"),
        (status = 403, body = Problem, description = "The scope is missing, or one item is of another user; nothing was opened: `FORBIDDEN`"),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireTransfersCreate(caller): RequireTransfersCreate,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Large,
) -> Result<Json<BatchResults>, Refusal> {
    let asks = asks(&caller, &body)?;
    body::no_parameters(query.as_deref())?;
    if headers.contains_key("idempotency-key") {
        return Err(Refusal::bad(
            "header `Idempotency-Key`: not here, each item has its own `cid`",
        ));
    }
    // no more at once than the engine takes in, so that none is put aside for another's sake
    let room = app.engine.intake.intake_room();
    let one = |(index, ask): (usize, TransferRequest)| {
        let app = Arc::clone(&app);
        async move { result(&app, index, &ask).await }
    };
    let running = stream::iter(asks.into_iter().enumerate()).map(one).buffer_unordered(room);
    let mut results: Vec<BatchResult> = running.collect().await;
    results.sort_by_key(|result| result.index);
    Ok(Json(BatchResults { results }))
}

/// Steps 2 and 3, for all as one: whose money, then the form.
fn asks(caller: &Caller, body: &Large) -> Result<Vec<TransferRequest>, Refusal> {
    let form: CreateTransfers = match body.0.read() {
        Ok(form) => form,
        Err(fault) => {
            for user in body.0.numbers("transfers", "user_id") {
                acts_for(caller, user)?;
            }
            return Err(fault);
        }
    };
    let users = form.transfers.iter().map(|item| acts_for(caller, item.user_id));
    let users = users.collect::<Result<Vec<_>, _>>()?;
    if form.transfers.is_empty() || form.transfers.len() > MOST {
        return Err(Refusal::bad(format!("field `transfers`: 1 to {MOST} items")));
    }
    let items = form.transfers.into_iter().zip(users).enumerate();
    items
        .map(|(index, (body, user))| {
            let name = format!("transfers[{index}].cid");
            let key = body.cid.as_deref().unwrap_or_default();
            body::visible(&name, key, body::KEY)?;
            let (key, principal) = (Some(key.into()), Arc::clone(&caller.principal));
            Ok(TransferRequest { principal, user, key, names: AccountNames::Plain, body })
        })
        .collect()
}

async fn result(app: &App, index: usize, ask: &TransferRequest) -> BatchResult {
    let accepted = match create::create(app, ask).await {
        Ok(accepted) => accepted,
        Err(refusal) => {
            let status = error::status(refusal.code).as_u16();
            let answer = Answer::Refused(refusal.fields());
            return BatchResult { index, status, replayed: false, answer };
        }
    };
    let (outcome, transfer) = response::create_response(app, &accepted);
    let answer = match outcome {
        Outcome::Committed | Outcome::Pending => Answer::Transfer(Box::new(transfer)),
        Outcome::Failed => {
            let refusal = response::failed(&accepted.record, &transfer.message, &transfer);
            Answer::Failed(refusal.fields())
        }
    };
    BatchResult { index, status: outcome.status().as_u16(), replayed: accepted.replayed, answer }
}
