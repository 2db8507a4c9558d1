//! The operators' routes that book external money into and out of Funding accounts.

use super::admin_response;
use crate::auth::Caller;
use crate::http::middleware::body::{self, Body};
use crate::http::middleware::caller::{RequireOpsAct, user};
use crate::http::middleware::error::Refusal;
use crate::http::transfers::validate::AccountNames;
use crate::http::{App, format, name_errors, unknown};
use api::movements::{Booked, Movement};
use api::problem::Problem;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::ports::ledger::{Direction, External, Moved};
use std::sync::Arc;

/// Books money that came from outside; creates the account with its first.
#[utoipa::path(
    post, path = "/api/v1/ops/deposits", tag = "ops", request_body = Movement,
    operation_id = "book_deposit", security(("token" = ["ops:act"])),
    responses(
        (status = 201, body = Booked, description = "It is booked"),
        (status = 200, body = Booked, description = "It had been booked before"),
        (status = 400, body = Problem, description = "Nothing was booked: `BAD_REQUEST`, `INVALID_ASSET`, \
            `INVALID_AMOUNT`, `PRECISION_OVERFLOW`, `OVERFLOW`"),
        (status = 409, body = Problem, description = "The `ref` belongs to another movement: `DUPLICATE_REQUEST`. Nothing was booked and another person has to approve: `SECOND_PERSON_REQUIRED`"),
        (status = 422, body = Problem, description = "Nothing was booked: `ACCOUNT_DISABLED`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same `ref`: `SYSTEM_ERROR`"),
        (status = 503, body = Problem, description = "Nothing was booked: `HALTED`, `OVERLOADED`"),
    )
)]
pub(crate) async fn deposit(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    book(&app, &caller, &headers, &body, Direction::In).await
}

/// Books money that went outside.
#[utoipa::path(
    post, path = "/api/v1/ops/withdrawals", tag = "ops", request_body = Movement,
    operation_id = "book_withdrawal", security(("token" = ["ops:act"])),
    responses(
        (status = 201, body = Booked, description = "It is booked"),
        (status = 200, body = Booked, description = "It had been booked before"),
        (status = 400, body = Problem, description = "Nothing was booked: `BAD_REQUEST`, `INVALID_ASSET`, \
            `INVALID_AMOUNT`, `PRECISION_OVERFLOW`, `OVERFLOW`"),
        (status = 404, body = Problem, description = "The user has no Funding account: `ACCOUNT_NOT_FOUND`"),
        (status = 409, body = Problem, description = "The `ref` belongs to another movement: `DUPLICATE_REQUEST`. Nothing was booked and another person has to approve: `SECOND_PERSON_REQUIRED`"),
        (status = 422, body = Problem, description = "Nothing was booked: `INSUFFICIENT_BALANCE`, `ACCOUNT_FROZEN`, `ACCOUNT_DISABLED`"),
        (status = 500, body = Problem, description = "Outcome unknown, repeat with the same `ref`: `SYSTEM_ERROR`"),
        (status = 503, body = Problem, description = "Nothing was booked: `HALTED`, `OVERLOADED`"),
    )
)]
pub(crate) async fn withdraw(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    book(&app, &caller, &headers, &body, Direction::Out).await
}

/// The key of a movement is its `ref`: a header that says another one would be taken for the key.
///
/// # Errors
/// 400: the reference is unfit, or the header differs from it.
pub(super) fn reference_key(headers: &HeaderMap, reference: &str) -> Result<(), Refusal> {
    body::visible("ref", reference, 128)?;
    match body::header_key(headers, 128)? {
        Some(key) if key != reference => Err(Refusal::bad(
            "header `Idempotency-Key`: `ref` is the key of this route; leave the header out, or give the same",
        )),
        Some(_) | None => Ok(()),
    }
}

