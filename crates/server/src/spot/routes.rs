//! The routes of the full form.

use super::Desk;
use super::answer::{self, heard, missing, said};
use crate::http::body::Body;
use crate::http::error::Refusal;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::ids::{AssetId, Id, UserId};
use kernel::ports::ledger::{
    AccountStatus, Heard, Holding, Known, StatusChange, Stored, Totals, Whose,
};
use kernel::unit::{Key, Op, Outcome};
use ledgers::remote::Symbols;
use ledgers::remote::wire::{self, Head, Item};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

type At = State<Arc<Desk>>;

/// Who it is.
pub(super) async fn hello(State(desk): At) -> Response {
    heard(desk.ledger.hello().await, |known, ()| said(StatusCode::OK, known, Bare {}))
}

/// An answer that is its own head.
#[derive(Debug, Serialize)]
struct Bare {}

/// Whether it answers, for machines.
pub(super) async fn health(State(desk): At) -> Response {
    let (code, status) = match desk.ledger.hello().await {
        Heard::Said(..) => (StatusCode::OK, "healthy"),
        Heard::Wrong(_) | Heard::Nothing(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    (code, Json(serde_json::json!({ "status": status }))).into_response()
}

/// Whom a request means. Texts that are none of ours mean another ledger.
fn meant(ledger: String, incarnation: String, min_seq: u64) -> Option<Known> {
    Head { ledger, incarnation, min_seq }.known()
}

/// The answer to one who means another ledger.
async fn stranger(desk: &Desk) -> Response {
    heard(desk.ledger.hello().await, |known, ()| {
        heard::<()>(Heard::Wrong(known), |_, ()| unreached())
    })
}

fn unreached() -> Response {
    answer::nothing(&Cause::of("GONE"))
}

#[derive(Debug, Serialize)]
struct Results {
    results: Vec<Item>,
}

/// Executes operations.
pub(super) async fn execute(State(desk): At, body: Result<Body, Refusal>) -> Response {
    let form: wire::Operations = match body.and_then(|body| body.read()) {
        Ok(form) => form,
        Err(refusal) => return answer::unread(&refusal),
    };
    let Some(known) = meant(form.ledger, form.incarnation, form.min_seq) else {
        return stranger(&desk).await;
    };
    // one that this ledger has no words for stores nothing, and hinders no other
    let mut asked: Vec<(Key, Option<Op>)> = Vec::with_capacity(form.operations.len());
    for operation in &form.operations {
        match operation.op(&desk.symbols) {
            Ok(op) => asked.push((op.key, Some(op))),
            Err(Some(key)) => asked.push((key, None)),
            Err(None) => return answer::refused(Code::BadRequest),
        }
    }
    let ops: Arc<[Op]> = asked.iter().filter_map(|(_, op)| op.clone()).collect();
    heard(desk.ledger.execute(known, ops).await, |known, answers| {
        let mut answers = answers.into_iter();
        let result = |(key, op): &(Key, Option<Op>)| {
            let bad = || Answer::Unknown(Cause::of("BAD_OPERATION"));
            let answered = op.as_ref().and_then(|_| answers.next());
            answer::result(*key, &answered.unwrap_or_else(bad))
        };
        let results = asked.iter().map(result).collect();
        said(StatusCode::OK, known, Results { results })
    })
}

/// Whom a question means; all of it or nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Means {
    ledger: Option<String>,
    incarnation: Option<String>,
    min_seq: Option<u64>,
}

/// What is stored under a key. Whoever means nobody in particular is answered by whoever is here.
pub(super) async fn query(
    State(desk): At,
    Path((req_id, leg)): Path<(String, String)>,
    Query(means): Query<Means>,
) -> Response {
    let Some(key) = wire::key(&req_id, &leg) else {
        return answer::refused(Code::BadRequest);
    };
    let known = match means {
        Means { ledger: Some(ledger), incarnation: Some(incarnation), min_seq: Some(min_seq) } => {
            match meant(ledger, incarnation, min_seq) {
                Some(known) => known,
                None => return stranger(&desk).await,
            }
        }
        Means { ledger: None, incarnation: None, min_seq: None } => {
            match desk.ledger.hello().await {
                Heard::Said(known, ()) => known,
                other @ (Heard::Wrong(_) | Heard::Nothing(_)) => {
                    return heard(other, |_, ()| unreached());
                }
            }
        }
        Means { .. } => return answer::refused(Code::BadRequest),
    };
    heard(desk.ledger.query(known, key).await, |known, stored| {
        shown(known, key, &stored, &desk.symbols)
    })
}

/// An absence, and of what.
#[derive(Debug, Serialize)]
struct Absent {
    error: &'static str,
    req_id: String,
    leg: &'static str,
}

fn shown(known: Known, key: Key, stored: &Stored, symbols: &Symbols) -> Response {
    match stored {
        Stored::Found(operation) => said(StatusCode::OK, known, answer::item(operation, symbols)),
        Stored::Nothing => {
            let (req_id, leg) = (key.id.to_string(), key.leg.name());
            said(StatusCode::NOT_FOUND, known, Absent { error: "NOT_FOUND", req_id, leg })
        }
    }
}

#[derive(Debug, Serialize)]
struct Fenced {
    fenced: bool,
    req_id: String,
    leg: &'static str,
    seq: u64,
}

/// Writes a tombstone, or says what stands.
pub(super) async fn fence(State(desk): At, body: Result<Body, Refusal>) -> Response {
    let form: wire::Fence = match body.and_then(|body| body.read()) {
        Ok(form) => form,
        Err(refusal) => return answer::unread(&refusal),
    };
    let key = wire::key(&form.req_id, &form.leg).filter(|key| key.leg.refusable());
    let Some(key) = key else { return answer::refused(Code::BadRequest) };
    let Some(known) = meant(form.ledger, form.incarnation, form.min_seq) else {
        return stranger(&desk).await;
    };
    heard(desk.ledger.fence(known, key).await, |known, stored| match &stored {
        Stored::Found(found) if found.outcome == Outcome::Fenced => {
            let (req_id, leg) = (key.id.to_string(), key.leg.name());
            said(StatusCode::OK, known, Fenced { fenced: true, req_id, leg, seq: found.seq })
        }
        Stored::Found(_) | Stored::Nothing => shown(known, key, &stored, &desk.symbols),
    })
}

/// A page of something.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    after: u64,
    #[serde(default = "most")]
    limit: usize,
}

