//! Writes the answers of a served ledger: its identity, then the result.

use crate::http::middleware::error::{Refusal, status};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::operation::{Key, Known, Operation, StoredOutcome};
use kernel::ports::ledger::Reply;
use kernel::record::Account;
use ledgers::remote::AssetCodes;
use ledgers::remote::wire::{Item, STALE_HALT, Who};
use serde::Serialize;
use std::any::Any;

/// An answer of the ledger: its name and number, then the rest.
#[derive(Debug, Serialize)]
struct LedgerAnswer<T> {
    #[serde(flatten)]
    who: Who,
    #[serde(flatten)]
    rest: T,
}

/// The number of a HALT that a request does not know.
#[derive(Debug, Serialize)]
struct StaleBody {
    error: &'static str,
    halt: u64,
}

/// A code in the field `error`.
#[derive(Debug, Serialize)]
struct ErrorBody {
    error: &'static str,
}

/// The cause why there is no answer.
#[derive(Debug, Serialize)]
struct UnknownBody {
    unknown: &'static str,
}

/// An answer that the ledger gave.
pub(super) fn answered(status: StatusCode, known: Known, rest: impl Serialize) -> Response {
    (status, Json(LedgerAnswer { who: Who::of(known), rest })).into_response()
}

/// Nothing was done, since the ledger was told of a HALT that the sender does not know.
pub(super) fn stale(known: Known, halt: u64) -> Response {
    tracing::warn!(halt, "the caller does not know of the last HALT: nothing is done for it");
    answered(StatusCode::CONFLICT, known, StaleBody { error: STALE_HALT, halt })
}

/// An absence that the ledger states.
pub(super) fn missing(known: Known, error: &'static str) -> Response {
    answered(StatusCode::NOT_FOUND, known, ErrorBody { error })
}

/// The response for a ledger's reply: `show` writes the part that the ledger answered.
pub(super) fn reply<T>(reply: Reply<T>, show: impl FnOnce(Known, T) -> Response) -> Response {
    match reply {
        Reply::Answered(known, said) => show(known, said),
        Reply::OtherLedger(known) => {
            tracing::error!(?known, "the caller means another ledger, or knows more than this one");
            answered(StatusCode::CONFLICT, known, ErrorBody { error: "WRONG_LEDGER" })
        }
        Reply::NoAnswer(cause) => nothing(&cause),
    }
}

/// The answer that nothing was done; it names only the class of the cause.
pub(super) fn nothing(cause: &Cause) -> Response {
    tracing::warn!(%cause, "nothing can be said");
    let unknown = UnknownBody { unknown: cause.class };
    (StatusCode::SERVICE_UNAVAILABLE, Json(unknown)).into_response()
}

/// A request that the ledger never saw.
pub(super) fn refused(code: Code) -> Response {
    (status(code), Json(ErrorBody { error: code.name() })).into_response()
}

/// A request that cannot be read.
pub(super) fn unread(refusal: &Refusal) -> Response {
    tracing::debug!(code = %refusal.code, "refused: {}", refusal.sentence);
    refused(refusal.code)
}

/// A handler panicked: the outcome is unknown.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request's handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, Json(UnknownBody { unknown: "GONE" })).into_response()
}

/// An item that says no more than its key.
fn bare(key: Key) -> Item {
    Item {
        req_id: key.id.to_string(),
        leg: key.leg.name(),
        seq: None,
        success: None,
        error: None,
        unknown: None,
        user_id: None,
        asset: None,
        amount: None,
    }
}

/// The result of an operation.
pub(super) fn result(key: Key, answer: &Answer) -> Item {
    let item = bare(key);
    match answer {
        Answer::Done(receipt) => Item { seq: Some(receipt.seq), success: Some(true), ..item },
        Answer::Rejected(why, receipt) => {
            Item { seq: Some(receipt.seq), error: Some(why.code.to_string()), ..item }
        }
        Answer::Dead(_) => Item { unknown: Some("CONTRADICTION"), ..item },
        Answer::Unknown(cause) => Item { unknown: Some(cause.class), ..item },
    }
}

/// A stored operation with everything that is known of it.
pub(super) fn item(operation: &Operation, symbols: &AssetCodes) -> Item {
    let Operation { seq, op, outcome } = operation;
    let mut item = Item { seq: Some(*seq), ..bare(op.key) };
    match outcome {
        StoredOutcome::Done => item.success = Some(true),
        StoredOutcome::Rejected(why) => item.error = Some(why.code.to_string()),
        StoredOutcome::Fenced => {
            // a fence knows its key alone
            item.error = Some("FENCED".to_owned());
            return item;
        }
    }
    if let Account::User(user) = op.account {
        item.user_id = Some(user.to_string());
        item.asset = Some(symbols.symbol(op.asset).unwrap_or_else(|| op.asset.to_string()));
        item.amount = Some(op.amount.to_string());
    }
    item
}
