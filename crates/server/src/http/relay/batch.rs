//! The route that creates many relay transfers in one request: it validates form and size as one, then creates each
//! on its own.

use super::intake::{OfferedRelay, offered};
use super::request::{KEY, RelayTransferRequest};
use super::response;
use crate::auth::Caller;
use crate::http::App;
use crate::http::middleware::body::{self, Large};
use crate::http::middleware::caller::RequireRelayCreate;
use crate::http::middleware::error::{self, Refusal};
use crate::http::transfers::batch::MOST;
use crate::http::transfers::create;
use api::problem::Problem;
use api::relay::{
    CreateRelayTransfer, CreateRelayTransfers, KeyedRelayTransfer, RelayAnswer, RelayBatchResult,
    RelayBatchResults,
};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use futures_util::{StreamExt, stream};
use kernel::code::Code;
use std::sync::Arc;

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
    headers: HeaderMap,
    body: Large,
) -> Result<Json<RelayBatchResults>, Refusal> {
    let relay = offered(&app)?;
    let items = items(&body)?;
    body::no_header_key(&headers, "key")?;
    // no more at once than the engine takes in, so that none is put aside for another's sake
    let room = app.engine.intake.intake_room();
    let one = |(index, item)| result(&app, relay, &caller, index, item);
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
    index: usize,
    item: KeyedRelayTransfer,
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
