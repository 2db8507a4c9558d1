//! The route that creates many transfers in one request: it validates them as one, then creates each on its own.

use super::create;
use super::response::{self, Outcome};
use super::validate::{AccountNames, TransferRequest};
use crate::auth::Caller;
use crate::http::App;
use crate::http::middleware::body::{self, Large};
use crate::http::middleware::caller::{RequireTransfersCreate, acts_for, unfit_body};
use crate::http::middleware::error::{self, Refusal};
use api::batch::{Answer, BatchResult, BatchResults, CreateTransfers};
use api::problem::Problem;
use api::transfers::CreateTransfer;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use futures_util::{StreamExt, stream};
use std::sync::Arc;

/// The most creates of one batch.
pub(crate) const MOST: usize = 1_000;

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
    headers: HeaderMap,
    body: Large,
) -> Result<Json<BatchResults>, Refusal> {
    let asks = asks(&caller, &body)?;
    body::no_header_key(&headers, "cid")?;
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
    let read = body.0.read();
    let form: CreateTransfers =
        read.map_err(|fault| unfit_body(caller, body.0.users("transfers", "user_id"), fault))?;
    let named = |(index, item): (usize, &CreateTransfer)| {
        acts_for(caller, item.user_id).map_err(|refusal| Refusal {
            sentence: format!("transfers[{index}]: {}", refusal.sentence),
            ..refusal
        })
    };
    let users = form.transfers.iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
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
