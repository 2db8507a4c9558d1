//! The operators' routes for users' accounts: list them, and set their status.

use crate::http::admin::admin_response;
use crate::http::fan_out::fan_out;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead, user};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::{QueryParams, limit};
use crate::http::transfers::create;
use crate::http::transfers::validate::AccountNames;
use crate::http::{App, format, name_errors, no_answer};
use api::accounts::{AccountRow, Accounts, SetStatus, Silent, StatusSet, WaitingStatus};
use api::admin::actions::Done;
use api::problem::Problem;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{ActionResult, AdminAction};
use kernel::code::Code;
use kernel::ids::LedgerId;
use kernel::money::Asset;
use kernel::ports::ledger::{AccountStatus, Holding, Whose};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which accounts are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountsQuery {
    /// Only the accounts of this user.
    user: Option<UserIdText>,
    /// Without `user`: those above this user, from `next` of the page before.
    after: Option<UserIdText>,
    /// Without `user`: approximate number of rows of each ledger, at most 1000.
    #[param(minimum = 10, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Accounts at every ledger that answers; the others are named.
#[utoipa::path(
    get, path = "/api/v1/ops/accounts", tag = "ops", params(AccountsQuery),
    operation_id = "list_accounts", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Accounts, description = "A page of accounts"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<AccountsQuery>,
) -> Result<Json<Accounts>, Refusal> {
    let limit = limit(query.limit, 100, 10..=1000)?;
    let whose = match query.user {
        Some(id) => Whose::User(user(id)?),
        None => Whose::After(query.after.map_or(0, |after| after.0), limit),
    };
    let (mut pages, mut silent) = (Vec::new(), Vec::new());
    for (ledger, said) in fan_out(app.user_ledgers(), |ledger| ledger.accounts(whose)).await {
        match said {
            Ok(page) => pages.push((ledger, page)),
            Err(cause) => {
                let (account, why) = (ledger.name().to_owned(), cause.class.to_owned());
                silent.push(Silent { account, why });
            }
        }
    }
    let full = pages.iter().filter(|(_, page)| query.user.is_none() && page.len() >= limit);
    // the last user of a full page may have more rows: the next page begins with it
    let next = full.filter_map(|(_, page)| cut(page)).min();
    let assets = app.engine.assets();
    let mut accounts: Vec<AccountRow> = Vec::new();
    for (ledger, page) in pages {
        let page = page.into_iter().filter(|row| next.is_none_or(|next| row.user.0 <= next));
        accounts.extend(page.map(|holding| row(ledger, &holding, &assets)));
    }
    accounts.sort_by_key(|row| row.user_id);
    let waiting = app.engine.operators.waiting_statuses().await.map_err(no_answer("accounts"))?;
    let waiting = waiting.iter().filter(|one| query.user.is_none_or(|user| user.0 == one.user.0));
    let waiting = waiting.map(waiting_row).collect();
    Ok(Json(Accounts { accounts, next: next.map(UserIdText), silent, waiting }))
}

fn waiting_row(one: &engine::operators::WaitingStatus) -> WaitingStatus {
    WaitingStatus {
        user_id: UserIdText(one.user.0),
        account: one.ledger.name().to_owned(),
        status: one.status.name().to_owned(),
        by: one.caller.to_string(),
        reason: one.reason.to_string(),
    }
}

/// The last user of a full page whose rows are certainly all there; where the page has but one
/// user, that one.
fn cut(page: &[Holding]) -> Option<u64> {
    let last = page.last()?.user.0;
    let before = page.iter().rev().map(|row| row.user.0).find(|user| *user != last);
    before.or(Some(last))
}

fn row(ledger: LedgerId, holding: &Holding, assets: &[Asset]) -> AccountRow {
    let (asset, precision) = format::asset(assets, holding.asset);
    AccountRow {
        user_id: UserIdText(holding.user.0),
        account: ledger.name().to_owned(),
        asset,
        available: holding.available.decimal(precision),
        frozen: holding.frozen.decimal(precision),
        status: holding.status.name().to_owned(),
    }
}

/// Freezes, disables or frees an account. It works from its commit; a repeat is harmless. Where `ops.four_eyes` is
/// on, a person who barred the account only proposes to free it; another person frees it alone.
#[utoipa::path(
    post, path = "/api/v1/ops/accounts/{user}/{type}/status", tag = "ops", request_body = SetStatus,
    operation_id = "set_account_status", security(("token" = ["ops:act"])),
    params(
        ("user" = UserIdText, Path, description = "The user's id"),
        ("type" = String, Path, description = "The account type", example = "SPOT"),
        ("Idempotency-Key" = Option<String>, Header, description = "Your name of this change"),
    ),
    responses(
        (status = 200, body = StatusSet, description = "It is set"),
        (status = 202, body = Done, description = "The caller barred it: another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "Nothing was set: `BAD_REQUEST`, \
            `INVALID_ACCOUNT_TYPE`, `UNSUPPORTED_ACCOUNT_TYPE`"),
        (status = 404, body = Problem, description = "No such account: `ACCOUNT_NOT_FOUND`, `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The key belongs to another change: `DUPLICATE_REQUEST`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat it: `SYSTEM_ERROR`"),
    )
)]
pub(crate) async fn set_status(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams((user_id, account)): PathParams<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: SetStatus = body.read()?;
    let id: UserIdText = user_id.parse().map_err(|_| Refusal::of(Code::AccountNotFound))?;
    let user = user(id)?;
    let status = AccountStatus::parse(&form.status)
        .ok_or_else(|| Refusal::bad("field `status`: ACTIVE, FROZEN or DISABLED"))?;
    let ledger = LedgerId::parse(&account)
        .ok_or_else(|| name_errors::refusal(&app, AccountNames::Plain, Code::InvalidAccountType))?;
    // a numbered account is set by its number, below `/ops/accounts/pipeline`
    if !ledger.is_of_users() || app.engine.ledger(ledger).is_none() {
        return Err(name_errors::refusal(&app, AccountNames::Plain, Code::UnsupportedAccountType));
    }
    let action = AdminAction::Status { ledger, user, status };
    let did = admin_response::execute(&app, &caller, &headers, &form.reason, action).await?;
    let replayed = did.replayed;
    let response = if matches!(did.outcome, ActionResult::Proposed { .. }) {
        (StatusCode::ACCEPTED, Json(admin_response::to_response(did))).into_response()
    } else {
        let (account, status) = (ledger.name().to_owned(), status.name().to_owned());
        Json(StatusSet { user_id: id, account, status }).into_response()
    };
    Ok(create::mark_replayed(response, replayed))
}

#[cfg(test)]
mod tests {
    use super::cut;
    use kernel::ids::{AssetId, UserId};
    use kernel::money::Amount;
    use kernel::ports::ledger::{AccountStatus, Holding};

    #[test]
    fn a_full_page_ends_before_its_last_user() {
        let page = |users: &[u64]| -> Vec<Holding> {
            let row = |user: &u64| Holding {
                user: UserId(*user),
                asset: AssetId(1),
                available: Amount(0),
                frozen: Amount(0),
                status: AccountStatus::Active,
            };
            users.iter().map(row).collect()
        };
        assert_eq!(cut(&page(&[1, 1, 2, 3, 3])), Some(2));
        assert_eq!(cut(&page(&[7, 7])), Some(7));
        assert_eq!(cut(&page(&[])), None);
    }
}
