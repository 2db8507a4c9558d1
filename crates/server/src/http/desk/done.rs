//! One action of an operator: asked of the engine, and what it came to.

use super::super::error::Refusal;
use super::super::{App, body, made, ops, unknown, wire};
use crate::auth::Caller;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::deeds::{Actor, Deed, Objection, Outcome, Performed, Said};
use kernel::code::Code;
use kernel::conserve::Break;
use kernel::ids::{Id, LedgerId};
use kernel::people::{Accepted, Stand};
use kernel::unit::Key;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// Why something is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "ticket 4711: the ledger is back")]
    pub reason: String,
}

/// What an action came to. Which fields are there depends on `outcome`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Done {
    /// `HASTENED`, `ASKED`, `PAUSED`, `LIFTED`, `HALTED`, `PROPOSED` (another person has to
    /// approve), `PROVING` (money moves once everything is proven, which goes on by itself: repeat it
    /// with the same `Idempotency-Key` to hear what it came to), `RESUMED`, `RESOLVED`, `OVERTAKEN` (the transfer had moved on; nothing was done),
    /// `DECLINED`, `STATUS_SET`, `ASSET_SET` or `NOTED`.
    #[schema(example = "PROPOSED")]
    pub outcome: &'static str,
    /// When, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// `PROPOSED`: what another person approves or rejects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// `PAUSED`: what is lifted later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_id: Option<u64>,
    /// `ASKED`: the ledger that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<&'static str>,
    /// `ASKED`: the leg that was asked after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leg: Option<&'static str>,
    /// `ASKED`, `RESOLVED`: what the ledger holds: `DONE`, `REJECTED`, `FENCED`, `NOTHING` (which is
    /// no evidence) or `UNCLEAR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<&'static str>,
    /// With `said`: the ledger's number, its code, or why it is unclear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `RESOLVED`: the answer as the ledger bore it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
    /// `RESOLVED`, `OVERTAKEN`: where the transfer stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `HALTED`: calls that had begun before and may still have an effect, the first hundred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_wire: Option<Vec<OnWire>>,
    /// `HALTED`: so many calls there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// `HALTED`: a HALT stands, and all of them, and every write begun before it, have ended since, in
    /// every process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<bool>,
    /// `HALTED`: the number of the last halt that stands now, which a resume is of. Missing where
    /// persons resumed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 7)]
    pub halt: Option<u64>,
    /// `PROVING`: the number of the transfer that the proof has come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<u64>,
    /// `PROVING`: the number of the last transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u64>,
    /// `RESUMED`: the breaks of conservation that were accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<AcceptedBreak>>,
}

/// A call that was on its way when money was stopped.
#[derive(Debug, Serialize, ToSchema)]
pub struct OnWire {
    /// The ledger.
    #[schema(example = "SPOT")]
    pub ledger: &'static str,
    /// The transfer.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub req_id: String,
    /// What it asks for.
    #[schema(example = "DEPOSIT")]
    pub leg: &'static str,
}

/// A break of conservation that persons accept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedBreak {
    /// Its key, as `/ops/conservation` names it.
    #[schema(example = "FUNDING/3/clearing")]
    pub key: String,
    /// By how much, in base units, as `/ops/conservation` says it.
    #[schema(example = "-1500000")]
    pub amount: String,
}

/// Does it, and says what it came to.
///
/// # Errors
/// The reason or the key is unfit, or the engine objects.
pub(in super::super) async fn done(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    reason: &str,
    deed: Deed,
) -> Result<Response, Refusal> {
    let performed = performed(app, caller, headers, reason, deed).await?;
    let waits = matches!(performed.outcome, Outcome::Proposed { .. } | Outcome::Proving { .. });
    let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
    let replayed = performed.replayed;
    Ok(made::marked((status, Json(told(performed))).into_response(), replayed))
}

/// Does it.
///
/// # Errors
/// The reason or the key is unfit, or the engine objects.
pub(in super::super) async fn performed(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    reason: &str,
    deed: Deed,
) -> Result<Performed, Refusal> {
    ops::reason(reason)?;
    one(app, caller, &key(app, headers)?, reason, deed).await
}

/// The key under which it is done once: the caller's, or one of our own.
///
/// # Errors
/// The caller's is unfit.
pub(super) fn key(app: &App, headers: &HeaderMap) -> Result<String, Refusal> {
    let own = || Id::new(app.clock.now(), u128::from(app.rng.next())).to_string();
    Ok(body::key(headers, None)?.unwrap_or_else(own))
}

