//! The routes of a remote ledger in the full form of the contract.

use super::LedgerService;
use super::answer::{self, answered, missing, reply};
use crate::http::middleware::body::Body;
use crate::http::middleware::error::Refusal;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::ids::{AssetId, Id, UserId};
use kernel::operation::{Key, Known, Op, StoredOutcome};
use kernel::ports::ledger::{
    AccountStatus, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose,
};
use ledgers::remote::AssetCodes;
use ledgers::remote::wire::{self, Head, Item};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

type At = State<Arc<LedgerService>>;

/// The identity and the incarnation of the ledger, in an empty answer.
pub(super) async fn hello(State(service): At) -> Response {
    reply(service.ledger.hello().await, |known, ()| answered(StatusCode::OK, known, Empty {}))
}

/// An answer that is its own head.
#[derive(Debug, Serialize)]
struct Empty {}

/// Whether it answers, for machines.
pub(super) async fn health(State(service): At) -> Response {
    let (code, status) = match service.ledger.hello().await {
        Reply::Answered(..) => (StatusCode::OK, "healthy"),
        Reply::OtherLedger(_) | Reply::NoAnswer(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
    };
    (code, Json(serde_json::json!({ "status": status }))).into_response()
}

/// Whom a request means. Texts that are none of ours mean another ledger.
fn claimed_ledger(ledger: String, incarnation: String, min_seq: u64) -> Option<Known> {
    Head { ledger, incarnation, min_seq }.known()
}

/// The answer to one who means another ledger.
async fn wrong_ledger(service: &LedgerService) -> Response {
    reply(service.ledger.hello().await, |known, ()| {
        reply::<()>(Reply::OtherLedger(known), |_, ()| unreachable())
    })
}

fn unreachable() -> Response {
    answer::nothing(&Cause::of("GONE"))
}

#[derive(Debug, Serialize)]
struct Results {
    results: Vec<Item>,
}

/// The number of the last HALT that a sender follows. One that says none is of a release without numbers, and knows
/// of no HALT that came since.
fn followed_halt(headers: &HeaderMap) -> Option<u64> {
    let mut all = headers.get_all(wire::HALT_HEADER).iter();
    match (all.next(), all.next()) {
        (None, _) => Some(0),
        (Some(number), None) => number.to_str().ok()?.parse().ok(),
        (Some(_), Some(_)) => None,
    }
}

/// Executes operations, unless the sender does not know of the last HALT.
pub(super) async fn execute(
    State(service): At,
    headers: HeaderMap,
    body: Result<Body, Refusal>,
) -> Response {
    let Some(halt) = followed_halt(&headers) else { return answer::refused(Code::BadRequest) };
    let request: wire::Operations = match body.and_then(|body| body.read()) {
        Ok(request) => request,
        Err(refusal) => return answer::unread(&refusal),
    };
    let Some(known) = claimed_ledger(request.ledger, request.incarnation, request.min_seq) else {
        return wrong_ledger(&service).await;
    };
    // one that this ledger has no words for stores nothing, and hinders no other
    let mut asked: Vec<(Key, Option<Op>)> = Vec::with_capacity(request.operations.len());
    for operation in &request.operations {
        match operation.op(&service.symbols) {
            Ok(op) => asked.push((op.key, Some(op))),
            Err(Some(key)) => asked.push((key, None)),
            Err(None) => return answer::refused(Code::BadRequest),
        }
    }
    let ops: Arc<[Op]> = asked.iter().filter_map(|(_, op)| op.clone()).collect();
    reply(service.ledger.execute_numbered(known, halt, ops).await, |known, answers| {
        let answers = match answers {
            Ok(answers) => answers,
            Err(told) => return answer::stale(known, told),
        };
        let mut answers = answers.into_iter();
        let result = |(key, op): &(Key, Option<Op>)| {
            let bad = || Answer::Unknown(Cause::of("BAD_OPERATION"));
            let answered = op.as_ref().and_then(|_| answers.next());
            answer::result(*key, &answered.unwrap_or_else(bad))
        };
        let results = asked.iter().map(result).collect();
        answered(StatusCode::OK, known, Results { results })
    })
}

/// Whom a question means; all of it or nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerQuery {
    ledger: Option<String>,
    incarnation: Option<String>,
    min_seq: Option<u64>,
}

