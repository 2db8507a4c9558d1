//! The route that lists the caller's own account transfers, newest first.

use super::request::flow;
use super::response;
use crate::http::middleware::caller::RequireTransfersRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::{QueryParams, limit};
use crate::http::transfers::list::{Listed, MOST, USUAL, after, found, search_key, whose};
use crate::http::{App, format};
use api::account_transfers::AccountTransferPage;
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use kernel::code::Code;
use kernel::ports::admin_queries::Search;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which account transfers are wanted; what is not named does not matter.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AccountTransfersQuery {
    /// Those that stand in this state.
    #[param(example = "COMPLETED")]
    status: Option<String>,
    /// The one that was made under this `Idempotency-Key`.
    #[param(example = "payout-7")]
    key: Option<String>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// At most this many.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: Option<usize>,
}

/// The caller's own account transfers: those that a user's accounts pay, or what a service with
/// `transfers:any` made itself. A request without a key that had no answer is looked for here before it is
/// repeated.
#[utoipa::path(
    get, path = "/api/transfers", tag = "transfers",
    operation_id = "list_account_transfers", params(AccountTransfersQuery),
    security(("token" = ["transfers:read"])),
    responses(
        (status = 200, body = AccountTransferPage, description = "A page, perhaps an empty one"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    RequireTransfersRead(caller): RequireTransfersRead,
    query: Result<QueryParams<AccountTransfersQuery>, Refusal>,
) -> Result<Json<AccountTransferPage>, Refusal> {
    let whose = whose(&caller)?;
    let QueryParams(query) = query?;
    let flow = flow(&app).ok_or_else(|| Refusal::of(Code::NotFound))?;
    let table = app.engine.flows().table(flow);
    let none = || Refusal::bad(format!("`status`: one of {}", format::states(table)));
    let state = query.status.as_deref().map(|name| table.named(name).ok_or_else(none));
    let search = Search {
        flow: Some(flow),
        state: state.transpose()?,
        key: query.key.as_deref().map(|key| search_key(&app, key, whose.principal.as_ref())),
        before: query.cursor.as_deref().map(after).transpose()?,
        limit: limit(query.limit, USUAL, 1..=MOST)?,
        ..whose
    };
    let Listed { records, next } = found(&app, search).await?;
    let transfers = records.iter().map(|record| response::story(&app, record, Vec::new()));
    Ok(Json(AccountTransferPage { transfers: transfers.collect(), next }))
}
