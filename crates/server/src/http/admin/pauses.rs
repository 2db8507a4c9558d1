//! The operators' routes for pauses of flows, ledgers, chains, assets and accounts: list, add and lift.

use super::admin_response;
use crate::http::middleware::body::Body;
use crate::http::middleware::caller::{RequireOpsAct, RequireOpsRead, user};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, name_errors, no_answer};
use api::admin::actions::Done;
use api::admin::pauses::{NewPause, Pause, Pauses};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::operators::AdminAction;
use kernel::code::Code;
use kernel::flow::table::Table;
use kernel::ids::{ChainId, LedgerId};
use kernel::operators::{Paused, Scope};
use serde::Deserialize;
use std::sync::Arc;

/// Every pause that is in force.
#[utoipa::path(
    get, path = "/api/v1/ops/pauses", tag = "ops",
    operation_id = "list_pauses", security(("token" = ["ops:read"])),
    responses((status = 200, body = Pauses, description = "All of them"))
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
) -> Result<Json<Pauses>, Refusal> {
    let status = app.engine.journal().service_status().await.map_err(no_answer("pauses"))?;
    let pauses = status.paused.iter().map(|paused| shown(&app, paused)).collect();
    Ok(Json(Pauses { pauses }))
}

fn shown(app: &App, paused: &Paused) -> Pause {
    Pause {
        id: paused.number,
        kind: paused.scope.kind().to_owned(),
        name: name_errors::scope(app, paused.scope),
        reason: paused.reason.to_string(),
        by: paused.caller.to_string(),
        at: format::time(paused.at),
    }
}

/// Holds everything of a flow, a ledger, an asset or an account where it stands. What is under way
/// stays where it is; creates are refused as `OVERLOADED`.
#[utoipa::path(
    post, path = "/api/v1/ops/pauses", tag = "ops", request_body = NewPause,
    operation_id = "add_pause", security(("token" = ["ops:act"])),
    params(("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given")),
    responses(
        (status = 200, body = Done, description = "It stands: `PAUSED`"),
        (status = 400, body = Problem, description = "No such kind or name: `BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such flow, ledger, asset or account: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`, or `NOT_POSSIBLE`"),
    )
)]
pub(in crate::http) async fn add(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let form: NewPause = body.read()?;
    let scope = scope(&app, &form.kind, &form.name)?;
    admin_response::run_action(&app, &caller, &headers, &form.reason, AdminAction::Pause(scope))
        .await
}

fn scope(app: &App, kind: &str, name: &str) -> Result<Scope, Refusal> {
    let none = Refusal::no_such;
    match kind {
        "flow" => app.engine.flows().named(name).map(Scope::Flow).ok_or_else(|| none("flow")),
        "ledger" => ledger(app, name).map(Scope::Ledger).ok_or_else(|| none("ledger")),
        "asset" => {
            let asset = app.engine.asset(name).ok_or_else(|| none("asset"))?;
            Ok(Scope::Asset(asset.id))
        }
        "account" => {
            let (id, name) = name
                .split_once('/')
                .ok_or_else(|| Refusal::bad("field `name`: an account is `4001/SPOT`"))?;
            let id = id.parse().map_err(|_| none("account"))?;
            let ledger = ledger(app, name).ok_or_else(|| none("ledger"))?;
            Ok(Scope::Account(user(id)?, ledger))
        }
        "group" => app.engine.flows().group(name).map(Scope::Group).ok_or_else(|| no_group(app)),
        "chain" => {
            let here = ChainId::parse(name).filter(|chain| app.engine.chains.reaches(*chain));
            here.map(Scope::Chain).ok_or_else(|| none("chain"))
        }
        _ => {
            let kinds = "field `kind`: `flow`, `ledger`, `chain`, `asset`, `account` or `group`";
            Err(Refusal::bad(kinds))
        }
    }
}

/// That no group of consumers has this name, with the names that there are.
fn no_group(app: &App) -> Refusal {
    let names: Vec<&str> = app.engine.flows().0.iter().flat_map(Table::groups).collect();
    let sentence = format!("There is no such group; there are {}", names.join(", "));
    Refusal::because(Code::NotFound, sentence)
}

fn ledger(app: &App, name: &str) -> Option<LedgerId> {
    LedgerId::parse(name).filter(|ledger| app.engine.ledger(*ledger).is_some())
}

/// Lifts a pause. The reason stands in the query, since a DELETE has no body. Where `ops.four_eyes` is on, two
/// persons lift one of a chain that the engine itself set (`by` is `engine` or begins with `engine:`), and one of an
/// account that the caller set: this proposes it, and another person approves.
#[utoipa::path(
    delete, path = "/api/v1/ops/pauses/{id}", tag = "ops",
    operation_id = "lift_pause", security(("token" = ["ops:act"])),
    params(
        ("id" = u64, Path, description = "The pause"), LiftQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "One is made where none is given"),
    ),
    responses(
        (status = 200, body = Done, description = "It goes on: `UNPAUSED`"),
        (status = 202, body = Done, description = "Another person has to approve: `PROPOSED`"),
        (status = 400, body = Problem, description = "`BAD_REQUEST`"),
        (status = 404, body = Problem, description = "No such pause: `NOT_FOUND`"),
        (status = 409, body = Problem, description = "`DUPLICATE_REQUEST`"),
    )
)]
pub(in crate::http) async fn lift(
    State(app): State<Arc<App>>,
    RequireOpsAct(caller): RequireOpsAct,
    PathParams(id): PathParams<u64>,
    QueryParams(LiftQuery { reason }): QueryParams<LiftQuery>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let reason = reason.unwrap_or_else(|| "lifted".to_owned());
    admin_response::run_action(&app, &caller, &headers, &reason, AdminAction::Unpause(id)).await
}

/// Why it is lifted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct LiftQuery {
    /// Why, for the audit: 1 to 256 characters; `lifted` where nothing is said.
    reason: Option<String>,
}
