//! What one unit does to transfers, gathered so that each row is written once.

use super::StoredTransfer;
use crate::agreed::Agreed;
use crate::answer::Evidence;
use crate::audit::{self, Entry, Hash};
use crate::flow::table::{Flows, S, Table};
use crate::ids::{Id, Millis};
use crate::message::{Emitted, EventPlace, Outgoing};
use crate::record::{Head, Record};
use crate::unit::{Event, Hold};
use serde::Serialize;
use std::sync::Arc;

/// One transfer that a unit touches, or looked at.
#[derive(Debug)]
pub struct TransferChange {
    /// The transfer that is changed.
    pub id: Id,
    /// As it is stored; `None`: it is not there.
    pub stored: Option<StoredTransfer>,
    opened: Option<Record>,
    head: Option<(Head, Hold)>,
    error: Option<Evidence>,
    agreed: Option<Arc<Agreed>>,
    events: Vec<(Option<S>, S, Entry)>,
    messages: Vec<PlacedMessage>,
}

/// A message, and the place of its event among those that the unit adds to its transfer; `None`: the
/// last one that is stored.
#[derive(Debug)]
struct PlacedMessage {
    outgoing: Outgoing,
    event: Option<usize>,
}

/// Every transfer that a unit touches; nearly always one.
#[derive(Debug, Default)]
pub struct TransferChanges(Vec<TransferChange>);

impl IntoIterator for TransferChanges {
    type Item = TransferChange;
    type IntoIter = std::vec::IntoIter<TransferChange>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl TransferChanges {
    pub(super) fn of(&self, id: Id) -> Option<&TransferChange> {
        self.0.iter().find(|change| change.id == id)
    }

    /// One that was not looked at before.
    pub(super) fn add(&mut self, id: Id, stored: Option<StoredTransfer>) {
        let (opened, head, error, agreed) = (None, None, None, None);
        let (events, messages) = (Vec::new(), Vec::new());
        self.0.push(TransferChange { id, stored, opened, head, error, agreed, events, messages });
    }

    fn at(&mut self, id: Id) -> Option<&mut TransferChange> {
        self.0.iter_mut().find(|change| change.id == id)
    }

    /// Opens one that was looked at.
    pub(super) fn open(&mut self, record: Record) {
        if let Some(change) = self.at(record.id) {
            change.opened = Some(record);
        }
    }

    /// False: there is no such transfer.
    pub(super) fn head(
        &mut self,
        id: Id,
        head: Head,
        hold: Hold,
        error: Option<&Evidence>,
    ) -> bool {
        let there =
            |change: &&mut TransferChange| change.stored.is_some() || change.opened.is_some();
        let Some(change) = self.at(id).filter(there) else { return false };
        change.head = Some((head, hold));
        change.error = error.cloned().or_else(|| change.error.take());
        true
    }

    /// False: it agrees what was agreed before, or something else than an event of this unit does.
    pub(super) fn event(&mut self, event: &Event, detail: Option<&str>) -> bool {
        let Some(change) = self.at(event.id) else { return true };
        let mut hash = None;
        if let Some(agreed) = &event.agreed {
            let stored = change.stored.is_some_and(|stored| stored.agreed);
            if stored || change.agreed.as_ref().is_some_and(|before| before != agreed) {
                return false;
            }
            // said twice in one unit, it is written once
            if change.agreed.is_none() {
                hash = Some(agreed.hash());
                change.agreed = Some(agreed.clone());
            }
        }
        let entry = Entry {
            seq: 0,
            at: 0,
            from: None,
            to: 0,
            event: event.what.to_owned(),
            caller: event.caller.as_deref().map(str::to_owned),
            detail: detail.map(str::to_owned),
            agreed: hash,
        };
        change.events.push((event.from, event.to, entry));
        true
    }

    /// True where something is agreed for a transfer that the unit does not move.
    pub(super) fn agreed_unmoved(&self) -> bool {
        let moves = |change: &TransferChange| change.opened.is_some() || change.head.is_some();
        self.0.iter().any(|change| change.agreed.is_some() && !moves(change))
    }

    /// The stored transfers that the unit moves, with their versions before and after.
    pub(super) fn moved(&self) -> impl Iterator<Item = (Id, u32, u32)> {
        self.0.iter().filter_map(|change| {
            let (stored, (head, _)) = (change.stored?, change.head?);
            Some((change.id, stored.version, head.version))
        })
    }

    /// The number of events that were added to a transfer.
    pub(super) fn events(&self, id: Id) -> usize {
        self.of(id).map_or(0, |change| change.events.len())
    }

    /// A message about a transfer that was looked at. False: there is no such transfer.
    pub(super) fn message(&mut self, outgoing: &Outgoing, event: Option<usize>) -> bool {
        let there =
            |change: &&mut TransferChange| change.stored.is_some() || change.opened.is_some();
        let Some(change) = self.at(outgoing.id).filter(there) else { return false };
        change.messages.push(PlacedMessage { outgoing: outgoing.clone(), event });
        true
    }
}

/// A transfer that a write opens.
#[derive(Debug)]
pub struct Opened {
    /// The transfer as it is opened, with its last head.
    pub record: Record,
    /// Who works on it after the write.
    pub hold: Hold,
    /// The number that it gets in the store.
    pub transfer: i64,
    /// The events that its history begins with.
    pub added: AddedHistory,
}

/// A stored transfer that a write moves, or tells more of.
#[derive(Debug)]
pub struct Changed {
    /// The transfer that is moved.
    pub id: Id,
    /// As it was stored before.
    pub was: StoredTransfer,
    /// Where it stands then, and who works on it; `None`: where it stood.
    pub head: Option<(Head, Hold)>,
    /// Why it failed, where the write says so.
    pub error: Option<Evidence>,
    /// What the write agrees; nothing was agreed before.
    pub agreed: Option<Arc<Agreed>>,
    /// The events that the write adds to its history.
    pub added: AddedHistory,
    /// It ends with this write.
    pub ends: bool,
}

/// The history that a write adds to one transfer.
#[derive(Debug)]
pub struct AddedHistory {
    /// The events as a store keeps them: JSON lines, joined by commas.
    pub text: String,
    /// The number of events that the history has then.
    pub events: u32,
    /// The hash of the last of them.
    pub chain: Hash,
}

/// Where a write puts the hashes of new entries and the messages that are completed by them.
#[derive(Debug)]
pub struct Added<'w> {
    /// The hashes, with their transfer's number and their place in its history.
    pub entries: &'w mut Vec<(i64, u32, Hash)>,
    /// The rows that are added to the outbox.
    pub messages: &'w mut Vec<Emitted>,
}

