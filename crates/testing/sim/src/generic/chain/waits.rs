//! Looks at a run from outside, once a second: a transfer that waits for longer than its time has an open case soon; and it
//! takes the time in which all ended.

use crate::journal::Place;
use crate::world::Sim;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// The flow whose transfers end within a bound that is the settings' alone.
pub(super) const RELAY: &str = "relay";
/// The age in seconds at which a transfer of the relay that is open has a case.
pub(super) const STUCK_SECONDS: u64 = 300;
/// The longest time from when a case is due until it is stored: a process may die meanwhile, and its lease must end.
const SOON: Millis = 60_000;
/// The longest that a transfer, or an attempt, is open without a case, in milliseconds.
const BOUND: Millis = STUCK_SECONDS * 1_000 + SOON;
/// The interval of the looks.
const EVERY: Millis = 1_000;

/// What was seen of a run. A handle: clones are the same one.
#[derive(Clone)]
pub(super) struct CaseWatch {
    place: Place,
    /// Its transfers have the bound.
    is_relay: bool,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Transfers that waited without a case.
    silent: BTreeSet<String>,
    /// When all had ended.
    ended: Option<Millis>,
}

impl CaseWatch {
    /// Over the journal of a run of this flow.
    pub(super) fn over(place: &Place, flow: &str) -> Self {
        Self { place: place.clone(), is_relay: flow == RELAY, seen: Arc::default() }
    }

    /// The same future, with looks for as long as it goes on.
    pub(super) fn watched<T: Send + 'static>(
        &self,
        all: Fut<'static, T>,
        sim: Sim,
    ) -> Fut<'static, T> {
        let watch = self.clone();
        Box::pin(async move {
            let (mut all, mut looks) = (all, Box::pin(watch.clone().looks(sim.clone())));
            let ended = poll_fn(|cx| match all.as_mut().poll(cx) {
                Poll::Ready(ended) => Poll::Ready(ended),
                Poll::Pending => {
                    assert!(looks.as_mut().poll(cx).is_pending(), "the looks go on");
                    Poll::Pending
                }
            });
            let ended = ended.await;
            watch.seen.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(sim.time());
            ended
        })
    }

    async fn looks(self, sim: Sim) {
        // a case closes when its transfer moves, and another opens when that one stands
        let mut silent = BTreeMap::new();
        loop {
            let now = sim.time();
            let open = self.place.waiting_without_case(now.saturating_sub(BOUND));
            let due = |record: &&Record| now.saturating_sub(record.id.at()) > STUCK_SECONDS * 1_000;
            let due: Vec<&Record> = open.iter().filter(|_| self.is_relay).filter(due).collect();
            silent.retain(|id, _| due.iter().any(|record| record.id == *id));
            let late = due.into_iter().filter(|record| {
                let since = *silent.entry(record.id).or_insert(now);
                now.saturating_sub(since) > SOON
            });
            let late: Vec<String> = late.map(words).collect();
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).silent.extend(late);
            sim.sleep(EVERY).await;
        }
    }

    /// The transfers that waited for longer than their time without a case.
    pub(super) fn silent(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).silent.iter().cloned().collect()
    }

    /// When all had ended.
    pub(super) fn ended(&self) -> Option<Millis> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).ended
    }
}

fn words(record: &Record) -> String {
    format!("{} waits for too long, and no case is open", record.id)
}
