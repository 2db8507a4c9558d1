//! What people did: who, why and when.

use super::{cursor, limit};
use crate::http::middleware::caller::RequireOpsRead;
use crate::http::middleware::error::Refusal;
use crate::http::middleware::query::QueryParams;
use crate::http::{App, format, silent};
use api::problem::Problem;
use axum::Json;
use axum::extract::State;
use kernel::operators::PastAction;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

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

/// A page of actions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Actions {
    /// The rows.
    pub actions: Vec<ActionRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// Something that a person did.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActionRow {
    /// Its number.
    #[schema(example = 41)]
    pub id: u64,
    /// When, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// Who.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// What: `RETRY`, `HALT`, `RESOLVE`, …
    #[schema(example = "HALT")]
    pub kind: String,
    /// To what.
    #[schema(example = "service")]
    pub subject: String,
    /// What exactly.
    #[schema(example = json!({}))]
    pub value: serde_json::Value,
    /// Why.
    #[schema(example = "the ledger's numbers do not add up")]
    pub reason: String,
    /// What it came to.
    #[schema(example = json!({"outcome": "halted"}))]
    pub result: serde_json::Value,
    /// The key under which it is done once.
    #[schema(example = "halt-1")]
    pub key: String,
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
    let found = found.map_err(silent("audit"))?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.number.to_string());
    Ok(Json(Actions { actions: found.iter().map(shown).collect(), next }))
}

fn shown(action: &PastAction) -> ActionRow {
    let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
    ActionRow {
        id: action.number,
        at: format::time(action.at),
        by: action.caller.to_string(),
        kind: action.kind.to_string(),
        subject: action.subject.to_string(),
        value: json(&action.value),
        reason: action.reason.to_string(),
        result: json(&action.result),
        key: action.key.to_string(),
    }
}
