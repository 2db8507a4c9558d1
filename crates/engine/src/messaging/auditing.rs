//! Audits messages: it compares each message as a whole with the one that its flow makes of the event that it
//! reports. At the end of a transfer each message that the history asks for must have arrived.

use crate::commit::outcome::WriteOutcome;
use crate::messaging::Messaging;
use crate::messaging::consume::Consumption;
use crate::messaging::expected_message::{self, message_of};
use crate::messaging::history_bound::KEPT;
use crate::messaging::lanes::Ready;
use crate::messaging::source::MessageOrigin;
use kernel::answer::Cause;
use kernel::flow::life::AuditGroup;
use kernel::flow::table::Table;
use kernel::ids::{FlowId, Id, Millis};
use kernel::message::{Emission, Emitted, Outgoing};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::journal::Linked;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::{Guard, Unit};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The kind of the case about a message that reports what no history has.
const MISMATCH: &str = "MESSAGE_MISMATCH";
/// The most transfers that have such a case of their own at the same time.
const OWN_CASES: usize = 20;

/// The class of the finding that earlier messages of a transfer did not come before this one.
pub(super) const GAP: &str = "GAP";

/// What the journal has of a transfer.
pub(super) struct Journaled {
    pub record: Record,
    pub history: Vec<Linked>,
}

/// An event of an audited transfer, beside its message.
#[derive(Debug)]
pub struct AuditRow<'r> {
    pub record: &'r Record,
    pub linked: Linked,
    /// `None`: no message reports this event.
    pub message: Option<AuditedMessage>,
}

/// The message that reports an event.
#[derive(Debug, Clone, Copy)]
pub struct AuditedMessage {
    pub number: u128,
    pub topic: &'static str,
    /// Whether the audit has had it; `None` where the journal has forgotten.
    pub audited: Option<bool>,
}

/// A message that a history asks for.
#[derive(Debug, Clone, Copy)]
struct AuditLookup {
    /// The place of its event.
    sequence: u32,
    number: u128,
    topic: &'static str,
    /// The journal may have forgotten whether it came.
    forgotten: bool,
}

impl Messaging {
    /// The flow whose messages are audited here.
    pub fn audited_flow(&self) -> Option<FlowId> {
        self.shared
            .parts
            .offered
            .iter()
            .copied()
            .find(|flow| self.shared.plan.table(*flow).audit.is_some())
    }

