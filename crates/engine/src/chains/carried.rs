//! Keeps the attempts that this process carries, in RAM, for the provers. Each attempt has a time of its
//! own, at which a prover looks at it next. It is either in the heap or in the hands of one prover.

use crate::state::select::race;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// An attempt that this process carries.
#[derive(Debug)]
pub(crate) struct Carried {
    pub attempt: Attempt,
    /// This run stored the newest form and has not sent it yet. A form of another run is sent again only
    /// where the form allows it; otherwise this run only asks for it.
    pub unsent: bool,
    /// This run wrote the version that it has, so every write of a former owner fails.
    pub taken: bool,
    /// This run may have written a unit that closes it, without a clear outcome.
    pub closing: bool,
    /// How often the chain was asked without a clear answer.
    pub looks: u32,
    /// When this run sent the newest form for the first time, by the journal's clock.
    pub sent_at: Option<Millis>,
    /// The same bytes are not sent again before this time.
    pub resend_at: Millis,
    /// The reason that the last look gave.
    pub last: Option<Cause>,
    /// The histories of its members show, as this run knows, that the chain's providers hold it up.
    pub troubled: bool,
}

impl Carried {
    /// An attempt of another run, or of a former owner.
    pub(crate) const fn found(attempt: Attempt) -> Self {
        Self {
            attempt,
            unsent: false,
            taken: false,
            closing: false,
            looks: 0,
            sent_at: None,
            resend_at: 0,
            last: None,
            troubled: false,
        }
    }

    /// An attempt that this run claimed.
    pub(crate) const fn claimed(attempt: Attempt) -> Self {
        let mut claimed = Self::found(attempt);
        (claimed.unsent, claimed.taken) = (true, true);
        claimed
    }

    /// Another worker may have written the attempt: what this process knows of it counts no more.
    fn is_invalidated(&mut self) {
        (self.taken, self.last) = (false, None);
    }

    /// Whether its newest form is sent now.
    pub(crate) fn sends(&self, now: Millis) -> bool {
        let repeatable = self.attempt.forms.last().is_some_and(|form| form.repeatable);
        self.unsent || (repeatable && now >= self.resend_at)
    }

    /// This run sends its newest form now, and not again before `resend_at`.
    pub(crate) fn is_sent(&mut self, now: Millis, resend_at: Millis) {
        if std::mem::take(&mut self.unsent) {
            self.sent_at = Some(now);
        }
        self.resend_at = resend_at;
    }
}

#[derive(Debug, Default)]
struct AttemptHeap {
    /// Every attempt that this process carries, those at a prover too.
    ids: BTreeSet<AttemptId>,
    heap: BTreeMap<(Millis, u64), Carried>,
    /// Those at a prover that are to be looked at again at once.
    poked: BTreeSet<AttemptId>,
    /// Those at a prover that another worker may have moved.
    invalidated: BTreeSet<AttemptId>,
    next: u64,
}

/// Every attempt of one chain that this process holds.
#[derive(Debug, Default)]
pub(crate) struct CarriedAttempts {
    inner: Mutex<AttemptHeap>,
    bell: Notify,
}

impl CarriedAttempts {
    fn inner(&self) -> MutexGuard<'_, AttemptHeap> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an attempt, to be looked at at that time. False: this process carries it already.
    pub(crate) fn begin(&self, carried: Carried, due: Millis) -> bool {
        if !self.inner().ids.insert(carried.attempt.id) {
            return false;
        }
        self.keep(carried, due);
        true
    }

    /// Puts an attempt back that a prover had, to be looked at at that time.
    pub(crate) fn keep(&self, mut carried: Carried, due: Millis) {
        {
            let inner = &mut *self.inner();
            if inner.invalidated.remove(&carried.attempt.id) {
                carried.is_invalidated();
            }
            let due = if inner.poked.remove(&carried.attempt.id) { 0 } else { due };
            inner.next = inner.next.saturating_add(1);
            inner.heap.insert((due, inner.next), carried);
        }
        self.bell.notify_one();
    }

    /// Removes an attempt: this process no longer carries it.
    pub(crate) fn end(&self, id: AttemptId) {
        let mut inner = self.inner();
        inner.ids.remove(&id);
        inner.poked.remove(&id);
        inner.invalidated.remove(&id);
    }

    /// Invalidates every attempt, after the lease had run out: another worker may have moved any of them,
    /// so the next look takes each over again. Without this the provers would ask for ever for forms of an
    /// attempt that another form ended.
    pub(crate) fn invalidate_all(&self) {
        let inner = &mut *self.inner();
        let mut at_prover = inner.ids.clone();
        for carried in inner.heap.values_mut() {
            at_prover.remove(&carried.attempt.id);
            carried.is_invalidated();
        }
        inner.invalidated.append(&mut at_prover);
    }

    /// Has a prover look at an attempt now. False: this process does not carry it.
    pub(crate) fn poke(&self, id: AttemptId) -> bool {
        {
            let inner = &mut *self.inner();
            if !inner.ids.contains(&id) {
                return false;
            }
            let waits = inner.heap.iter().find(|(_, carried)| carried.attempt.id == id);
            match waits.map(|(key, _)| *key) {
                Some(key) => {
                    if let Some(carried) = inner.heap.remove(&key) {
                        inner.heap.insert((0, key.1), carried);
                    }
                }
                None => {
                    inner.poked.insert(id);
                }
            }
        }
        self.bell.notify_one();
        true
    }

    /// Whether this process carries the attempt, be it at a prover.
    pub(crate) fn carries(&self, id: AttemptId) -> bool {
        self.inner().ids.contains(&id)
    }

    /// The attempts that wait for their next look, with the reason of the last one.
    pub(crate) fn waiting(&self) -> Vec<(Attempt, Option<Cause>)> {
        let of = |carried: &Carried| (carried.attempt.clone(), carried.last.clone());
        self.inner().heap.values().map(of).collect()
    }

    /// Waits for attempts whose time has come, and takes at most this many.
    pub(crate) async fn take(
        &self,
        most: usize,
        journal: &dyn Journal,
        clock: &dyn Clock,
    ) -> Vec<Carried> {
        loop {
            let wait = {
                let inner = &mut *self.inner();
                let now = journal.now();
                let mut ripe = Vec::new();
                while ripe.len() < most
                    && let Some(first) = inner.heap.first_entry().filter(|e| e.key().0 <= now)
                {
                    ripe.push(first.remove());
                }
                if !ripe.is_empty() {
                    if !inner.heap.is_empty() {
                        self.bell.notify_one();
                    }
                    return ripe;
                }
                inner.heap.first_key_value().map(|(key, _)| key.0.saturating_sub(now))
            };
            match wait {
                Some(ms) => {
                    race(self.bell.notified(), clock.sleep(if ms == 0 { 1 } else { ms })).await;
                }
                None => self.bell.notified().await,
            }
        }
    }
}
