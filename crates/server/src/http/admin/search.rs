//! The operators' routes that search the transfers of all users, and show one in full.

use super::agreed::AgreedView;
use super::{PAGE, cursor, limit};
use crate::http::middleware::caller::{RequireOpsRead, user};
use crate::http::middleware::error::Refusal;
use crate::http::middleware::path_params::PathParams;
use crate::http::middleware::query::QueryParams;
use crate::http::transfers::list;
use crate::http::transfers::response;
use crate::http::{App, format, no_answer};
use api::problem::Problem;
use api::transfers::Transfer;
use api::user_id::UserIdText;
use axum::Json;
use axum::extract::State;
use flows::relay::State as Relayed;
use kernel::audit::hex;
use kernel::code::Code;
use kernel::flow::life::{Life as _, Side};
use kernel::flow::table::Table;
use kernel::ids::{FlowId, Id, LedgerId, Serial};
use kernel::operation::{Operation, StoredOutcome};
use kernel::operators::{AdminAction, PastAction};
use kernel::ports::admin_queries::Search;
use kernel::ports::journal::Linked;
use kernel::record::{Account, Party, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which transfers are wanted; what is not said does not matter.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct SearchQuery {
    /// Of this flow: `internal`, `account`, `relay`.
    flow: Option<String>,
    /// In this state, or `OPEN`, or `ENDED`. Without a flow, a state of `internal`, or of the one flow that has it.
    state: Option<String>,
    /// To this account, as its system names it: a receiver of the relay, the number of a numbered account.
    receiver: Option<String>,
    /// Transfers of this user only.
    user: Option<UserIdText>,
    /// Made by this caller: `issuer|sub`.
    #[param(example = "portage|shop")]
    caller: Option<String>,
    /// Made under this key of their client, of any flow. With `user` or `caller` it is found at once; without both, keys
    /// are searched until the time of a search is over.
    #[param(example = "payout-7")]
    key: Option<String>,
    /// With this reference of their client. Without `user` or `caller` all transfers are searched until the time of a
    /// search is over.
    #[param(example = "order-4711")]
    reference: Option<String>,
    /// Transfers of this asset only, by its symbol.
    asset: Option<String>,
    /// Minimum age, in seconds.
    min_age: Option<u64>,
    /// Minimum number of unknown answers.
    min_attempts: Option<u32>,
    /// With this last error: the code of a refusal or of an unknown answer.
    error_class: Option<String>,
    /// An account type: money that comes from there. A time (RFC 3339): opened at or after it.
    from: Option<String>,
    /// An account type: money that goes there. A time (RFC 3339): opened before it.
    to: Option<String>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// From 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// A page of transfers, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Found {
    /// The transfers of this page.
    pub transfers: Vec<FoundTransfer>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// A transfer as an operator sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundTransfer {
    /// As its user sees it, in its exact state.
    #[serde(flatten)]
    pub transfer: Transfer,
    /// The flow that carries it.
    #[schema(example = "internal")]
    pub flow: &'static str,
    /// Who pays, as its system names the account: the number of a numbered account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// Who is paid, as its system names the account: of the relay an account on NEAR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Of the relay: the contract of the token that is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_contract: Option<String>,
    /// The user whose transfer it is.
    pub user_id: UserIdText,
    /// Who made it: `issuer|sub`.
    #[schema(example = "portage|4001")]
    pub principal: String,
    /// The last refusal, or the cause of the last unknown answer.
    pub error_class: Option<String>,
    /// What is known of that refusal or cause, as text or JSON: the exact code, where the payer reads
    /// `TARGET_ACCOUNT_NOT_FOUND` of a target of another owner.
    pub error_message: Option<String>,
    /// As its own route shows it: of the relay the attempts made for it, of other flows the unknown answers.
    #[schema(example = 3)]
    pub retry_count: u32,
    /// Unknown answers so far, of every flow: what `min_attempts` looks at.
    #[schema(example = 3)]
    pub unknown_answers: u32,
    /// When it is tried again; none while a worker carries it.
    pub due_at: Option<String>,
}

/// A transfer with everything that is known of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dossier {
    /// The transfer as a search shows it.
    #[serde(flatten)]
    pub found: FoundTransfer,
    /// Oldest first, each entry with its place in the hash chain.
    pub history: Vec<Evidence>,
    /// What each ledger answered, as far as it is stored.
    pub legs: Vec<LegRow>,
    /// Calls that may be on their way: claimed, and not answered.
    pub intents: Vec<Intent>,
    /// What operators wrote about it, oldest first.
    pub notes: Vec<TransferNote>,
    /// What was agreed after its opening, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<AgreedView>,
}