    /// Every event of these transfers, each with the message that tells of it.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn audit_rows<'r>(&self, records: &'r [Record]) -> Result<Vec<AuditRow<'r>>, Cause> {
        let mut rows = Vec::new();
        for record in records {
            let table = self.shared.plan.table(record.flow);
            let history = self.shared.parts.journal.history(record.id).await?;
            let journaled = Journaled { record: record.clone(), history };
            let asked = asked(table, &journaled, self.shared.parts.journal.now());
            let had = match (&self.client, table.audit) {
                (Some(client), Some(group)) => {
                    let numbers = asked.iter().map(|asked| asked.number).collect();
                    client.inbox.consumed(group.name, numbers).await?
                }
                _ => Vec::new(),
            };
            for linked in journaled.history {
                let message = asked.iter().find(|asked| asked.sequence == linked.entry.seq);
                let message = message.map(|AuditLookup { number, topic, forgotten, .. }| {
                    let had = had.contains(number);
                    let audited = (had || !forgotten).then_some(had);
                    AuditedMessage { number: *number, topic, audited }
                });
                rows.push(AuditRow { record, linked, message });
            }
        }
        Ok(rows)
    }

    /// Audits messages, and returns one result for each.
    pub(super) async fn audit_messages(
        &self,
        group: AuditGroup,
        ready: &[Ready],
    ) -> Vec<Consumption> {
        let known = match self.journaled(ready).await {
            Ok(known) => known,
            Err(cause) => {
                return ready.iter().map(|_| Consumption::Failed(cause.clone())).collect();
            }
        };
        let mut results: Vec<Option<Consumption>> = Vec::with_capacity(ready.len());
        let mut drafts = Vec::new();
        for one in ready {
            match self.contradiction(one, &known) {
                Some(why) => {
                    let of = one.transfer.filter(|id| known.contains_key(id));
                    self.contradicting(group, one, of, &why);
                    results.push(Some(Consumption::Passed));
                }
                None => {
                    let (consumer, event) = (group.name, one.delivery.message.number);
                    let guards = vec![Guard::Inbox { consumer, event }];
                    drafts.push(Unit::guarded(guards, Vec::new()).into());
                    results.push(None);
                }
            }
        }
        let mut outcomes = self.shared.writer.write_all(drafts).await.into_iter();
        let mut all = Vec::with_capacity(ready.len());
        for (one, result) in ready.iter().zip(results) {
            let result = match result {
                Some(result) => result,
                None => match outcomes.next() {
                    Some(WriteOutcome::Done(_) | WriteOutcome::Lost(Guard::Inbox { .. })) => {
                        self.complete(group, one, &known).await
                    }
                    Some(WriteOutcome::NotWritten(why)) => Consumption::Failed(why.cause),
                    Some(WriteOutcome::Lost(_)) | None => {
                        Consumption::Failed(Cause::of("NOT_WRITTEN"))
                    }
                },
            };
            all.push(result);
        }
        all
    }

    /// The histories of the transfers that messages name.
    async fn journaled(&self, ready: &[Ready]) -> Result<BTreeMap<Id, Journaled>, Cause> {
        let ids: BTreeSet<Id> = ready.iter().filter_map(|one| one.transfer).collect();
        let found = self.shared.parts.journal.get(ids.into_iter().collect()).await?;
        let mut known = BTreeMap::new();
        for record in found {
            let history = self.shared.parts.journal.history(record.id).await?;
            known.insert(record.id, Journaled { record, history });
        }
        Ok(known)
    }

    /// Checks that every message of a transfer has come, where a message reports the transfer's end.
    async fn complete(
        &self,
        group: AuditGroup,
        one: &Ready,
        known: &BTreeMap<Id, Journaled>,
    ) -> Consumption {
        let Some(journaled) = one.transfer.and_then(|id| known.get(&id)) else {
            return Consumption::Moved;
        };
        let table = self.shared.plan.table(journaled.record.flow);
        // only the message of the end waits for the others
        let mut asked = asked(table, journaled, self.shared.parts.journal.now());
        if asked.last().is_none_or(|last| last.number != one.delivery.message.number)
            || !table.ends(journaled.record.head.state)
        {
            return Consumption::Moved;
        }
        asked.retain(|asked| !asked.forgotten);
        match self.missing_among(group, asked).await {
            Ok(missing) if missing.is_empty() => Consumption::Moved,
            Ok(_) => Consumption::Failed(Cause::of(GAP)),
            Err(cause) => Consumption::Failed(cause),
        }
    }

    /// Those that the audit has not had, in their order.
    async fn missing_among(
        &self,
        group: AuditGroup,
        mut asked: Vec<AuditLookup>,
    ) -> Result<Vec<AuditLookup>, Cause> {
        let Some(client) = &self.client else { return Ok(Vec::new()) };
        let numbers = asked.iter().map(|asked| asked.number).collect();
        let had = client.inbox.consumed(group.name, numbers).await?;
        asked.retain(|asked| !had.contains(&asked.number));
        Ok(asked)
    }

    /// The messages that a history asks for and that the audit has not had, in its order.
    pub(super) async fn missing_of(
        &self,
        group: AuditGroup,
        journaled: &Journaled,
    ) -> Result<Vec<Emitted>, Cause> {
        let table = self.shared.plan.table(journaled.record.flow);
        let mut asked = asked(table, journaled, self.shared.parts.journal.now());
        // of the end it is known that it did not come
        let last = asked.last().map(|last| last.number);
        asked.retain(|asked| !asked.forgotten || Some(asked.number) == last);
        let missing = self.missing_among(group, asked).await?;
        let event = |asked: &AuditLookup| {
            journaled.history.iter().find(|linked| linked.entry.seq == asked.sequence)
        };
        let stored = |linked| expected_message::stored(table, &journaled.record, linked);
        Ok(missing.iter().filter_map(event).filter_map(stored).collect())
    }

    /// Why a message is none that this service sends; `None` where it is one.
    fn contradiction(&self, one: &Ready, known: &BTreeMap<Id, Journaled>) -> Option<String> {
        let payload: Value =
            serde_json::from_str(&one.delivery.message.payload).unwrap_or_default();
        let sequence = payload.get("sequence").and_then(Value::as_u64);
        let (Some(id), Some(sequence)) = (one.transfer, sequence) else {
            return Some("its payload names no event".to_owned());
        };
        let Some(Journaled { record, history }) = known.get(&id) else {
            return Some("the journal has no such transfer".to_owned());
        };
        let Some(linked) = history.iter().find(|linked| u64::from(linked.entry.seq) == sequence)
        else {
            return Some(format!("the history has no event {sequence}"));
        };
        let table = self.shared.plan.table(record.flow);
        let unsaid = || self.source.origin(&one.delivery.message) == MessageOrigin::Unsaid;
        expected_message::contradiction(table, record, linked, &one.delivery)
            .or_else(|| unsaid().then(|| "it has no ce_source".to_owned()))
    }

    /// Opens a case for a message that reports what no history has, about its transfer where the journal has it.
    /// Made-up ids are one case of the service, and so are the messages of all transfers beyond the first few: each one
    /// of its own would bury the others.
    fn contradicting(&self, group: AuditGroup, one: &Ready, of: Option<Id>, why: &str) {
        let own = of.filter(|id| self.cases.may_open_of(MISMATCH, *id, OWN_CASES));
        let more = match (of, own) {
            (Some(id), None) => format!(
                ". It names {id}; {OWN_CASES} other transfers have a case of their own, and what differs beyond them \
                 is counted in `portage_consumer_records_total`"
            ),
            (Some(_), Some(_)) | (None, _) => String::new(),
        };
        let delivery = &one.delivery;
        let (topic, at, offset) =
            (&delivery.partition.topic, delivery.partition.number, delivery.offset);
        self.shared.parts.meter.see(Seen::Consumed { group: group.name, outcome: "mismatch" });
        self.cases.case(Case {
            kind: MISMATCH,
            severity: Severity::Critical,
            subject: own.map_or(Subject::Service, Subject::Transfer),
            facts: format!("a message of {topic}, partition {at}, offset {offset}: {why}{more}")
                .into(),
        });
    }
}

/// The messages that a history asks for, in its order: one for each state that was entered and that sends a
/// message then. What a group consumed is forgotten with the published message, once the transfer has ended.
fn asked(table: &Table, journaled: &Journaled, now: Millis) -> Vec<AuditLookup> {
    let Journaled { record, history } = journaled;
    let ended = table.ends(record.head.state);
    let mut asked = Vec::new();
    for linked in history {
        if let Some(message) = message_of(table, record, linked, Emission::Entered) {
            let topic = message.topic;
            let outgoing = Outgoing { message, id: record.id, n: 0, event: None };
            asked.push(AuditLookup {
                sequence: linked.entry.seq,
                number: outgoing.number(),
                topic,
                forgotten: ended && linked.entry.at.saturating_add(KEPT) < now,
            });
        }
    }
    asked
}
