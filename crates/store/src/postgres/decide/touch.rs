//! What one unit does to transfers, gathered so that each row is written once.

use crate::postgres::board::{Added, Board, Changed, Opened, Standing, Stop};
use crate::postgres::fault::Fault;
use kernel::answer::Evidence;
use kernel::audit::{self, Entry, Hash};
use kernel::ids::{FlowId, Id, Serial};
use kernel::record::{Head, Record};
use kernel::table::Flows;
use kernel::unit::{Event, Hold};

/// One transfer that a unit touches.
#[derive(Debug)]
struct Touch {
    id: Id,
    stored: Option<Standing>,
    opened: Option<Record>,
    head: Option<(Head, Hold)>,
    error: Option<Evidence>,
    events: Vec<(Option<u8>, u8, Entry)>,
}

/// Every transfer that a unit touches; nearly always one.
#[derive(Debug, Default)]
pub(super) struct Touches(Vec<Touch>);

impl Touches {
    fn at(&mut self, id: Id, stored: Option<Standing>) -> &mut Touch {
        let at = self.0.iter().position(|touch| touch.id == id).unwrap_or(self.0.len());
        if at == self.0.len() {
            let (opened, head, error) = (None, None, None);
            self.0.push(Touch { id, stored, opened, head, error, events: Vec::new() });
        }
        #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
        &mut self.0[at]
    }

    pub(super) fn open(&mut self, record: Record) {
        let id = record.id;
        self.at(id, None).opened = Some(record);
    }

    /// False: there is no such transfer.
    pub(super) fn head(
        &mut self,
        (id, stored): (Id, Option<Standing>),
        head: (Head, Hold),
        error: Option<&Evidence>,
    ) -> bool {
        let touch = self.at(id, stored);
        touch.head = Some(head);
        touch.error = error.cloned().or_else(|| touch.error.take());
        touch.stored.is_some() || touch.opened.is_some()
    }

    pub(super) fn event(&mut self, stored: Option<Standing>, event: &Event, detail: Option<&str>) {
        let entry = Entry {
            seq: 0,
            at: 0,
            from: None,
            to: 0,
            event: event.what.to_owned(),
            caller: event.caller.as_deref().map(str::to_owned),
            detail: detail.map(str::to_owned),
        };
        self.at(event.id, stored).events.push((event.from, event.to, entry));
    }
}

impl Board {
    /// Adds every touched transfer to what is written; gives back the number of the one that was
    /// opened.
    pub(super) fn flush(
        &mut self,
        flows: &Flows,
        touches: Touches,
    ) -> Result<Option<Serial>, Stop> {
        let mut serial = None;
        for touch in touches.0 {
            self.changes.touched.insert(touch.id);
            match (touch.opened, touch.stored) {
                (Some(record), _) => {
                    let (head, error) = (touch.head, touch.error);
                    serial = Some(self.opened(flows, record, (head, error), touch.events)?);
                }
                (None, Some(was)) => {
                    let change = (was, touch.head, touch.error);
                    self.changed(flows, touch.id, change, touch.events)?;
                }
                (None, None) => {}
            }
        }
        Ok(serial)
    }

    fn opened(
        &mut self,
        flows: &Flows,
        mut record: Record,
        (head, error): (Option<(Head, Hold)>, Option<Evidence>),
        events: Vec<(Option<u8>, u8, Entry)>,
    ) -> Result<Serial, Stop> {
        let hold = head.map_or(Hold::Mine, |(head, hold)| {
            record.head = head;
            hold
        });
        record.error = error.or(record.error);
        let transfer = self.numbers.serial;
        self.numbers.serial = transfer.saturating_add(1);
        let table = flows.table(record.flow);
        let birth = audit::birth(record.id, table.flow, &record.terms);
        let added = self.added(flows, events, (transfer, record.flow), (0, birth))?;
        if table.ends(record.head.state) {
            self.ended(record.flow, table.state(record.head.state).code);
        }
        if let Some(binding) = &record.terms.binding {
            let bound = (record.flow, binding.scope.clone(), binding.key.clone());
            self.changes.bound.insert(bound);
        }
        self.changes.opened.push(Opened { record, hold, transfer, added });
        Ok(Serial(u64::try_from(transfer).unwrap_or(0)))
    }

    fn changed(
        &mut self,
        flows: &Flows,
        id: Id,
        (was, head, error): (Standing, Option<(Head, Hold)>, Option<Evidence>),
        events: Vec<(Option<u8>, u8, Entry)>,
    ) -> Result<(), Stop> {
        let added = self.added(flows, events, (was.transfer, was.flow), (was.events, was.chain))?;
        let table = flows.table(was.flow);
        let over = table.coded(was.code).is_some_and(|state| table.ends(state));
        let ends = !over && head.is_some_and(|(head, _)| table.ends(head.state));
        if let (true, Some((head, _))) = (ends, head) {
            self.ended(was.flow, table.state(head.state).code);
        }
        if head.is_some() || !added.text.is_empty() {
            self.changes.changed.push(Changed { id, was, head, error, added, ends });
        }
        Ok(())
    }

    fn ended(&mut self, flow: FlowId, state: i16) {
        let count = self.changes.ends.entry((flow, state)).or_default();
        *count = count.saturating_add(1);
    }

    /// Links a transfer's new entries to its chain.
    fn added(
        &mut self,
        flows: &Flows,
        events: Vec<(Option<u8>, u8, Entry)>,
        (transfer, flow): (i64, FlowId),
        (before, chain): (u32, Hash),
    ) -> Result<Added, Stop> {
        let (table, unit, lane) = (flows.table(flow), self.numbers.unit, self.numbers.lane);
        let mut added = Added { text: String::new(), events: before, chain };
        for (from, to, entry) in events {
            let entry = Entry {
                seq: added.events,
                at: self.at,
                from: from.map(|s| table.state(s).code),
                to: table.state(to).code,
                ..entry
            };
            added.chain = audit::link(added.chain, &entry);
            added.events = added.events.saturating_add(1);
            self.changes.entries.push((transfer, entry.seq, added.chain));
            if !added.text.is_empty() {
                added.text.push(',');
            }
            let Entry { seq, at, from, to, event, caller, detail } = &entry;
            let hash = audit::hex(&added.chain);
            let entry = (seq, at, from, to, event, caller, detail, hash, unit, lane);
            added.text += &serde_json::to_string(&entry)
                .map_err(|_| Fault::Damaged("a history that is no JSON"))?;
        }
        Ok(added)
    }
}