/// Words of an operator about a transfer.
#[derive(Debug, Serialize, ToSchema)]
pub struct TransferNote {
    /// When it was written, RFC 3339.
    pub at: String,
    /// The operator who wrote it.
    pub by: String,
    /// The words, as they are kept.
    #[schema(example = "The user's bank confirmed by phone")]
    pub text: String,
    /// Why, as for every action.
    pub reason: String,
}

/// One step of a history with its evidence.
#[derive(Debug, Serialize, ToSchema)]
pub struct Evidence {
    /// The place in the history, from 0.
    #[schema(example = 4)]
    pub seq: u32,
    /// When it was written, RFC 3339.
    pub at: String,
    /// The state before; none where it begins.
    #[schema(example = "TARGET_PENDING")]
    pub from: Option<&'static str>,
    /// The state after the step.
    #[schema(example = "COMMITTED")]
    pub to: &'static str,
    /// The word for it.
    #[schema(example = "TARGET_OK")]
    pub event: String,
    /// Who caused it, where a person did.
    pub caller: Option<String>,
    /// Evidence, cause or reason.
    pub detail: Option<String>,
    /// The hash of the entry before, in hexadecimal.
    pub prev_hash: String,
    /// The hash of this one.
    pub hash: String,
    /// The hash of what was agreed with it, where something was: this entry's hash covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<String>,
}

/// What a ledger answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct LegRow {
    /// The ledger that answered.
    #[schema(example = "SPOT")]
    pub ledger: &'static str,
    /// The leg that was asked for.
    #[schema(example = "DEPOSIT")]
    pub leg: &'static str,
    /// `DONE`, `REJECTED` or `FENCED`.
    #[schema(example = "DONE")]
    pub result: &'static str,
    /// Why it was refused.
    pub code: Option<String>,
    /// The ledger's number of it.
    #[schema(example = 17)]
    pub seq: u64,
    /// In the asset's unit.
    pub amount: String,
    /// The user or account number that the leg touched.
    pub account: String,
}

/// A call that was claimed and not answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Intent {
    /// The ledger that the call is for.
    pub ledger: &'static str,
    /// The leg that was asked for.
    pub leg: &'static str,
}

/// Transfers of every user, newest first.
#[utoipa::path(
    get, path = "/api/v1/transfers", tag = "ops", params(SearchQuery),
    operation_id = "find_transfers", security(("token" = ["ops:read"])),
    responses(
        (status = 200, body = Found, description = "A page"),
        (status = 400, body = Problem, description = "A parameter that does not fit: `BAD_REQUEST`; no such asset: `INVALID_ASSET`"),
    )
)]
pub(in crate::http) async fn find(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    QueryParams(query): QueryParams<SearchQuery>,
) -> Result<Json<Found>, Refusal> {
    let search = search(&app, query)?;
    let limit = search.limit;
    let records = app.admin_queries.transfers(search).await.map_err(no_answer("transfers"))?;
    let last = records.last().filter(|_| records.len() == limit);
    let next = last.and_then(|last| last.serial).map(|serial| serial.to_string());
    let attempts = attempts(&app, &records).await?;
    let transfers = records.iter().map(|one| found(&app, one, attempts.get(&one.id))).collect();
    Ok(Json(Found { transfers, next }))
}