const fn most() -> usize {
    wire::MOST_LISTED
}

impl Page {
    fn sound(&self) -> bool {
        (1..=wire::MOST_LISTED).contains(&self.limit)
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    after: u64,
    operations: Vec<Item>,
}

/// Operations above a number.
pub(super) async fn list(State(desk): At, Query(page): Query<Page>) -> Response {
    if !page.sound() {
        return answer::refused(Code::BadRequest);
    }
    heard(desk.ledger.operations(page.after, page.limit).await, |known, found| {
        let operations = found.iter().map(|one| answer::item(one, &desk.symbols)).collect();
        said(StatusCode::OK, known, Listed { after: page.after, operations })
    })
}

#[derive(Debug, Serialize)]
struct Row {
    asset: String,
    users: String,
    frozen: String,
    clearing: String,
    world: String,
    seq: u64,
}

#[derive(Debug, Serialize)]
struct Books {
    totals: Vec<Row>,
}

/// The books at one instant.
pub(super) async fn totals(State(desk): At) -> Response {
    heard(desk.ledger.totals().await, |known, totals| {
        let row = |(asset, totals): &(AssetId, Totals)| Row {
            asset: desk.symbols.symbol(*asset).unwrap_or_else(|| asset.to_string()),
            users: totals.users.to_string(),
            frozen: totals.frozen.to_string(),
            clearing: totals.clearing.to_string(),
            world: totals.world.to_string(),
            seq: known.highest,
        };
        said(StatusCode::OK, known, Books { totals: totals.iter().map(row).collect() })
    })
}

#[derive(Debug, Serialize)]
struct Has {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<u64>,
    asset: String,
    available: String,
    frozen: String,
    status: &'static str,
}

/// One user's balances.
pub(super) async fn account(State(desk): At, Path(user): Path<u64>) -> Response {
    held(&desk, Whose::User(UserId(user)), |_| None).await
}

/// Everybody's balances, by user.
pub(super) async fn accounts(State(desk): At, Query(page): Query<Page>) -> Response {
    if !page.sound() {
        return answer::refused(Code::BadRequest);
    }
    held(&desk, Whose::After(page.after, page.limit), |holding| Some(holding.user.0)).await
}

async fn held(desk: &Desk, whose: Whose, user: impl Fn(&Holding) -> Option<u64>) -> Response {
    heard(desk.ledger.accounts(whose).await, |_, holdings| {
        let row = |holding: &Holding| Has {
            user_id: user(holding),
            asset: desk.symbols.symbol(holding.asset).unwrap_or_else(|| holding.asset.to_string()),
            available: holding.available.to_string(),
            frozen: holding.frozen.to_string(),
            status: holding.status.name(),
        };
        Json(holdings.iter().map(row).collect::<Vec<_>>()).into_response()
    })
}

#[derive(Debug, Serialize)]
struct Set {
    status: &'static str,
    user_id: u64,
    key: Arc<str>,
}

/// Sets an account's status.
pub(super) async fn status(
    State(desk): At,
    Path(user): Path<u64>,
    body: Result<Body, Refusal>,
) -> Response {
    let form: wire::Status = match body.and_then(|body| body.read()) {
        Ok(form) => form,
        Err(refusal) => return answer::unread(&refusal),
    };
    let Some(status) = AccountStatus::parse(&form.status) else {
        return answer::refused(Code::BadRequest);
    };
    let Some(known) = meant(form.ledger, form.incarnation, form.min_seq) else {
        return stranger(&desk).await;
    };
    let change = StatusChange {
        user: UserId(user),
        status,
        reason: form.reason.into(),
        caller: "remote".into(),
        key: form.key.into(),
    };
    let key = change.key.clone();
    heard(desk.ledger.status(known, change).await, |known, found| {
        if found {
            said(StatusCode::OK, known, Set { status: status.name(), user_id: user, key })
        } else {
            missing(known, Code::AccountNotFound.name())
        }
    })
}

/// Forgets what is at or below an id, but for what is open.
pub(super) async fn horizon(State(desk): At, body: Result<Body, Refusal>) -> Response {
    let form: wire::Horizon = match body.and_then(|body| body.read()) {
        Ok(form) => form,
        Err(refusal) => return answer::unread(&refusal),
    };
    let open: Option<Vec<Id>> = form.open.iter().map(|id| wire::transfer(id)).collect();
    let (Some(id), Some(open)) = (wire::transfer(&form.id), open) else {
        return answer::refused(Code::BadRequest);
    };
    let Some(known) = meant(form.ledger, form.incarnation, form.min_seq) else {
        return stranger(&desk).await;
    };
    let heard_of = desk.ledger.horizon(known, id, open.into()).await;
    heard(heard_of, |known, ()| said(StatusCode::OK, known, Bare {}))
}
