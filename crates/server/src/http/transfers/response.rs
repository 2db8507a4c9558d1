//! Builds the responses that show a transfer to its owner and to operators.

use crate::auth::{Caller, Scope};
use crate::http::middleware::error::Refusal;
use crate::http::pages::docs::errors;
use crate::http::{App, format};
use api::transfers::{HistoryEntry, Transfer};
use axum::http::StatusCode;
use engine::Accepted;
use engine::operators::HISTORY_EVENT;
use kernel::code::Code;
use kernel::flow::life::{self, Audience, Step};
use kernel::flow::table::Table;
use kernel::operators::{PAUSE, PAUSE_TRANSFER};
use kernel::ports::journal::Linked;
use kernel::record::Record;
use serde::Serialize;
use serde_json::{Value, json};

/// The result of a create, by the state of its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The money arrived at its target.
    Committed,
    /// It has not ended: it goes on by itself.
    Pending,
    /// It ended and moved nothing: FAILED or ROLLED_BACK.
    Failed,
}

impl Outcome {
    /// The result for a record, with the name of its end or `PENDING`.
    pub(super) fn of(app: &App, record: &Record) -> (Self, &'static str) {
        let table = app.engine.flows().table(record.flow);
        let exact = table.state(record.head.state).name;
        let outcome = table.state(record.head.state).outcome;
        match outcome.filter(|_| table.ends(record.head.state)) {
            None => (Self::Pending, "PENDING"),
            Some(life::Outcome::Paid) => (Self::Committed, exact),
            Some(
                life::Outcome::GivenBack
                | life::Outcome::Failed
                | life::Outcome::Kept
                | life::Outcome::Held,
            ) => (Self::Failed, exact),
        }
    }

    /// The HTTP status that the contract gives it.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Committed => StatusCode::OK,
            Self::Pending => StatusCode::ACCEPTED,
            Self::Failed => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

/// The code under which a transfer failed: the one that the ledger refused with.
pub(super) fn code(record: &Record) -> &str {
    record.error.as_ref().map_or(Code::SystemError.name(), |error| &error.code)
}

/// An end without money moved, as a refusal that carries these fields.
pub(super) fn failed(record: &Record, message: &str, fields: &impl Serialize) -> Refusal {
    let code = code(record);
    let known = Code::parse(code).unwrap_or(Code::SystemError);
    let mut refusal = Refusal::because(known, message).with("code", code);
    if code == errors::FENCED {
        refusal = refusal.with("docs", errors::address(code));
    }
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(fields) {
        refusal.details.extend(fields);
    }
    refusal
}

/// A transfer as a create answers it.
pub(super) fn create_response(app: &App, accepted: &Accepted) -> (Outcome, Transfer) {
    let (outcome, state) = Outcome::of(app, &accepted.record);
    (outcome, transfer_response(app, &accepted.record, state))
}

/// A transfer in its exact state.
pub(crate) fn exact(app: &App, record: &Record) -> Transfer {
    let table = app.engine.flows().table(record.flow);
    transfer_response(app, record, table.state(record.head.state).name)
}

fn transfer_response(app: &App, record: &Record, state: &'static str) -> Transfer {
    let terms = &record.terms;
    let (asset, precision) = format::asset(&app.engine.assets(), terms.source.asset);
    Transfer {
        transfer_id: record.serial.map_or(0, |serial| serial.0),
        req_id: record.id.to_string(),
        from: format::account(&terms.source).to_owned(),
        to: format::account(record.target()).to_owned(),
        asset,
        amount: terms.source.amount.decimal(precision),
        state: state.to_owned(),
        message: message(app, record),
        cid: terms.binding.as_ref().map(|binding| binding.key.to_string()),
        reference: terms.reference.clone(),
        metadata: terms.metadata.clone(),
        created_at: format::time(record.created_at),
        updated_at: format::time(record.updated_at),
    }
}

/// Where a transfer stands, as a sentence.
pub(crate) fn message(app: &App, record: &Record) -> String {
    let table = app.engine.flows().table(record.flow);
    (table.message)(record.head.state, Audience::User, record.error.as_ref())
}

/// A transfer belongs to the user who owns it; a service reads what it made itself, also under a former issuer.
pub(crate) fn may_see(app: &App, caller: &Caller, record: &Record) -> bool {
    let itself =
        || app.engine.intake.key_scopes(&caller.principal).contains(&record.terms.principal);
    let owner = record.terms.owner.user();
    owner.is_some_and(|owner| caller.user == Some(owner))
        || (caller.may(Scope::TransfersAny) && itself())
}

/// An entry as a user may see it.
pub(crate) fn entry(table: &Table, linked: Linked) -> HistoryEntry {
    let entry = linked.entry;
    let detail = if entry.event == HISTORY_EVENT {
        action_alone(entry.detail)
    } else {
        // what a rule was given is about the service: its inventory, its budget
        entry.detail.filter(|_| !decided(table, entry.from))
    };
    let name = |code| table.coded(code).map_or("", |state| table.state(state).name);
    HistoryEntry {
        seq: entry.seq,
        at: format::time(entry.at),
        from: entry.from.map(|from| name(from).to_owned()),
        to: name(entry.to).to_owned(),
        event: entry.event,
        detail,
    }
}

/// True for the entry of a decision.
fn decided(table: &Table, from: Option<i16>) -> bool {
    let state = from.and_then(|code| table.coded(code));
    state.is_some_and(|state| matches!(table.step(state), Step::Decide { .. }))
}

/// What an operator did, without the reason and the value: they are written for other operators.
fn action_alone(detail: Option<String>) -> Option<String> {
    let detail: Value = serde_json::from_str(&detail?).ok()?;
    let kind = detail.get("action")?;
    // in a transfer's history every pause is of the transfer; what is stored is hashed and stays
    let shown = if kind == PAUSE { json!(PAUSE_TRANSFER) } else { kind.clone() };
    Some(json!({ "action": shown }).to_string())
}
