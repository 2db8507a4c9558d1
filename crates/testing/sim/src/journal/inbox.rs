//! The inbox of the simulated journal: the messages that groups consumed, and messages that wait under their keys.

use super::{SimJournal, breath};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::bus::BusDelivery;
use kernel::ports::inbox::{Inbox, NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key that waits, with its messages by place.
#[derive(Debug, Clone)]
struct Waiting {
    since: Millis,
    next: NextTry,
    last: u64,
    messages: BTreeMap<u64, BusDelivery>,
    partition: u32,
}

/// Every key that waits.
#[derive(Debug, Clone, Default)]
pub(super) struct ParkedTable(BTreeMap<ParkedName, Waiting>);

impl ParkedTable {
    fn park(&mut self, group: &Arc<str>, messages: Vec<BusDelivery>, next: &NextTry, at: Millis) {
        for delivery in messages {
            let (topic, key) = (delivery.partition.topic.clone(), delivery.message.key.clone());
            let name = ParkedName { group: group.clone(), topic, key };
            let waiting = self.0.entry(name).or_insert_with(|| Waiting {
                since: at,
                next: next.clone(),
                last: 0,
                messages: BTreeMap::new(),
                partition: delivery.partition.number,
            });
            waiting.last += 1;
            let number = delivery.message.number;
            if waiting.messages.values().all(|other| other.message.number != number) {
                waiting.messages.insert(waiting.last, delivery);
            }
        }
    }

    fn keys(&self, group: Option<&str>, limit: usize) -> Vec<ParkedKey> {
        let of = |name: &ParkedName| group.is_none_or(|group| *name.group == *group);
        let found = self.0.iter().filter(|(name, _)| of(name)).take(limit);
        found
            .map(|(name, waiting)| ParkedKey {
                name: name.clone(),
                partition: waiting.partition,
                messages: u64::try_from(waiting.messages.len()).unwrap_or(u64::MAX),
                last: waiting.last,
                since: waiting.since,
                next: waiting.next.clone(),
            })
            .collect()
    }

    fn messages(&self, name: &ParkedName, limit: usize) -> Vec<ParkedMessage> {
        let waiting = self.0.get(name).into_iter().flat_map(|waiting| &waiting.messages);
        waiting.take(limit).map(|(n, one)| ParkedMessage { n: *n, delivery: one.clone() }).collect()
    }

    fn unpark(&mut self, name: &ParkedName, consumed: &[u128], upto: u64) {
        let Some(waiting) = self.0.get_mut(name) else { return };
        waiting.messages.retain(|_, one| !consumed.contains(&one.message.number));
        if waiting.last <= upto && waiting.messages.is_empty() {
            self.0.remove(name);
        }
    }
}

impl SimJournal {
    async fn parked_table<T>(
        &self,
        change: impl FnOnce(&mut ParkedTable, Millis) -> T,
    ) -> Result<T, Cause> {
        breath().await;
        self.readable()?;
        let value = self.change(|state, now| change(&mut state.parked, now));
        breath().await;
        Ok(value)
    }
}

impl Inbox for SimJournal {
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(async move {
            breath().await;
            self.readable()?;
            let state = self.place.now();
            Ok(numbers.into_iter().filter(|number| state.had(group, *number)).collect())
        })
    }

    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.noted(move |state, now| state.parked.park(&group, messages, &next, now)))
    }

    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        Box::pin(self.parked_table(move |all, _| all.keys(group.as_deref(), limit)))
    }

    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>> {
        Box::pin(self.parked_table(move |all, _| all.messages(&name, limit)))
    }

    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.noted(move |state, _| {
            if let Some(waiting) = state.parked.0.get_mut(&name) {
                waiting.next = next;
            }
        }))
    }

    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.noted(move |state, _| state.parked.unpark(&name, &consumed, upto)))
    }
}
