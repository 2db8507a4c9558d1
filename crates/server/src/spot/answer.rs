//! How a ledger's answers are written: who it is, then what it says.

use crate::http::error::{Refusal, status};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::ports::ledger::{Heard, Known};
use kernel::record::Account;
use kernel::unit::{Key, Operation, Outcome};
use ledgers::remote::Symbols;
use ledgers::remote::wire::{Item, Who};
use serde::Serialize;
use std::any::Any;

/// An answer of the ledger: its name and number, then the rest.
#[derive(Debug, Serialize)]
struct Named<T> {
    #[serde(flatten)]
    who: Who,
    #[serde(flatten)]
    rest: T,
}

/// A word in the field `error`.
#[derive(Debug, Serialize)]
struct Error {
    error: &'static str,
}

/// Why nothing can be said.
#[derive(Debug, Serialize)]
struct Unknown {
    unknown: &'static str,
}

/// An answer that the ledger gave.
pub(super) fn said(status: StatusCode, known: Known, rest: impl Serialize) -> Response {
    (status, Json(Named { who: Who::of(known), rest })).into_response()
}

/// An absence that the ledger states.
pub(super) fn missing(known: Known, error: &'static str) -> Response {
    said(StatusCode::NOT_FOUND, known, Error { error })
}

/// What was heard: `show` writes what was said.
pub(super) fn heard<T>(heard: Heard<T>, show: impl FnOnce(Known, T) -> Response) -> Response {
    match heard {
        Heard::Said(known, said) => show(known, said),
        Heard::Wrong(known) => {
            tracing::error!(?known, "somebody means another ledger, or knows more than this one");
            said(StatusCode::CONFLICT, known, Error { error: "WRONG_LEDGER" })
        }
        Heard::Nothing(cause) => nothing(&cause),
    }
}

/// Nothing was done, for this reason; only its class is told.
pub(super) fn nothing(cause: &Cause) -> Response {
    tracing::warn!(%cause, "nothing can be said");
    let unknown = Unknown { unknown: cause.class };
    (StatusCode::SERVICE_UNAVAILABLE, Json(unknown)).into_response()
}

/// A request that the ledger never saw.
pub(super) fn refused(code: Code) -> Response {
    (status(code), Json(Error { error: code.name() })).into_response()
}

/// A request that cannot be read.
pub(super) fn unread(refusal: &Refusal) -> Response {
    tracing::debug!(code = %refusal.code, "refused: {}", refusal.sentence);
    refused(refusal.code)
}

/// A handler died: nobody knows how far it came.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request's handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, Json(Unknown { unknown: "GONE" })).into_response()
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
pub(super) fn item(operation: &Operation, symbols: &Symbols) -> Item {
    let Operation { seq, op, outcome } = operation;
    let mut item = Item { seq: Some(*seq), ..bare(op.key) };
    match outcome {
        Outcome::Done => item.success = Some(true),
        Outcome::Rejected(why) => item.error = Some(why.code.to_string()),
        Outcome::Fenced => {
            // a fence knows its key alone
            item.error = Some("FENCED".to_owned());
            return item;
        }
    }
    if let Account::User(user) = op.account {
        item.user_id = Some(user.0);
        item.asset = Some(symbols.symbol(op.asset).unwrap_or_else(|| op.asset.to_string()));
        item.amount = Some(op.amount.to_string());
    }
    item
}
