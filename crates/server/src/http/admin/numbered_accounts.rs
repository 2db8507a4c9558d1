//! The operators' routes for numbered accounts (`accounts_tb`): list, open, freeze and close.

use super::admin_response;
use super::limit;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead, user};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::transfers::create;
use crate::http::transfers::validate::AccountNames;
use crate::http::{App, format, name_errors, no_answer};
use api::admin::actions::Done;
use api::admin::numbered_accounts::{
    NumberedAccountRow, NumberedAccounts, OpenNumberedAccount, SetNumberedStatus,
};
use api::problem::Problem;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{ActionResult, AdminAction, NewNumberedAccount, PerformedAction};
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus, is_account_number};
use kernel::code::Code;
use kernel::money::Asset;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Which numbered accounts are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct NumberedAccountsQuery {
    /// Only the accounts of this user.
    owner: Option<UserIdText>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// Maximum number of rows, from 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// The routes of accounts, for the description and the server.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list, open))
        .routes(routes!(get))
        .routes(routes!(set_status))
}

/// Numbered accounts, in the order of their numbers.
#[utoipa::path(
    get, path = "/api/v1/ops/accounts/pipeline", tag = "ops", params(NumberedAccountsQuery),
    operation_id = "list_numbered_accounts", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = NumberedAccounts, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<NumberedAccountsQuery>,
) -> Result<Json<NumberedAccounts>, Refusal> {
    let limit = limit(query.limit)?;
    let after: Arc<str> = query.cursor.unwrap_or_default().into();
    if !after.is_empty() && !is_account_number(&after) {
        return Err(Refusal::bad("`cursor`: the `next` of the page before, as it is"));
    }
    let of = match query.owner {
        Some(owner) => AccountsOf::Owner(user(owner)?),
        None => AccountsOf::After(after.clone(), limit),
    };
    let found = app.engine.journal().numbered_accounts(of).await.map_err(no_answer("accounts"))?;
    let page = found.iter().filter(|account| account.number > after).take(limit);
    let page: Vec<_> = page.collect();
    let next = page.last().filter(|_| page.len() == limit).map(|last| last.number.to_string());
    let assets = app.engine.assets();
    let accounts = page.into_iter().map(|account| row(account, &assets)).collect();
    Ok(Json(NumberedAccounts { accounts, next }))
}

/// One numbered account as it is now.
#[utoipa::path(
    get, path = "/api/v1/ops/accounts/pipeline/{number}", tag = "ops",
    operation_id = "read_numbered_account", security(("token" = ["ops:read"])),
    params(("number" = String, Path, description = "The account's number", example = "ACC-4001-1")),
    responses(
        (status = 200, body = NumberedAccountRow, description = "The account as it is now"),
        (status = 404, body = Problem, description = "No account has that number: `ACCOUNT_NOT_FOUND`; or none can have it: `NOT_FOUND`"),
    )
)]
async fn get(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(number): PathParams<String>,
) -> Result<Json<NumberedAccountRow>, Refusal> {
    let account = find(&app, &number).await?;
    Ok(Json(row(&account, &app.engine.assets())))
}

/// The account that has that number.
///
/// # Errors
/// 404: there is none; 500: the journal does not answer.
pub(super) async fn find(app: &App, number: &str) -> Result<NumberedAccount, Refusal> {
    let of = AccountsOf::Numbers(vec![number.into()]);
    let found = app.engine.journal().numbered_accounts(of).await.map_err(no_answer("accounts"))?;
    found.into_iter().next().ok_or_else(|| Refusal::of(Code::AccountNotFound))
}

fn row(account: &NumberedAccount, assets: &[Asset]) -> NumberedAccountRow {
    let (currency, precision) = format::asset(assets, account.asset);
    NumberedAccountRow {
        number: account.number.to_string(),
        owner: UserIdText(account.owner.0),
        currency,
        balance: account.balance.decimal(precision),
        status: account.status.name().to_owned(),
        version: account.version,
    }
}

/// Opens an account. Its owner and its currency never change, and its number is never used again.
#[utoipa::path(
    post, path = "/api/v1/ops/accounts/pipeline", tag = "ops", request_body = OpenNumberedAccount,
    operation_id = "open_numbered_account", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 201, body = NumberedAccountRow, description = "It is open"),
        (status = 200, body = NumberedAccountRow, description = "It had been opened under the same key before"),
        (status = 400, body = Problem, description = "Nothing was opened: `BAD_REQUEST`, `INVALID_ASSET`"),
        (status = 409, body = Problem, description = "The number is in use: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
    )
)]
async fn open(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: OpenNumberedAccount = body.read()?;
    let owner = user(form.owner)?;
    if app.engine.asset(&form.currency).is_none() {
        return Err(name_errors::refusal(&app, AccountNames::Plain, Code::InvalidAsset));
    }
    let number = form.number.as_str().into();
    let new = NewNumberedAccount { number, owner, currency: form.currency };
    let action = AdminAction::OpenAccount(new);
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(&app, performed, StatusCode::CREATED))
}

/// Freezes, frees or closes an account. It works from its commit. Where `ops.four_eyes` is on, a person who froze the
/// account only proposes to free it; another person frees it alone.
#[utoipa::path(
    post, path = "/api/v1/ops/accounts/pipeline/{number}/status", tag = "ops",
    request_body = SetNumberedStatus,
    operation_id = "set_numbered_account_status", security(("token" = ["ops:act"])),
    params(
        ("number" = String, Path, description = "The account's number", example = "ACC-4001-1"),
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = NumberedAccountRow, description = "It has that status"),
        (status = 202, body = Done, description = "The caller froze it: another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "No such status: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No account has that number: `ACCOUNT_NOT_FOUND`; or none can have it: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "It holds money and is not closed, or another operator has just set it: `NOT_POSSIBLE`; or `DUPLICATE_REQUEST`"),
        (status = 422, body = Problem, description = "It is closed for ever: `ACCOUNT_CLOSED`"),
    )
)]
async fn set_status(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(number): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: SetNumberedStatus = body.read()?;
    let unfit = || Refusal::bad("field `status`: ACTIVE, FROZEN or CLOSED");
    let status = NumberedStatus::parse(&form.status).ok_or_else(unfit)?;
    let action = AdminAction::AccountStatus { number: number.as_str().into(), status };
    let performed = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    Ok(answer(&app, performed, StatusCode::OK))
}

fn answer(app: &App, performed: PerformedAction, first: StatusCode) -> Response {
    let replayed = performed.replayed;
    let response = if let ActionResult::NumberedAccount { account } = &performed.outcome {
        let status = if replayed { StatusCode::OK } else { first };
        (status, Json(row(account, &app.engine.assets()))).into_response()
    } else {
        // all else that it can come to is a proposal
        (StatusCode::ACCEPTED, Json(admin_response::to_response(performed))).into_response()
    };
    create::mark_replayed(response, replayed)
}
