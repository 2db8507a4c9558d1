//! Internal transfers: create and get.

use super::body::{self, Body};
use super::caller::{Creates, Reads, acts_for};
use super::error::{Problem, Refusal};
use super::segments::Segments;
use super::weigh::Ask;
use super::{App, unknown, wire};
use crate::auth::{Caller, Scope};
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ids::{Id, UserId};
use kernel::ports::journal::Linked;
use kernel::ports::meter::{Meter, Seen};
use kernel::record::Record;
use kernel::table::Table;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A transfer between two accounts of one user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTransfer {
    /// The account type that pays: `FUNDING` or `SPOT`.
    #[schema(example = "FUNDING")]
    pub from: String,
    /// The account type that receives.
    #[schema(example = "SPOT")]
    pub to: String,
    /// The asset's symbol.
    #[schema(example = "USDT")]
    pub asset: String,
    /// A plain positive decimal in the asset's unit, with at most its decimals.
    #[schema(example = "100.00")]
    pub amount: String,
    /// The client's own key, 1 to 64 visible ASCII characters, bound for ever. The header
    /// `Idempotency-Key` is another spelling of it.
    #[serde(default)]
    #[schema(example = "order-7")]
    pub cid: Option<String>,
    /// For whom; the token's own user, or with `transfers:any` whoever is named (then required).
    #[serde(default)]
    #[schema(example = 4001)]
    pub user_id: Option<u64>,
}

/// What became of a create.
#[derive(Debug, Serialize, ToSchema)]
pub struct Transfer {
    /// The journal's number of the transfer.
    pub transfer_id: u64,
    /// The transfer's id.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub req_id: String,
    /// The account type that pays.
    pub from: &'static str,
    /// The account type that receives.
    pub to: &'static str,
    /// The asset's symbol.
    pub asset: String,
    /// In the asset's unit, always with all decimals that the asset has.
    #[schema(example = "100.000000")]
    pub amount: String,
    /// `COMMITTED`, `PENDING` (not ended yet), `FAILED` or `ROLLED_BACK`.
    pub state: &'static str,
    /// The same as a sentence.
    pub message: String,
    /// The client's key, where one was given.
    pub cid: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// A transfer that moved no money in the end: an error and the transfer in one.
#[derive(Debug, Serialize, ToSchema)]
pub struct FailedTransfer {
    #[serde(flatten)]
    problem: Problem,
    #[serde(flatten)]
    transfer: Transfer,
}

/// A transfer with everything that happened to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TransferStory {
    /// As in the answer to the create, but `state` is the exact one: `INIT`, `SOURCE_PENDING`,
    /// `SOURCE_DONE`, `TARGET_PENDING`, `COMMITTED`, `FAILED`, `COMPENSATING` or `ROLLED_BACK`.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The last refusal, or the cause of the last unclear answer.
    pub error: Option<String>,
    /// Unclear answers so far.
    pub retry_count: u32,
    /// Oldest first.
    pub history: Vec<HistoryEntry>,
}

/// One step of a history.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryEntry {
    /// From 0.
    pub seq: u32,
    /// RFC 3339.
    pub at: String,
    /// The state before; none where it begins.
    pub from: Option<&'static str>,
    /// The state after.
    pub to: &'static str,
    /// `CREATED`, `SOURCE_CALL`, `SOURCE_OK`, `SOURCE_FAIL`, `TARGET_CALL`, `TARGET_OK`,
    /// `TARGET_FAIL`, `ROLLBACK_OK`, `RETRY` or `OPERATOR`.
    pub event: String,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
}

/// Moves money between two accounts of one user.
#[utoipa::path(
    post, path = "/api/v1/internal_transfer", tag = "transfers",
    request_body = CreateTransfer,
    params(("Idempotency-Key" = Option<String>, Header, description = "Another spelling of `cid`")),
    responses(
        (status = 200, body = Transfer, description = "It ended COMMITTED"),
        (status = 202, body = Transfer, description = "It is durable and goes on; ask for it by `req_id`"),
        (status = 400, body = Problem, description = "Refused before anything was opened"),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 409, body = Problem, description = "The key is bound to another body"),
        (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = FailedTransfer, description = "It ended FAILED or ROLLED_BACK; without `req_id` nothing was opened"),
        (status = 500, body = Problem, description = "Outcome unknown: repeat with the same key"),
        (status = 503, body = Problem, description = "HALTED or OVERLOADED; nothing was opened"),
    )
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Creates(caller): Creates,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    // a parameter that is ignored moves money that somebody meant to keep (`?dry_run=true`)
    if query.is_some_and(|query| !query.is_empty()) {
        return Err(Refusal::bad("this route takes no query parameters"));
    }
    let ask = ask(&caller, &headers, &body)?;
    let found = match ask.terms(&app) {
        Ok(terms) => app.engine.create(app.internal, terms).await,
        Err(code) => Err(Refused::Code(code)),
    };
    match found {
        Ok(accepted) => Ok(answer(&app, &accepted)),
        // a key that is bound is answered before anything else is looked at
        Err(Refused::Code(code)) => match replay(&app, &ask).await? {
            Some(accepted) => Ok(answer(&app, &accepted)),
            None => Err(refusal(&app, code)),
        },
        Err(Refused::Mismatch(bound)) => Err(conflict(&ask.mismatched(&app, &bound))),
        Err(Refused::Unknown(cause)) => {
            unknown("create", &cause);
            Err(nobody_knows())
        }
    }
}

