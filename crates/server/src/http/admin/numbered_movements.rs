//! The operators' routes that book external money into and out of numbered accounts.

use super::external_movement::{book_movement, reference_key};
use super::numbered_accounts::find;
use crate::auth::Caller;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::RequireOpsAct;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::transfers::validate::AccountNames;
use crate::http::{App, format, name_errors};
use api::movements::{BookedNumbered, NumberedMovement};
use api::problem::Problem;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use kernel::code::Code;
use kernel::ports::ledger::{Direction, External};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of movements, for the description and the server.
pub(in crate::http) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(deposit)).routes(routes!(withdraw))
}

/// Books money that came from outside into a numbered account.
#[utoipa::path(
    post, path = "/api/v1/ops/accounts/pipeline/{number}/deposits", tag = "ops",
    request_body = NumberedMovement,
    operation_id = "book_numbered_deposit", security(("token" = ["ops:act"])),
    params(("number" = String, Path, description = "The account's number", example = "ACC-4001-1")),
    responses(
        (status = 201, body = BookedNumbered, description = "It is booked"),
        (status = 200, body = BookedNumbered, description = "It had been booked before"),
        (status = 400, body = Problem, description = "Nothing was booked: `BAD_REQUEST`, `INVALID_ASSET`, \
            `INVALID_AMOUNT`, `PRECISION_OVERFLOW`, `OVERFLOW`"),
        (status = 404, body = Problem, description = "No account has that number: `ACCOUNT_NOT_FOUND`; or none can have it: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The `ref` belongs to another movement: `DUPLICATE_REQUEST`. Nothing was booked and another person has to approve: `SECOND_PERSON_REQUIRED`"),
        (status = 422, body = Problem, description = "Nothing was booked: `CURRENCY_MISMATCH`, `ACCOUNT_CLOSED`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same `ref`: `SYSTEM_ERROR`"),
        (status = 503, body = Problem, description = "Nothing was booked: `HALTED`, `OVERLOADED`"),
    )
)]
async fn deposit(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(number): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let request =
        MovementRequest { app: &app, caller: &caller, headers: &headers, number: &number };
    request.book(Direction::In, &body).await
}

/// Books money that went outside from a numbered account.
#[utoipa::path(
    post, path = "/api/v1/ops/accounts/pipeline/{number}/withdrawals", tag = "ops",
    request_body = NumberedMovement,
    operation_id = "book_numbered_withdrawal", security(("token" = ["ops:act"])),
    params(("number" = String, Path, description = "The account's number", example = "ACC-4001-1")),
    responses(
        (status = 201, body = BookedNumbered, description = "It is booked"),
        (status = 200, body = BookedNumbered, description = "It had been booked before"),
        (status = 400, body = Problem, description = "Nothing was booked: `BAD_REQUEST`, `INVALID_ASSET`, \
            `INVALID_AMOUNT`, `PRECISION_OVERFLOW`, `OVERFLOW`"),
        (status = 404, body = Problem, description = "No account has that number: `ACCOUNT_NOT_FOUND`; or none can have it: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "The `ref` belongs to another movement: `DUPLICATE_REQUEST`. Nothing was booked and another person has to approve: `SECOND_PERSON_REQUIRED`"),
        (status = 422, body = Problem, description = "Nothing was booked: `CURRENCY_MISMATCH`, \
            `INSUFFICIENT_BALANCE`, `ACCOUNT_FROZEN`, `ACCOUNT_CLOSED`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same `ref`: `SYSTEM_ERROR`"),
        (status = 503, body = Problem, description = "Nothing was booked: `HALTED`, `OVERLOADED`"),
    )
)]
async fn withdraw(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(number): PathParams<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let request =
        MovementRequest { app: &app, caller: &caller, headers: &headers, number: &number };
    request.book(Direction::Out, &body).await
}

/// The operator and the account of a movement.
struct MovementRequest<'a> {
    app: &'a App,
    caller: &'a Caller,
    headers: &'a HeaderMap,
    /// The number of the account, as the path has it.
    number: &'a str,
}

impl MovementRequest<'_> {
    async fn book(&self, direction: Direction, body: &Body) -> Result<Response, Refusal> {
        let Self { app, caller, headers, number } = self;
        let form: NumberedMovement = body.read()?;
        reference_key(headers, &form.reference)?;
        super::reason(&form.reason)?;
        let unknown = || name_errors::refusal(app, AccountNames::Plain, Code::InvalidAsset);
        let asset = app.engine.asset(&form.currency).ok_or_else(unknown)?;
        let amount = asset.amount(&form.amount);
        let amount = amount.map_err(|code| name_errors::of_asset(&asset, code))?;
        // its owner and currency never change; whether it takes the money is decided where the money is booked
        let account = find(app, number).await?;
        // what no approval could book is not proposed either
        if account.asset != asset.id {
            return Err(Code::CurrencyMismatch.into());
        }
        let movement = External {
            direction,
            reference: form.reference.as_str().into(),
            user: account.owner,
            number: Some(account.number.clone()),
            asset: asset.id,
            amount,
            reason: form.reason.as_str().into(),
            caller: Arc::clone(&caller.principal),
        };
        let moved = book_movement(app, &movement).await?;
        let booked = BookedNumbered {
            operation_id: moved.operation,
            number: account.number.to_string(),
            owner: UserIdText(account.owner.0),
            currency: asset.symbol,
            amount: amount.decimal(asset.precision),
            balance: moved.available.decimal(asset.precision),
            created_at: format::time(moved.at),
        };
        Ok((moved.status(), Json(booked)).into_response())
    }
}
