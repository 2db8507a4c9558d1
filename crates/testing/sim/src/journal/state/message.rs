//! Writes the messages of a unit, each completed by the event that it belongs to.

use super::State;
use kernel::audit::birth;
use kernel::ids::{Id, Millis};
use kernel::message::{EventPlace, Outgoing};
use kernel::unit::Then;
use std::collections::BTreeMap;

impl State {
    /// Where the events of a part's messages will stand, before they are added. `stored`: how many
    /// events each transfer had before the unit.
    pub(super) fn places(&self, part: &Then, stored: &BTreeMap<Id, usize>) -> Vec<Option<usize>> {
        let place = |message: &Outgoing| match message.event {
            Some(n) => {
                let earlier = part.events.iter().take(n).filter(|event| event.id == message.id);
                Some(self.entries(message.id).len() + earlier.count())
            }
            None => stored.get(&message.id).copied().unwrap_or(0).checked_sub(1),
        };
        part.outbox.iter().map(place).collect()
    }

    /// Adds a message whose event stands there.
    pub(super) fn emit(&mut self, message: &Outgoing, place: Option<usize>, at: Millis) {
        let linked = place.and_then(|n| self.entries(message.id).get(n));
        let row = match (linked, self.transfers.get(&message.id)) {
            (Some(linked), _) => {
                let own = message.event.is_some();
                let detail = linked.entry.detail.as_deref().filter(|_| own);
                let prev = Some(&linked.prev).filter(|_| own);
                let (sequence, hash) = (linked.entry.seq, &linked.hash);
                message.completed(&EventPlace { sequence, hash, prev, detail }, at)
            }
            (None, Some(record)) => {
                let flow = self.flows.table(record.flow).flow;
                let hash = &birth(record.id, flow, &record.terms);
                message.completed(&EventPlace { sequence: 0, hash, prev: None, detail: None }, at)
            }
            (None, None) => return,
        };
        self.outbox.add(row);
    }
}