fn search(app: &App, query: SearchQuery) -> Result<Search, Refusal> {
    let flows = app.engine.flows();
    let mut search = Search { limit: limit(query.limit)?, ..Search::default() };
    if let Some(name) = &query.flow {
        let unfit = || Refusal::bad("`flow`: `internal`, `account`, `relay`");
        search.flow = Some(flows.named(name).ok_or_else(unfit)?);
    }
    match query.state.as_deref() {
        None => {}
        Some("OPEN") => search.open = Some(true),
        Some("ENDED") => search.open = Some(false),
        Some(name) => {
            let unfit = || {
                let flow = search.flow.unwrap_or(app.internal);
                let (table, states) = (flows.table(flow), format::states(flows.table(flow)));
                Refusal::bad(format!(
                    "`state`: `OPEN`, `ENDED`, or a state of the flow; those of {} are {states}, and `flow` names another",
                    table.flow
                ))
            };
            let flow = search.flow.or_else(|| flow_of(app, name)).ok_or_else(unfit)?;
            (search.flow, search.state) =
                (Some(flow), Some(flows.table(flow).named(name).ok_or_else(unfit)?));
        }
    }
    search.receiver = query.receiver.map(Into::into);
    search.user = query.user.map(user).transpose()?;
    search.principal = query.caller.map(Into::into);
    search.key = query.key.map(|key| list::search_key(app, &key, search.principal.as_ref()));
    search.reference = query.reference.map(Into::into);
    if let Some(symbol) = &query.asset {
        search.asset = Some(app.engine.asset(symbol).ok_or(Code::InvalidAsset)?.id);
    }
    (search.source, search.since) = list::end("from", query.from.as_deref())?;
    (search.target, search.until) = list::end("to", query.to.as_deref())?;
    if let Some(seconds) = query.min_age {
        let now = app.engine.journal().now();
        let until = now.saturating_sub(seconds.saturating_mul(1000)).saturating_add(1);
        let earlier = search.until.filter(|before| *before < until);
        search.until = earlier.or(Some(until));
    }
    search.min_attempts = query.min_attempts;
    search.error_class = query.error_class.map(Into::into);
    search.before = cursor(query.cursor.as_deref())?.map(Serial);
    Ok(search)
}

/// The flow that a state is of: `internal`, or the one that has such a state.
fn flow_of(app: &App, state: &str) -> Option<FlowId> {
    let tables = &app.engine.flows().0;
    let has = |flow: &FlowId| app.engine.flows().table(*flow).named(state).is_some();
    let named = tables.iter().filter_map(|table| app.engine.flows().named(table.flow));
    let all: Vec<FlowId> = named.filter(has).collect();
    match all.as_slice() {
        [one] => Some(*one),
        several => several.iter().find(|flow| **flow == app.internal).copied(),
    }
}

/// True for a transfer that the relay carries.
fn is_relayed(app: &App, record: &Record) -> bool {
    app.engine.flows().table(record.flow).flow == Relayed::FLOW
}

/// The contract of the token that a transfer of the relay pays, by this process's settings.
fn token_contract(app: &App, record: &Record) -> Option<String> {
    let relay = app.relay.as_ref()?;
    let asset = app.engine.asset(&relay.asset)?.id;
    (is_relayed(app, record) && record.target().asset == asset).then(|| relay.contract.to_string())
}

/// The number of attempts of each of these transfers that the relay carries.
async fn attempts(app: &App, records: &[Record]) -> Result<BTreeMap<Id, u32>, Refusal> {
    let relayed = |record: &&Record| is_relayed(app, record);
    let mut counts: BTreeMap<Id, u32> =
        records.iter().filter(relayed).map(|record| (record.id, 0)).collect();
    if counts.is_empty() {
        return Ok(counts);
    }
    let found = app.engine.journal().attempts_of(counts.keys().copied().collect()).await;
    for attempt in found.map_err(no_answer("attempts"))? {
        for member in attempt.members.iter() {
            if let Some(count) = counts.get_mut(&member.id) {
                *count = count.saturating_add(1);
            }
        }
    }
    Ok(counts)
}

/// `attempts`: of a transfer that the relay carries, their number.
fn found(app: &App, record: &Record, attempts: Option<&u32>) -> FoundTransfer {
    let name = |party: &Party| match &party.account {
        Account::Named(name) => Some(name.to_string()),
        Account::User(_) | Account::Unnamed => None,
    };
    FoundTransfer {
        payer: name(record.source()),
        receiver: name(record.target()),
        token_contract: token_contract(app, record),
        transfer: response::exact(app, record),
        flow: app.engine.flows().table(record.flow).flow,
        user_id: UserIdText(record.terms.owner.number()),
        principal: record.terms.principal.to_string(),
        error_class: record.error.as_ref().map(|error| error.code.to_string()),
        error_message: record
            .error
            .as_ref()
            .and_then(|error| error.doc.as_deref().map(str::to_owned)),
        retry_count: attempts.copied().unwrap_or(record.head.retries),
        unknown_answers: record.head.retries,
        due_at: record.head.due_at.map(format::time),
    }
}