async fn book(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: &Body,
    direction: Direction,
) -> Result<Response, Refusal> {
    let form: Movement = body.read()?;
    let user = user(form.user_id)?;
    reference_key(headers, &form.reference)?;
    super::reason(&form.reason)?;
    let asset = app.engine.asset(&form.asset);
    let asset =
        asset.ok_or_else(|| name_errors::refusal(app, AccountNames::Plain, Code::InvalidAsset))?;
    let amount = asset.amount(&form.amount);
    let amount = amount.map_err(|code| name_errors::of_asset(&asset, code))?;
    let movement = External {
        direction,
        reference: form.reference.as_str().into(),
        user,
        number: None,
        asset: asset.id,
        amount,
        reason: form.reason.as_str().into(),
        caller: Arc::clone(&caller.principal),
    };
    let moved = book_movement(app, &movement).await?;
    let booked = Booked {
        operation_id: moved.operation,
        user_id: UserIdText(user.0),
        asset: asset.symbol,
        amount: amount.decimal(asset.precision),
        available: moved.available.decimal(asset.precision),
        created_at: format::time(moved.at),
    };
    Ok((moved.status(), Json(booked)).into_response())
}

/// A movement that is booked.
pub(super) struct BookedMovement {
    /// The ledger's number of it.
    pub(super) operation: u64,
    /// What the account had right after it.
    pub(super) available: Amount,
    pub(super) at: Millis,
    replayed: bool,
}

impl BookedMovement {
    /// 201, and 200 where it had been booked before.
    pub(super) const fn status(&self) -> StatusCode {
        if self.replayed { StatusCode::OK } else { StatusCode::CREATED }
    }
}

/// Books a movement, once for each `ref`.
///
/// # Errors
/// Nothing was booked, or it is not known: 500.
pub(super) async fn book_movement(
    app: &App,
    movement: &External,
) -> Result<BookedMovement, Refusal> {
    match app.engine.operators.book(movement.clone()).await {
        Ok(Moved::Done { operation, available, at, replayed }) => {
            Ok(BookedMovement { operation, available, at, replayed })
        }
        // by the store, in its own transaction, whatever this process knows of a HALT
        Ok(Moved::Refused(Code::Halted)) => Err(Refusal::because(
            Code::Halted,
            "HALT: no money moves until persons resume. Nothing is booked under this ref",
        )),
        Ok(Moved::Refused(Code::SecondPersonRequired)) => Err(proposed(app, movement).await),
        Ok(Moved::Refused(code)) => Err(code.into()),
        Ok(Moved::Conflict(fields)) => {
            Err(Refusal::of(Code::DuplicateRequest).with("mismatched_fields", fields))
        }
        // the store says so before it writes anything
        Err(cause) if matches!(cause.class, "DISK_FULL" | "NOT_WRITABLE") => {
            Err(Refusal::because(Code::Overloaded, "The store takes no writes; nothing was booked"))
        }
        Err(cause) if cause.class == Cause::BAD_VALUE => Err(Refusal::because(
            Code::BadRequest,
            "The store cannot hold a value; nothing was booked",
        )),
        Err(cause) => {
            unknown("external movement", &cause);
            Err(Refusal::unknown(
                "It is not known yet whether it was booked. Repeat it with the same ref",
            ))
        }
    }
}

/// A movement that its caller alone may not book, as the proposal that it becomes.
async fn proposed(app: &App, movement: &External) -> Refusal {
    match app.engine.operators.propose_movement(movement).await {
        Ok(approval) => {
            let approval = approval.to_string();
            let (symbol, _) = format::asset(&app.engine.assets(), movement.asset);
            let sentence = format!(
                "Above what one person may {} on a day: {}; nothing is booked. Another person books it: \
                 `portage ops approve {approval} --as NAME --reason WHY`",
                if movement.direction.is_in() { "deposit" } else { "withdraw" },
                app.ops.movement_bound(&symbol)
            );
            Refusal::because(Code::SecondPersonRequired, sentence).with("approval_id", approval)
        }
        Err(objection) => admin_response::refusal(objection),
    }
}
