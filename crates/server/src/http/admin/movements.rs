//! The operators' route that lists external movements: who booked what, and why.

use super::{cursor, limit};
use crate::http::middleware::caller::{RequireOpsRead, user};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::movements::{MovementRow, Movements};
use api::problem::Problem;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use kernel::money::Asset;
use kernel::ports::admin_queries::MovementSearch;
use kernel::ports::ledger::{BookedMovement, Direction};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which movements are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct MovementsQuery {
    /// Only of this user's accounts.
    user: Option<UserIdText>,
    /// Only with this id of the outside world.
    #[serde(rename = "ref")]
    reference: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Deposits and withdrawals that operators booked, newest first, each with who booked it and why.
#[utoipa::path(
    get, path = "/api/v1/ops/movements", tag = "ops", params(MovementsQuery),
    operation_id = "list_movements", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Movements, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<MovementsQuery>,
) -> Result<Json<Movements>, Refusal> {
    let limit = limit(query.limit)?;
    let search = MovementSearch {
        user: query.user.map(user).transpose()?,
        reference: query.reference.map(Into::into),
        before: cursor(query.cursor.as_deref())?,
        limit,
    };
    let found = app.admin_queries.movements(search).await.map_err(no_answer("movements"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.operation.to_string());
    let assets = app.engine.assets();
    Ok(Json(Movements {
        movements: found.iter().map(|booked| row(booked, &assets)).collect(),
        next,
    }))
}

fn row(booked: &BookedMovement, assets: &[Asset]) -> MovementRow {
    let movement = &booked.movement;
    let (asset, precision) = format::asset(assets, movement.asset);
    MovementRow {
        operation_id: booked.operation,
        kind: match movement.direction {
            Direction::In => "deposit",
            Direction::Out => "withdrawal",
        }
        .to_owned(),
        user_id: UserIdText(movement.user.0),
        number: movement.number.as_deref().map(str::to_owned),
        asset,
        amount: movement.amount.decimal(precision),
        available: booked.available.decimal(precision),
        reference: movement.reference.to_string(),
        by: movement.caller.to_string(),
        reason: movement.reason.to_string(),
        at: format::time(booked.at),
    }
}
