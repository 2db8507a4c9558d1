//! Executes one operator's action through the engine, and turns its result into a response.

use crate::auth::{Caller, Scope};
use crate::http::middleware::body;
use crate::http::middleware::caller::needs;
use crate::http::middleware::error::Refusal;
use crate::http::transfers::create;
use crate::http::{App, format, unknown};
use api::admin::actions::{AcceptedBreak, ActionOutcome, Done, OnWire};
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::operators::{
    ActionResult, Actor, AdminAction, Objection, OutstandingCall, PerformedAction, StoredAnswer,
};
use kernel::code::Code;
use kernel::ids::Id;
use kernel::operators::{Accepted, ApprovalStatus, Permission};
use kernel::reconcile::Break;
use serde_json::json;
use std::sync::Arc;

/// Executes an action, and returns its result as a response.
///
/// # Errors
/// The reason or the key is unfit, or the engine objects.
pub(in crate::http) async fn run_action(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    reason: &str,
    action: AdminAction,
) -> Result<Response, Refusal> {
    let performed = execute(app, caller, headers, reason, action).await?;
    let waits = matches!(
        performed.outcome,
        ActionResult::Proposed { .. }
            | ActionResult::Proving { .. }
            | ActionResult::Halted { stored: false, .. }
    );
    let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
    let replayed = performed.replayed;
    Ok(create::mark_replayed((status, Json(to_response(performed))).into_response(), replayed))
}

/// Executes an action under the key of its request.
///
/// # Errors
/// The reason or the key is unfit, or the engine objects.
pub(in crate::http) async fn execute(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    reason: &str,
    action: AdminAction,
) -> Result<PerformedAction, Refusal> {
    super::reason(reason)?;
    execute_once(app, caller, &idempotency_key(app, headers)?, reason, action).await
}

/// The idempotency key of an action: the caller's, or a new one.
///
/// # Errors
/// The caller's key is not well-formed.
pub(super) fn idempotency_key(app: &App, headers: &HeaderMap) -> Result<String, Refusal> {
    let own = || Id::new(app.clock.now(), u128::from(app.rng.next())).to_string();
    Ok(body::key(headers, None)?.unwrap_or_else(own))
}

/// Does it under that key. The route has let the caller pass; the table of actions has the last word.
pub(super) async fn execute_once(
    app: &App,
    caller: &Caller,
    key: &str,
    reason: &str,
    action: AdminAction,
) -> Result<PerformedAction, Refusal> {
    let scope = match action.row().permission {
        Permission::Act => Scope::OpsAct,
        Permission::Approve => Scope::OpsApprove,
    };
    needs(caller, scope)?;
    let caller = Arc::clone(&caller.principal);
    let actor = Actor { caller, key: key.into(), reason: reason.into() };
    app.engine.operators.execute(actor, action).await.map_err(refusal)
}

/// An objection as it is answered.
pub(in super::super) fn refusal(objection: Objection) -> Refusal {
    match objection {
        Objection::Mismatch(fields) => {
            Refusal::of(Code::DuplicateRequest).with("mismatched_fields", fields)
        }
        Objection::NotFound("account") => Refusal::of(Code::AccountNotFound),
        Objection::NotFound(what) => Refusal::no_such(what),
        Objection::Invalid(sentence) => Refusal::bad(sentence),
        Objection::NotPossible(sentence) => Refusal::because(Code::NotPossible, sentence),
        Objection::SamePerson => Refusal::because(
            Code::Forbidden,
            "The person who proposed cannot approve: a second person must approve",
        ),
        Objection::Decided(stand) => {
            let why = match stand {
                ApprovalStatus::Pending | ApprovalStatus::Approved | ApprovalStatus::Rejected => {
                    "It was decided before"
                }
                ApprovalStatus::Superseded => {
                    "What it proposed was done meanwhile, or has changed: look before anything is proposed anew, and \
                     do nothing where a `ref` is booked"
                }
                ApprovalStatus::Lapsed => "No decision came in time: propose it anew",
            };
            let sentence = format!("{why}. It is {}", stand.name());
            Refusal::because(Code::AlreadyDecided, sentence).with("status", stand.name())
        }
        Objection::Breaks(breaks) => {
            let rows: Vec<_> = breaks.iter().map(row).collect();
            Refusal::of(Code::BreaksNotAccepted).with("breaks", rows)
        }
        Objection::Code(code) => Refusal::of(code),
        Objection::Unknown(cause) => {
            unknown("an operator's action", &cause);
            Refusal::unknown(
                "The outcome is not known yet. Repeat it with the same `Idempotency-Key`",
            )
        }
    }
}