/// What is stored under a key. A request that names no ledger is answered by this one.
pub(super) async fn query(
    State(service): At,
    Path((req_id, leg)): Path<(String, String)>,
    Query(query): Query<LedgerQuery>,
) -> Response {
    let Some(key) = wire::key(&req_id, &leg) else {
        return answer::refused(Code::BadRequest);
    };
    let known = match query {
        LedgerQuery {
            ledger: Some(ledger),
            incarnation: Some(incarnation),
            min_seq: Some(min_seq),
        } => match claimed_ledger(ledger, incarnation, min_seq) {
            Some(known) => known,
            None => return wrong_ledger(&service).await,
        },
        LedgerQuery { ledger: None, incarnation: None, min_seq: None } => {
            match service.ledger.hello().await {
                Reply::Answered(known, ()) => known,
                other @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => {
                    return reply(other, |_, ()| unreachable());
                }
            }
        }
        LedgerQuery { .. } => return answer::refused(Code::BadRequest),
    };
    reply(service.ledger.query(known, key).await, |known, stored| {
        shown(known, key, &stored, &service.symbols)
    })
}

/// An absence, and of what.
#[derive(Debug, Serialize)]
struct Absent {
    error: &'static str,
    req_id: String,
    leg: &'static str,
}

fn shown(known: Known, key: Key, stored: &Stored, symbols: &AssetCodes) -> Response {
    match stored {
        Stored::Found(operation) => {
            answered(StatusCode::OK, known, answer::item(operation, symbols))
        }
        Stored::Nothing => {
            let (req_id, leg) = (key.id.to_string(), key.leg.name());
            answered(StatusCode::NOT_FOUND, known, Absent { error: "NOT_FOUND", req_id, leg })
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
pub(super) async fn fence(State(service): At, body: Result<Body, Refusal>) -> Response {
    let request: wire::Fence = match body.and_then(|body| body.read()) {
        Ok(request) => request,
        Err(refusal) => return answer::unread(&refusal),
    };
    let key = wire::key(&request.req_id, &request.leg).filter(|key| key.leg.fenceable());
    let Some(key) = key else { return answer::refused(Code::BadRequest) };
    let Some(known) = claimed_ledger(request.ledger, request.incarnation, request.min_seq) else {
        return wrong_ledger(&service).await;
    };
    reply(service.ledger.fence(known, key).await, |known, stored| match &stored {
        Stored::Found(found) if found.outcome == StoredOutcome::Fenced => {
            let (req_id, leg) = (key.id.to_string(), key.leg.name());
            answered(StatusCode::OK, known, Fenced { fenced: true, req_id, leg, seq: found.seq })
        }
        Stored::Found(_) | Stored::Nothing => shown(known, key, &stored, &service.symbols),
    })
}

/// The highest number of a HALT that the ledger was told of.
#[derive(Debug, Serialize)]
struct HaltBody {
    halt: u64,
}

/// Keeps the number of a HALT: from now on nothing is done for a sender that knows a lower one.
pub(super) async fn halt(State(service): At, body: Result<Body, Refusal>) -> Response {
    let request: wire::HaltNotice = match body.and_then(|body| body.read()) {
        Ok(request) => request,
        Err(refusal) => return answer::unread(&refusal),
    };
    let Some(known) = claimed_ledger(request.ledger, request.incarnation, request.min_seq) else {
        return wrong_ledger(&service).await;
    };
    reply(service.ledger.keep_halt(known, request.halt).await, |known, halt| {
        answered(StatusCode::OK, known, HaltBody { halt })
    })
}

/// A page of something.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    #[serde(default)]
    after: u64,
    #[serde(default = "most")]
    limit: usize,
}

const fn most() -> usize {
    wire::MOST_LISTED
}

impl PageQuery {
    fn is_valid(&self) -> bool {
        (1..=wire::MOST_LISTED).contains(&self.limit)
    }
}

#[derive(Debug, Serialize)]
struct Listed {
    after: u64,
    operations: Vec<Item>,
}

/// Operations above a number.
pub(super) async fn list(State(service): At, Query(page): Query<PageQuery>) -> Response {
    if !page.is_valid() {
        return answer::refused(Code::BadRequest);
    }
    reply(service.ledger.operations(page.after, page.limit).await, |known, found| {
        let operations = found.iter().map(|one| answer::item(one, &service.symbols)).collect();
        answered(StatusCode::OK, known, Listed { after: page.after, operations })
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
struct TotalsBody {
    totals: Vec<Row>,
}

/// The books at one instant.
pub(super) async fn totals(State(service): At) -> Response {
    reply(service.ledger.totals().await, |known, totals| {
        let row = |(asset, totals): &(AssetId, Totals)| Row {
            asset: service.symbols.symbol(*asset).unwrap_or_else(|| asset.to_string()),
            users: totals.users.to_string(),
            frozen: totals.frozen.to_string(),
            clearing: totals.clearing.to_string(),
            world: totals.world.to_string(),
            seq: known.highest,
        };
        answered(StatusCode::OK, known, TotalsBody { totals: totals.iter().map(row).collect() })
    })
}

#[derive(Debug, Serialize)]
struct AccountAmounts {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    asset: String,
    available: String,
    frozen: String,
    status: &'static str,
}

/// The balances of one user.
pub(super) async fn account(State(service): At, Path(user): Path<u64>) -> Response {
    held(&service, Whose::User(UserId(user)), |_| None).await
}

/// The balances of all users.
pub(super) async fn accounts(State(service): At, Query(page): Query<PageQuery>) -> Response {
    if !page.is_valid() {
        return answer::refused(Code::BadRequest);
    }
    held(&service, Whose::After(page.after, page.limit), |holding| Some(holding.user.to_string()))
        .await
}

async fn held(
    service: &LedgerService,
    whose: Whose,
    user: impl Fn(&Holding) -> Option<String>,
) -> Response {
    reply(service.ledger.accounts(whose).await, |_, holdings| {
        let row = |holding: &Holding| AccountAmounts {
            user_id: user(holding),
            asset: service
                .symbols
                .symbol(holding.asset)
                .unwrap_or_else(|| holding.asset.to_string()),
            available: holding.available.to_string(),
            frozen: holding.frozen.to_string(),
            status: holding.status.name(),
        };
        Json(holdings.iter().map(row).collect::<Vec<_>>()).into_response()
    })
}

#[derive(Debug, Serialize)]
struct AccountStatusBody {
    status: &'static str,
    user_id: String,
    key: Arc<str>,
}

/// Sets an account's status.
pub(super) async fn status(
    State(service): At,
    Path(user): Path<u64>,
    body: Result<Body, Refusal>,
) -> Response {
    let request: wire::Status = match body.and_then(|body| body.read()) {
        Ok(request) => request,
        Err(refusal) => return answer::unread(&refusal),
    };
    let Some(status) = AccountStatus::parse(&request.status) else {
        return answer::refused(Code::BadRequest);
    };
    let Some(known) = claimed_ledger(request.ledger, request.incarnation, request.min_seq) else {
        return wrong_ledger(&service).await;
    };
    let change = StatusChange {
        user: UserId(user),
        status,
        reason: request.reason.into(),
        caller: "remote".into(),
        key: request.key.into(),
    };
    let key = change.key.clone();
    reply(service.ledger.status(known, change).await, |known, found| {
        if found {
            answered(
                StatusCode::OK,
                known,
                AccountStatusBody { status: status.name(), user_id: user.to_string(), key },
            )
        } else {
            missing(known, Code::AccountNotFound.name())
        }
    })
}

/// Forgets what is at or below an id, but for what is open.
pub(super) async fn horizon(State(service): At, body: Result<Body, Refusal>) -> Response {
    let request: wire::Horizon = match body.and_then(|body| body.read()) {
        Ok(request) => request,
        Err(refusal) => return answer::unread(&refusal),
    };
    let open: Option<Vec<Id>> = request.open.iter().map(|id| wire::transfer(id)).collect();
    let (Some(id), Some(open)) = (wire::transfer(&request.id), open) else {
        return answer::refused(Code::BadRequest);
    };
    let Some(known) = claimed_ledger(request.ledger, request.incarnation, request.min_seq) else {
        return wrong_ledger(&service).await;
    };
    let raised = service.ledger.horizon(known, id, open.into()).await;
    reply(raised, |known, ()| answered(StatusCode::OK, known, Empty {}))
}