/// Does it under that key.
pub(super) async fn one(
    app: &App,
    caller: &Caller,
    key: &str,
    reason: &str,
    deed: Deed,
) -> Result<Performed, Refusal> {
    let caller = Arc::clone(&caller.principal);
    let actor = Actor { caller, key: key.into(), reason: reason.into() };
    app.engine.act(actor, deed).await.map_err(refusal)
}

fn refusal(objection: Objection) -> Refusal {
    match objection {
        Objection::Mismatch(fields) => {
            Refusal::of(Code::DuplicateRequest).with("mismatched_fields", fields)
        }
        Objection::NotFound("account") => Refusal::of(Code::AccountNotFound),
        Objection::NotFound("asset") => Refusal::because(Code::NotFound, "There is no such asset"),
        Objection::NotFound(what) => {
            Refusal::because(Code::NotFound, format!("There is no such {what}"))
        }
        Objection::Invalid(sentence) => Refusal::bad(sentence),
        Objection::NotPossible(sentence) => Refusal::because(Code::NotPossible, sentence),
        Objection::SamePerson => Refusal::because(
            Code::Forbidden,
            "Whoever proposed cannot approve: it takes the eyes of another person",
        ),
        Objection::Decided(stand) => {
            let why = match stand {
                Stand::Pending | Stand::Approved | Stand::Rejected => "Somebody decided before",
                Stand::Superseded => "What it was about is no longer so: propose it anew",
                Stand::Lapsed => "Nobody decided in time: propose it anew",
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
                "Nobody knows yet what became of it. Repeat it with the same `Idempotency-Key`",
            )
        }
    }
}

fn row(found: &Break) -> serde_json::Value {
    json!({ "key": found.key, "amount": found.amount.to_string(), "what": found.what })
}

/// What an action came to, as it is told.
pub(super) fn told(performed: Performed) -> Done {
    let at = wire::time(performed.at);
    let done = |outcome| Done { outcome, at: at.clone(), ..Done::default() };
    match performed.outcome {
        Outcome::Hastened => done("HASTENED"),
        Outcome::Asked { ledger, leg, said } => {
            let (word, detail) = heard(said);
            let (ledger, leg) = (Some(ledger.name()), Some(leg.name()));
            Done { ledger, leg, said: Some(word), detail, ..done("ASKED") }
        }
        Outcome::Paused(pause_id) => Done { pause_id, ..done("PAUSED") },
        Outcome::Lifted => done("LIFTED"),
        Outcome::Halted { halt, on_wire, calls, quiet } => Done {
            halt,
            on_wire: Some(on_wire.into_iter().map(flying).collect()),
            calls: Some(calls),
            quiet: Some(quiet),
            ..done("HALTED")
        },
        Outcome::Proposed { approval } => {
            Done { approval_id: Some(approval.to_string()), ..done("PROPOSED") }
        }
        Outcome::Resumed { accepted } => {
            let accepted = Some(accepted.iter().map(taken).collect());
            Done { accepted, ..done("RESUMED") }
        }
        Outcome::Resolved { verdict, said, state } => {
            let (word, detail) = heard(said);
            let (answer, state) = (Some(verdict.name()), Some(state.to_string()));
            Done { answer, said: Some(word), detail, state, ..done("RESOLVED") }
        }
        Outcome::Overtaken { state } => {
            Done { state: Some(state.to_string()), ..done("OVERTAKEN") }
        }
        Outcome::Declined => done("DECLINED"),
        Outcome::StatusSet => done("STATUS_SET"),
        Outcome::Asset(_) => done("ASSET_SET"),
        Outcome::Proving { at, of } => {
            Done { proven: Some(at), transfers: Some(of), ..done("PROVING") }
        }
        Outcome::Noted => done("NOTED"),
    }
}

fn heard(said: Said) -> (&'static str, Option<String>) {
    match said {
        Said::Done(seq) => ("DONE", Some(seq.to_string())),
        Said::Rejected(evidence) => ("REJECTED", Some(evidence.code.to_string())),
        Said::Fenced => ("FENCED", None),
        Said::Nothing => ("NOTHING", None),
        Said::Unclear(why) => ("UNCLEAR", Some(why.to_string())),
    }
}

fn flying((ledger, key): (LedgerId, Key)) -> OnWire {
    OnWire { ledger: ledger.name(), req_id: key.id.to_string(), leg: key.leg.name() }
}

/// An accepted break as it is shown.
pub(super) fn taken(accepted: &Accepted) -> AcceptedBreak {
    AcceptedBreak { key: accepted.key.to_string(), amount: accepted.amount.to_string() }
}