fn row(found: &Break) -> serde_json::Value {
    json!({ "key": found.key, "amount": found.amount.to_string(), "what": found.what })
}

/// The result of an action, as the API returns it.
pub(in crate::http) fn to_response(performed: PerformedAction) -> Done {
    let result = match performed.outcome {
        ActionResult::Retried => ActionOutcome::Retried,
        ActionResult::Asked { ledger, leg, said } => {
            let (said, detail) = ledger_answer(said);
            let (ledger, leg) = (ledger.name().to_owned(), leg.name().to_owned());
            ActionOutcome::Asked { ledger, leg, said, detail }
        }
        ActionResult::Paused { number } => ActionOutcome::Paused { pause_id: number },
        ActionResult::Unpaused => ActionOutcome::Unpaused,
        ActionResult::Halted { halt, on_wire, calls, quiet, stored } => {
            let on_wire = on_wire.into_iter().map(outstanding_call).collect();
            ActionOutcome::Halted { halt, on_wire, calls, quiet, stored }
        }
        ActionResult::Proposed { approval } => {
            ActionOutcome::Proposed { approval_id: approval.to_string() }
        }
        ActionResult::Proving { at, of } => ActionOutcome::Proving { proven: at, transfers: of },
        ActionResult::Resumed { accepted } => {
            ActionOutcome::Resumed { accepted: accepted.iter().map(accepted_row).collect() }
        }
        ActionResult::Deposited { reference } => {
            ActionOutcome::Deposited { reference: reference.to_string() }
        }
        ActionResult::Withdrawn { reference } => {
            ActionOutcome::Withdrawn { reference: reference.to_string() }
        }
        ActionResult::Resolved { verdict, said, state } => {
            let (said, detail) = ledger_answer(said);
            let (answer, state) = (verdict.name().to_owned(), state.to_string());
            ActionOutcome::Resolved { answer, said, detail, state }
        }
        ActionResult::Superseded { state } => {
            ActionOutcome::Superseded { state: state.to_string() }
        }
        ActionResult::Refused => ActionOutcome::Refused,
        ActionResult::WithdrawalAccepted => ActionOutcome::WithdrawalAccepted,
        ActionResult::RefundReleased { refusals } => ActionOutcome::RefundReleased { refusals },
        ActionResult::StatusSet => ActionOutcome::StatusSet,
        ActionResult::Asset { .. } => ActionOutcome::AssetSet,
        ActionResult::NumberedAccount { .. } => ActionOutcome::AccountSet,
        ActionResult::Webhook { .. } => ActionOutcome::WebhookSet,
        ActionResult::WebhookDeleted => ActionOutcome::WebhookDeleted,
        ActionResult::Unparked => ActionOutcome::Unparked,
        ActionResult::Redriven { messages, passed_over, left } => {
            ActionOutcome::Redriven { messages, passed_over, left }
        }
        ActionResult::Reemitted { messages } => ActionOutcome::Reemitted { messages },
        ActionResult::Sought { partitions } => ActionOutcome::Sought { partitions },
        ActionResult::LaneRetired { attempt } => {
            ActionOutcome::KeyRetired { attempt_id: attempt.map(|id| id.to_string()) }
        }
        ActionResult::LaneGone { height, providers } => {
            ActionOutcome::KeyGone { block: height, providers }
        }
        ActionResult::Noted => ActionOutcome::Noted,
    };
    Done { result, at: format::time(performed.at) }
}

fn ledger_answer(said: StoredAnswer) -> (String, Option<String>) {
    let (word, detail) = match said {
        StoredAnswer::Done { seq } => ("DONE", Some(seq.to_string())),
        StoredAnswer::Rejected(evidence) => ("REJECTED", Some(evidence.code.to_string())),
        StoredAnswer::Fenced => ("FENCED", None),
        StoredAnswer::Nothing => ("NOTHING", None),
        StoredAnswer::Unknown { why } => ("UNKNOWN", Some(why.to_string())),
        StoredAnswer::NeverSent { dead } => ("NEVER_SENT", Some(dead.to_string())),
    };
    (word.to_owned(), detail)
}

fn outstanding_call(OutstandingCall { system, key }: OutstandingCall) -> OnWire {
    OnWire {
        ledger: system.name().to_owned(),
        req_id: key.id.to_string(),
        leg: key.leg.name().to_owned(),
    }
}

/// An accepted break as it is shown.
pub(super) fn accepted_row(accepted: &Accepted) -> AcceptedBreak {
    AcceptedBreak { key: accepted.key.to_string(), amount: accepted.amount.to_string() }
}
