//! The operators' route that lists past actions: who acted, why and when.

use super::{cursor, limit};
use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, no_answer};
use api::admin::actions::{ActionRow, Actions};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use kernel::money::Amount;
use kernel::operators::{PAUSE, PAUSE_TRANSFER, PastAction};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which actions are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct ActionsQuery {
    /// Only of this subject: a transfer's id, `service`, `account/4001/SPOT`, `approval/<id>`, …
    subject: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Operators' actions, newest first.
#[utoipa::path(
    get, path = "/api/v1/ops/audit", tag = "ops", params(ActionsQuery),
    operation_id = "list_actions", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Actions, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`"),
    )
)]
pub(in crate::http) async fn list(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<ActionsQuery>,
) -> Result<Json<Actions>, Refusal> {
    let (before, limit) = (cursor(query.cursor.as_deref())?, limit(query.limit)?);
    let found = app.admin_queries.actions(query.subject.map(Into::into), before, limit).await;
    let found = found.map_err(no_answer("audit"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.number.to_string());
    Ok(Json(Actions { actions: found.iter().map(shown).collect(), next }))
}

/// The kind of an action as it is shown: the pause of a transfer is stored by the word of all pauses, which is hashed and
/// stays.
fn shown_kind<'a>(kind: &'a str, subject: &str) -> &'a str {
    if kind == PAUSE && format::id(subject).is_some() { PAUSE_TRANSFER } else { kind }
}

/// Writes the limits of an asset in its unit, as its routes take and show them: an action keeps them in base units.
fn show_limits(value: &mut Value, precision: u8) {
    for name in ["min", "max", "daily"] {
        let Some(limit) = value.get_mut(name) else { continue };
        if let Some(units) = limit.as_str().and_then(|units| units.parse().ok()) {
            *limit = Amount(units).decimal(precision).into();
        }
    }
}

fn shown(action: &PastAction) -> ActionRow {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (mut value, mut result) = (json(&action.value), json(&action.result));
    let asset = result.get_mut("asset");
    let precision = asset.as_ref().and_then(|asset| asset.get("precision")?.as_u64());
    if let (Some(asset), Some(precision)) = (asset, precision.and_then(|n| u8::try_from(n).ok())) {
        show_limits(asset, precision);
        show_limits(&mut value, precision);
    }
    ActionRow {
        id: action.number,
        at: format::time(action.at),
        by: action.caller.to_string(),
        kind: shown_kind(&action.kind, &action.subject).to_owned(),
        subject: action.subject.to_string(),
        value,
        reason: action.reason.to_string(),
        outcome: result.get("outcome").and_then(Value::as_str).map(str::to_owned),
        result,
        key: action.key.to_string(),
    }
}
