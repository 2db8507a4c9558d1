//! Many creates of the relay in one request: form and size checked as one, then each on its own.

use super::intake::{OfferedRelay, offered};
use super::request::{CreateRelayTransfer, KEY, RelayTransferRequest};
use super::response::{self, OpenedRelayTransfer};
use crate::auth::Caller;
use crate::http::App;
use crate::http::middleware::body::{self, Large};
use crate::http::middleware::caller::RequireRelayCreate;
use crate::http::middleware::error::{self, Problem, Refusal};
use crate::http::transfers::batch::{MOST, UnmadeItem};
use crate::http::transfers::create;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use futures_util::{StreamExt, stream};
use kernel::code::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// Payments from the relay's account, in no order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelayTransfers {
    /// 1 to 1000, each with its own key; equal ones are the same transfer.
    #[schema(min_items = 1, max_items = 1000)]
    transfers: Vec<KeyedRelayTransfer>,
}

/// One payment of many.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyedRelayTransfer {
    /// The transfer's name, bound for ever: 1 to 128 visible ASCII characters. An item without one is refused, and
    /// the others go on.
    #[serde(default)]
    #[schema(example = "payout-7", required = true)]
    key: String,
    /// The account on NEAR that is paid.
    #[schema(example = "alice.near")]
    receiver_id: String,
    /// How much, in the token's base units: digits alone.
    #[schema(example = "1000000")]
    amount: String,
}

/// What became of each, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayBatchResults {
    results: Vec<RelayBatchResult>,
}

/// What became of one payment.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelayBatchResult {
    /// Its place in the request, from 0.
    #[schema(example = 0)]
    index: usize,
    /// What the create alone would have answered, as the status of HTTP.
    #[schema(example = 201)]
    http_status: u16,
    /// The key had been used before: this is that transfer, nothing was done now.
    #[schema(example = false)]
    replayed: bool,
    #[serde(flatten)]
    answer: RelayAnswer,
}

/// The transfer, or why there is none.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum RelayAnswer {
    Transfer(OpenedRelayTransfer),
    #[schema(value_type = UnmadeItem)]
    Refused(Map<String, Value>),
}

/// Pays many accounts on NEAR. The payments are independent: each is answered for itself, and the whole
/// may be repeated as it is.
#[utoipa::path(
    post, path = "/transfers", tag = "relay",
    operation_id = "create_relay_transfers", security(("token" = ["relay:create"])),
    request_body = CreateRelayTransfers,
    responses(
        (status = 200, body = RelayBatchResults, description = "Each item has its own status"),
        (status = 400, body = Problem, description = "The form of the whole or of an item does not fit, nothing was opened: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "The flow is not offered here: `NOT_FOUND`"),
    )
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    RequireRelayCreate(caller): RequireRelayCreate,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Large,
) -> Result<Json<RelayBatchResults>, Refusal> {
    let relay = offered(&app)?;
    let items = items(&body)?;
    body::no_parameters(query.as_deref())?;
    if ["x-idempotency-key", "idempotency-key"].iter().any(|name| headers.contains_key(*name)) {
        return Err(Refusal::bad(
            "header `X-Idempotency-Key`: not here, each item has its own `key`",
        ));
    }
    // no more at once than the engine takes in, so that none is put aside for another's sake
    let room = app.engine.intake.intake_room();
    let one = |(index, item)| result(&app, relay, &caller, (index, item));
    let running = stream::iter(items.into_iter().enumerate()).map(one).buffer_unordered(room);
    let mut results: Vec<RelayBatchResult> = running.collect().await;
    results.sort_by_key(|result| result.index);
    Ok(Json(RelayBatchResults { results }))
}

/// The form of all as one.
fn items(body: &Large) -> Result<Vec<KeyedRelayTransfer>, Refusal> {
    let form: CreateRelayTransfers = body.0.read()?;
    if form.transfers.is_empty() || form.transfers.len() > MOST {
        return Err(Refusal::bad(format!("field `transfers`: 1 to {MOST} items")));
    }
    Ok(form.transfers)
}

async fn result(
    app: &App,
    relay: OfferedRelay<'_>,
    caller: &Caller,
    (index, item): (usize, KeyedRelayTransfer),
) -> RelayBatchResult {
    let KeyedRelayTransfer { key, receiver_id, amount } = item;
    if let Err(refusal) = keyed(index, &key) {
        return refused(index, refusal);
    }
    let form = CreateRelayTransfer { receiver_id, amount };
    let ask = RelayTransferRequest::new(app, relay, caller, key.into(), form);
    let made = match create::create(app, &ask).await {
        Ok(accepted) => response::create_response(app, &accepted)
            .await
            .map(|opened| (accepted.replayed, opened)),
        Err(refusal) => Err(refusal),
    };
    match made {
        Ok((replayed, opened)) => {
            let status = if replayed { StatusCode::OK } else { StatusCode::CREATED };
            let answer = RelayAnswer::Transfer(opened);
            RelayBatchResult { index, http_status: status.as_u16(), replayed, answer }
        }
        Err(refusal) => refused(index, refusal),
    }
}

/// The key of one item, in its form: without one a repeat of the batch would pay it again.
fn keyed(index: usize, key: &str) -> Result<(), Refusal> {
    let field = format!("transfers[{index}].key");
    if key.is_empty() {
        let why = format!("A key is required: field `{field}`");
        return Err(Refusal::because(Code::IdempotencyKeyRequired, why));
    }
    body::visible(&field, key, KEY)
}

fn refused(index: usize, refusal: Refusal) -> RelayBatchResult {
    let http_status = error::status(refusal.code).as_u16();
    let answer = RelayAnswer::Refused(refusal.fields());
    RelayBatchResult { index, http_status, replayed: false, answer }
}