/// What becomes of one transfer.
#[derive(Debug)]
pub enum Row {
    /// A transfer that the write opens.
    Opened(Opened),
    /// A transfer that was there before the write.
    Changed(Changed),
}

/// The history that a write adds to, as it is stored.
#[derive(Debug, Clone, Copy)]
struct StoredHistory {
    /// The number of its transfer.
    transfer: i64,
    /// How many events it has.
    events: u32,
    /// The hash of the last of them; before the first one, the birth of the transfer.
    chain: Hash,
}

/// When and where a write adds to histories.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// The time of the write.
    pub at: Millis,
    /// The number of its row of `audit_units`.
    pub unit: u64,
    /// The lane of that row, where there are several.
    pub lane: Option<i32>,
}

impl TransferChange {
    /// The row of it that is written; `None` where the unit only looked. `next`: the number that it
    /// gets where it is opened. The hashes of its new entries, and its messages, go to `to`.
    pub fn row(
        self,
        flows: &Flows,
        stamp: Stamp,
        next: i64,
        to: Added<'_>,
    ) -> serde_json::Result<Option<Row>> {
        let Self { id, stored, opened, head, error, agreed, events, messages } = self;
        let details: Vec<_> = if messages.is_empty() {
            Vec::new()
        } else {
            events.iter().map(|(.., entry)| entry.detail.clone()).collect()
        };
        let Added { entries, messages: completed } = to;
        let first = entries.len();
        if let Some(mut record) = opened {
            let hold = head.map_or(Hold::Mine, |(head, hold)| {
                record.head = head;
                hold
            });
            record.error = error.or(record.error);
            record.agreed = agreed;
            let table = flows.table(record.flow);
            let birth = audit::birth(record.id, table.flow, &record.terms);
            let before = StoredHistory { transfer: next, events: 0, chain: birth };
            let added = stamp.added(table, events, before, entries)?;
            let new = NewEvents { entries: entries.get(first..).unwrap_or_default(), details };
            completed.extend(new.complete(messages, before, stamp.at));
            return Ok(Some(Row::Opened(Opened { record, hold, transfer: next, added })));
        }
        let Some(was) = stored else { return Ok(None) };
        let StoredTransfer { transfer, events: stored_events, chain, .. } = was;
        let before = StoredHistory { transfer, events: stored_events, chain };
        let table = flows.table(was.flow);
        if head.is_none() && events.is_empty() {
            let new = NewEvents { entries: &[], details };
            completed.extend(new.complete(messages, before, stamp.at));
            return Ok(None);
        }
        let added = stamp.added(table, events, before, entries)?;
        let new = NewEvents { entries: entries.get(first..).unwrap_or_default(), details };
        completed.extend(new.complete(messages, before, stamp.at));
        let over = table.coded(was.code).is_some_and(|state| table.ends(state));
        let ends = !over && head.is_some_and(|(head, _)| table.ends(head.state));
        Ok(Some(Row::Changed(Changed { id, was, head, error, agreed, added, ends })))
    }
}