/// A transfer with everything that is known of it.
#[utoipa::path(
    get, path = "/api/v1/transfers/{id}", tag = "ops",
    operation_id = "get_any_transfer", security(("token" = ["ops:read"])),
    params(("id" = String, Path, description = "Its id in either spelling, or its number")),
    responses(
        (status = 200, body = Dossier, description = "Everything"),
        (status = 404, body = Problem, description = "No such transfer: `NOT_FOUND`"),
    )
)]
pub(in crate::http) async fn get(
    State(app): State<Arc<App>>,
    RequireOpsRead(_): RequireOpsRead,
    PathParams(text): PathParams<String>,
) -> Result<Json<Dossier>, Refusal> {
    let none = || Refusal::no_such("transfer");
    let id = named(&app, &text).await?.ok_or_else(none)?;
    let read = app.engine.transfer(id).await.map_err(no_answer("transfer"))?;
    let (record, history) = read.ok_or_else(none)?;
    let legs = app.admin_queries.legs(id).await.map_err(no_answer("legs"))?;
    let table = app.engine.flows().table(record.flow);
    let name = |code| table.coded(code).map_or("", |state| table.state(state).name);
    let entry = |linked: Linked| Evidence {
        seq: linked.entry.seq,
        at: format::time(linked.entry.at),
        from: linked.entry.from.map(name),
        to: name(linked.entry.to),
        event: linked.entry.event,
        caller: linked.entry.caller,
        detail: linked.entry.detail,
        prev_hash: hex(&linked.prev),
        hash: hex(&linked.hash),
        agreed: linked.entry.agreed.as_ref().map(hex),
    };
    let (_, precision) = format::asset(&app.engine.assets(), record.terms.source.asset);
    let intent = intent(table, &record);
    let view = |agreed| AgreedView::of(&app.engine.assets(), agreed, precision);
    let agreed = record.agreed.as_deref().map(view);
    let attempts = attempts(&app, std::slice::from_ref(&record)).await?;
    Ok(Json(Dossier {
        found: found(&app, &record, attempts.get(&id)),
        history: history.into_iter().map(entry).collect(),
        legs: legs.iter().map(|(ledger, operation)| leg(*ledger, operation, precision)).collect(),
        intents: intent.into_iter().collect(),
        notes: notes(&app, id).await?,
        agreed,
    }))
}

/// The notes of a transfer, oldest first: they are actions of the audit.
async fn notes(app: &App, id: Id) -> Result<Vec<TransferNote>, Refusal> {
    let subject: Arc<str> = id.to_string().into();
    let (mut notes, mut before) = (Vec::new(), None);
    loop {
        let page = app.admin_queries.actions(Some(Arc::clone(&subject)), before, PAGE).await;
        let page = page.map_err(no_answer("notes"))?;
        before = page.last().filter(|_| page.len() == PAGE).map(|last| last.number);
        notes.extend(page.iter().filter_map(note));
        if before.is_none() {
            notes.reverse();
            return Ok(notes);
        }
    }
}

/// A note, where the action is one.
fn note(action: &PastAction) -> Option<TransferNote> {
    let value: Value = serde_json::from_str(&action.value).ok()?;
    let text = value.get("text").filter(|_| *action.kind == *AdminAction::NOTE)?.as_str()?;
    Some(TransferNote {
        at: format::time(action.at),
        by: action.caller.to_string(),
        text: text.to_owned(),
        reason: action.reason.to_string(),
    })
}

/// An id in either spelling, or the id behind a number.
async fn named(app: &App, text: &str) -> Result<Option<Id>, Refusal> {
    if let Some(id) = format::id(text) {
        return Ok(Some(id));
    }
    let Ok(serial) = text.parse() else { return Ok(None) };
    let found = app.admin_queries.numbered(Serial(serial)).await.map_err(no_answer("transfer"))?;
    Ok(found.map(|record| record.id))
}

/// The call that the record's state makes: it may be on its way at this moment.
fn intent(table: &Table, record: &Record) -> Option<Intent> {
    let act = table.act(table.makes(record.head.state)?);
    let party = match act.side {
        Side::Source => record.source(),
        Side::Target => record.target(),
    };
    Some(Intent { ledger: format::account(party), leg: act.leg?.name() })
}

fn leg(ledger: LedgerId, operation: &Operation, precision: u8) -> LegRow {
    let (result, code) = match &operation.outcome {
        StoredOutcome::Done => ("DONE", None),
        StoredOutcome::Rejected(evidence) => ("REJECTED", Some(evidence.code.to_string())),
        StoredOutcome::Fenced => ("FENCED", None),
    };
    LegRow {
        ledger: ledger.name(),
        leg: operation.op.key.leg.name(),
        result,
        code,
        seq: operation.seq,
        amount: operation.op.amount.decimal(precision),
        account: operation.op.account.to_string(),
    }
}
