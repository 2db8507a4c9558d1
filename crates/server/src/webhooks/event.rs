//! Builds the event that an endpoint receives: the same bytes under the same id at every try.

use super::message::{Message, short_id};
use crate::http::format;
use kernel::flow::life::Outcome;
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis};
use kernel::money::Asset;
use kernel::owner::TransferOwner;
use kernel::ports::admin_queries::Delivery;
use kernel::ports::webhooks::{CaseEvent, NewMessage};
use kernel::record::{Party, Record};
use kernel::webhooks::{FilterQuestion, StoredWebhook, TEST_EVENT, transfer_event};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Serialize)]
struct Envelope<D> {
    r#type: Arc<str>,
    timestamp: String,
    data: D,
}

/// The transfer in the state in which it ended.
// what its client wrote beside its reference is left out
#[derive(Serialize, ToSchema)]
pub(crate) struct TransferData<'r> {
    /// The transfer's id, a ULID.
    req_id: String,
    /// The same id as UUID text.
    uuid: String,
    /// The flow, such as `internal`.
    flow: &'static str,
    /// The last state of the flow.
    state: &'static str,
    /// How it ended: `completed`, `failed`, `rolled_back`, `kept` or `held`.
    outcome: &'static str,
    /// Whose transfer it is, such as `user:4001`.
    owner: String,
    #[schema(inline)]
    source: PartyData,
    #[schema(inline)]
    target: PartyData,
    /// In the unit of the source's asset.
    fee: String,
    /// The client's own reference.
    #[schema(required)]
    reference: Option<&'r str>,
    /// Of a transfer that moved nothing: why, as a code.
    #[schema(required)]
    error: Option<&'r str>,
    /// When it was opened, RFC 3339 in UTC.
    created_at: String,
    /// When it ended, RFC 3339 in UTC.
    ended_at: String,
}

/// Where the money came from, or where it went or was to go.
#[derive(Serialize, ToSchema)]
struct PartyData {
    /// The ledger or chain.
    system: &'static str,
    /// The account at that system.
    account: String,
    /// The symbol of the asset.
    asset: String,
    /// In the asset's unit.
    amount: String,
}

/// The endpoint that is tested.
#[derive(Serialize, ToSchema)]
pub(crate) struct TestData<'e> {
    /// The id of the endpoint.
    endpoint: String,
    /// What its operator wrote about it.
    description: &'e str,
}

/// An event with the message that tells of it.
pub(super) struct Event {
    kind: Arc<str>,
    subject: Arc<str>,
    message: Message,
}

impl Event {
    /// The message for an endpoint.
    pub(super) fn to(&self, endpoint: Id, again: bool) -> NewMessage {
        NewMessage {
            endpoint,
            id: self.message.id.as_str().into(),
            kind: self.kind.clone(),
            subject: self.subject.clone(),
            body: self.message.body.as_str().into(),
            again,
        }
    }

    fn of<D: Serialize>(kind: &str, at: Millis, id: String, subject: Arc<str>, data: D) -> Self {
        let kind: Arc<str> = kind.into();
        let envelope = Envelope { r#type: kind.clone(), timestamp: format::time(at), data };
        // texts and numbers alone always have a form
        let body = serde_json::to_string(&envelope).unwrap_or_default();
        Self { kind, subject, message: Message { id, body } }
    }
}

/// The end of a transfer, where it has ended.
pub(super) fn ended(flows: &Flows, record: &Record) -> Option<Outcome> {
    let table = flows.table(record.flow);
    let state = record.head.state;
    table.state(state).outcome.filter(|_| table.ends(state))
}

/// The end of a transfer, and the owner of the numbered account that it paid.
pub(super) struct TransferEnd<'r> {
    pub record: &'r Record,
    pub outcome: Outcome,
    pub payee: Option<&'r TransferOwner>,
}

/// The endpoints among these that want the event of a transfer's end, which came at or after their time.
pub(super) fn wanted_by<'e>(
    endpoints: impl Iterator<Item = &'e StoredWebhook>,
    flows: &Flows,
    end: &TransferEnd<'_>,
) -> Vec<Id> {
    let TransferEnd { record, outcome, payee } = end;
    let (flow, owner) = (flows.table(record.flow).flow, &record.terms.owner);
    let question = FilterQuestion::Transfer { flow, owner, payee: *payee, outcome: *outcome };
    let wants = endpoints.filter(|one| one.endpoint.filter.wants(question));
    wants.map(|one| one.endpoint.id).collect()
}

/// The event that a transfer ended.
pub(super) fn of_transfer(
    flows: &Flows,
    assets: &[Asset],
    record: &Record,
    outcome: Outcome,
) -> Event {
    let table = flows.table(record.flow);
    let kind = transfer_event(outcome);
    let (_, precision) = format::asset(assets, record.source().asset);
    let failed = matches!(outcome, Outcome::Failed | Outcome::GivenBack);
    let error = record.error.as_ref().filter(|_| failed).map(|error| &*error.code);
    let id = record.id.to_string();
    let data = TransferData {
        req_id: id.clone(),
        uuid: record.id.uuid_text(),
        flow: table.flow,
        state: table.state(record.head.state).name,
        outcome: outcome.word(),
        owner: record.terms.owner.to_string(),
        source: party(assets, record.source()),
        target: party(assets, record.target()),
        fee: record.fee().decimal(precision),
        reference: record.terms.reference.as_deref(),
        error,
        created_at: format::time(record.created_at),
        ended_at: format::time(record.updated_at),
    };
    let message_id = short_id(&format!("transfer\n{id}\n{kind}"));
    Event::of(&kind, record.updated_at, message_id, id.into(), data)
}

fn party(assets: &[Asset], party: &Party) -> PartyData {
    let (asset, precision) = format::asset(assets, party.asset);
    PartyData {
        system: party.system.name(),
        account: party.account.to_string(),
        asset,
        amount: party.amount.decimal(precision),
    }
}

/// The event of half of a case's episode, as `alerts.webhook_url` has it.
pub(super) fn of_case(event: CaseEvent) -> Event {
    let CaseEvent { case, tells, at: _ } = event;
    let subject = format!("case/{}", case.opened.number).into();
    let delivery = Delivery { case, tells, attempts: 0, due_at: None, error: None };
    Event { kind: tells.name().into(), subject, message: Message::of(&delivery) }
}

/// The event by which an operator sees whether an endpoint works; `number`: which of its requests.
pub(super) fn of_test(webhook: &StoredWebhook, number: u64, at: Millis) -> Event {
    let id = webhook.endpoint.id;
    let data = TestData { endpoint: id.to_string(), description: &webhook.endpoint.description };
    let message_id = short_id(&format!("test\n{id}\n{number}"));
    Event::of(TEST_EVENT, at, message_id, format!("webhook/{id}").into(), data)
}