/// The events that a write adds to one transfer, in order.
struct NewEvents<'e> {
    entries: &'e [(i64, u32, Hash)],
    details: Vec<Option<String>>,
}

impl NewEvents<'_> {
    /// The messages, each with its event.
    fn complete(
        &self,
        messages: Vec<PlacedMessage>,
        before: StoredHistory,
        at: Millis,
    ) -> Vec<Emitted> {
        let hash_before = |n: usize| match n.checked_sub(1) {
            Some(n) => self.entries.get(n).map(|(.., hash)| hash),
            None => Some(&before.chain),
        };
        let place = |event: Option<usize>| {
            let new = event.and_then(|n| Some((n, self.entries.get(n)?, self.details.get(n)?)));
            match new {
                Some((n, (_, sequence, hash), detail)) => EventPlace {
                    sequence: *sequence,
                    hash,
                    prev: hash_before(n),
                    detail: detail.as_deref(),
                },
                None => EventPlace {
                    sequence: before.events.saturating_sub(1),
                    hash: &before.chain,
                    prev: None,
                    detail: None,
                },
            }
        };
        messages.iter().map(|m| m.outgoing.completed(&place(m.event), at)).collect()
    }
}

/// An entry, its hash, the number of its write, that write's lane where there are lanes, and the hash of what
/// was agreed, where something was.
#[derive(Serialize)]
struct HistoryLine<'a>(
    u32,
    Millis,
    Option<i16>,
    i16,
    &'a str,
    Option<&'a str>,
    Option<&'a str>,
    String,
    u64,
    #[serde(skip_serializing_if = "Option::is_none")] Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<String>,
);

impl Stamp {
    /// Links a transfer's new entries to its chain.
    fn added(
        self,
        table: &Table,
        events: Vec<(Option<S>, S, Entry)>,
        before: StoredHistory,
        entries: &mut Vec<(i64, u32, Hash)>,
    ) -> serde_json::Result<AddedHistory> {
        let mut added =
            AddedHistory { text: String::new(), events: before.events, chain: before.chain };
        for (from, to, entry) in events {
            let from = from.map(|s| table.state(s).code);
            let to = table.state(to).code;
            let entry = Entry { seq: added.events, at: self.at, from, to, ..entry };
            added.chain = audit::link(added.chain, &entry);
            added.events = added.events.saturating_add(1);
            entries.push((before.transfer, entry.seq, added.chain));
            if !added.text.is_empty() {
                added.text.push(',');
            }
            added.text += &self.text(&entry, &added.chain)?;
        }
        Ok(added)
    }

    /// An entry as it stands in a history.
    fn text(self, entry: &Entry, chain: &Hash) -> serde_json::Result<String> {
        let Entry { seq, at, from, to, event, caller, detail, agreed } = entry;
        let (caller, detail) = (caller.as_deref(), detail.as_deref());
        let (hash, agreed) = (audit::hex(chain), agreed.as_ref().map(audit::hex));
        let (unit, lane) = (self.unit, self.lane);
        serde_json::to_string(&HistoryLine(
            *seq, *at, *from, *to, event, caller, detail, hash, unit, lane, agreed,
        ))
    }
}