/// Steps 2 and 3: whose money, then the form.
fn ask(caller: &Caller, headers: &HeaderMap, body: &Body) -> Result<Ask, Refusal> {
    let form: CreateTransfer = match body.read() {
        Ok(form) => form,
        Err(fault) => {
            acts_for(caller, body.number("user_id"))?;
            return Err(fault);
        }
    };
    let user: UserId = acts_for(caller, form.user_id)?;
    let key = body::key(headers, form.cid.as_deref())?;
    let principal = Arc::clone(&caller.principal);
    Ok(Ask { principal, user, key: key.map(Into::into), body: form })
}

/// The transfer that the request's key is bound to, if it is.
async fn replay(app: &App, ask: &Ask) -> Result<Option<Accepted>, Refusal> {
    let Some(key) = &ask.key else { return Ok(None) };
    let (flow, scope) = (app.internal, &ask.principal);
    let hidden = |cause| {
        unknown("replay", &cause);
        nobody_knows()
    };
    let bound = app.engine.journal().bound(flow, Arc::clone(scope), Arc::clone(key)).await;
    let Some(bound) = bound.map_err(hidden)? else { return Ok(None) };
    let flow_name = app.engine.flows().table(flow).flow;
    let differs = ask.mismatched(app, &bound);
    if !differs.is_empty() {
        app.metrics.see(Seen::Conflict { flow: flow_name });
        return Err(conflict(&differs));
    }
    app.metrics.see(Seen::Replay { flow: flow_name });
    app.engine.rejoin(bound).await.map(Some).map_err(hidden)
}

fn refusal(app: &App, code: Code) -> Refusal {
    if code == Code::Overloaded && app.engine.full() {
        return Refusal::because(code, "The disk is full; nothing was begun, try again later");
    }
    Refusal::of(code)
}

fn conflict(fields: &[String]) -> Refusal {
    Refusal::of(Code::DuplicateRequest).with("mismatched_fields", fields.to_vec())
}

fn nobody_knows() -> Refusal {
    Refusal::unknown(
        "Nobody knows yet what became of it. Repeat it with the same cid: it is never made twice",
    )
}

/// 200, 202 or 422, by where the transfer stands.
fn answer(app: &App, accepted: &Accepted) -> Response {
    let record = &accepted.record;
    let table = app.engine.flows().table(record.flow);
    let exact = table.state(record.head.state).name;
    let ended = table.ends(record.head.state);
    let state = if ended { exact } else { "PENDING" };
    let transfer = shown(app, table, record, state);
    let mut response = match (ended, exact) {
        (false, _) => (StatusCode::ACCEPTED, Json(transfer)).into_response(),
        (true, "COMMITTED") => Json(transfer).into_response(),
        (true, _) => failed(record, &transfer).into_response(),
    };
    if accepted.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// An end without money moved, under the code that the ledger refused with.
fn failed(record: &Record, transfer: &Transfer) -> Response {
    let code = record.error.as_ref().map_or(Code::SystemError.name(), |error| &error.code);
    let known = Code::parse(code).unwrap_or(Code::SystemError);
    let mut refusal = Refusal::because(known, transfer.message.clone()).with("code", code);
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(transfer) {
        refusal.details.extend(fields);
    }
    let mut response = refusal.into_response();
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    response
}

fn shown(app: &App, table: &Table, record: &Record, state: &'static str) -> Transfer {
    let terms = &record.terms;
    let (asset, precision) = wire::asset(&app.engine.assets(), terms.asset);
    let message = flows::words::message(table, record.head.state, record.error.as_ref());
    Transfer {
        transfer_id: record.serial.map_or(0, |serial| serial.0),
        req_id: record.id.to_string(),
        from: wire::account(&terms.source),
        to: wire::account(&terms.target),
        asset,
        amount: terms.amount.decimal(precision),
        state,
        message,
        cid: terms.binding.as_ref().map(|binding| binding.key.to_string()),
        created_at: wire::time(record.created_at),
        updated_at: wire::time(record.updated_at),
    }
}

/// A transfer with its full history.
#[utoipa::path(
    get, path = "/api/v1/internal_transfer/{req_id}", tag = "transfers",
    params(("req_id" = String, Path, description = "The transfer's id")),
    responses(
        (status = 200, body = TransferStory),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem, description = "None of that id that the caller may see"),
        (status = 500, body = Problem),
    )
)]
pub(super) async fn get(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Segments(req_id): Segments<String>,
) -> Result<Json<TransferStory>, Refusal> {
    let id: Id = req_id.parse().map_err(|_| Refusal::of(Code::NotFound))?;
    let found = app.engine.transfer(id).await.map_err(|cause| {
        unknown("get", &cause);
        Refusal::because(Code::SystemError, "The journal does not answer at the moment")
    })?;
    let found = found.filter(|(record, _)| record.flow == app.internal && may_see(&caller, record));
    let (record, history) = found.ok_or_else(|| Refusal::of(Code::NotFound))?;
    let table = app.engine.flows().table(record.flow);
    Ok(Json(TransferStory {
        transfer: shown(&app, table, &record, table.state(record.head.state).name),
        error: record.error.as_ref().map(|error| error.code.to_string()),
        retry_count: record.head.retries,
        history: history.into_iter().map(|linked| entry(table, linked)).collect(),
    }))
}

/// A transfer belongs to its user; a service reads what it made itself.
fn may_see(caller: &Caller, record: &Record) -> bool {
    caller.user == Some(record.terms.user)
        || (caller.may(Scope::TransfersAny) && caller.principal == record.terms.principal)
}

fn entry(table: &Table, linked: Linked) -> HistoryEntry {
    let entry = linked.entry;
    let name = |code| table.coded(code).map_or("", |state| table.state(state).name);
    HistoryEntry {
        seq: entry.seq,
        at: wire::time(entry.at),
        from: entry.from.map(name),
        to: name(entry.to),
        event: entry.event,
        detail: entry.detail,
    }
}
