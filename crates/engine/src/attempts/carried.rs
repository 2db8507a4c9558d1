//! Keeps the attempts that this process carries, in RAM, for the provers. Each attempt has a time of its
//! own, at which a prover looks at it next. It is either in the heap or in the hands of one prover.

use crate::pipeline::select::race;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::Millis;
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// An attempt in this process.
#[derive(Debug)]
pub(crate) struct Carried {
    pub attempt: Attempt,
    /// This run stored the newest form and did not send it yet. A form of another run is sent again where
    /// it says that it may be, and otherwise only asked after.
    pub unsent: bool,
    /// This run wrote the version that it has: a former owner writes nothing any more.
    pub taken: bool,
    /// A unit of this run that closes it may have been written.
    pub closing: bool,
    /// How often the chain was asked without a clear answer.
    pub looks: u32,
    /// When this run sent the newest form for the first time, by the journal's clock.
    pub sent_at: Option<Millis>,
    /// Before it the same bytes are not sent again.
    pub resend_at: Millis,
    /// What the last look said.
    pub last: Option<Cause>,
}

impl Carried {
    /// One of another run, or of a former owner.
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
        }
    }

    /// One that this run claimed.
    pub(crate) const fn claimed(attempt: Attempt) -> Self {
        let mut claimed = Self::found(attempt);
        (claimed.unsent, claimed.taken) = (true, true);
        claimed
    }

    /// Another worker may have written it: what is known of it here counts no more.
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
    /// Every attempt that is carried, those in a prover's hands too.
    ids: BTreeSet<AttemptId>,
    heap: BTreeMap<(Millis, u64), Carried>,
    /// Those in hands that are to be looked at again at once.
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

    /// Takes one in, to be looked at then. False: it is carried already.
    pub(crate) fn begin(&self, carried: Carried, due: Millis) -> bool {
        if !self.inner().ids.insert(carried.attempt.id) {
            return false;
        }
        self.keep(carried, due);
        true
    }

    /// Puts one back that a prover had, to be looked at then.
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

    /// It is no longer carried here.
    pub(crate) fn end(&self, id: AttemptId) {
        let mut inner = self.inner();
        inner.ids.remove(&id);
        inner.poked.remove(&id);
        inner.invalidated.remove(&id);
    }

    /// The lease had run out: another worker may have moved any of them, and each is taken up anew at its next look.
    /// That its forms are not found would else be asked for ever, of an attempt that another form ended.
    pub(crate) fn invalidate_all(&self) {
        let inner = &mut *self.inner();
        let mut at_prover = inner.ids.clone();
        for carried in inner.heap.values_mut() {
            at_prover.remove(&carried.attempt.id);
            carried.is_invalidated();
        }
        inner.invalidated.append(&mut at_prover);
    }

    /// Has one looked at now. False: it is not carried here.
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

    /// Whether this process holds it, be it in a prover's hands.
    pub(crate) fn carries(&self, id: AttemptId) -> bool {
        self.inner().ids.contains(&id)
    }

    /// Those that wait for their next look, with what the last one said.
    pub(crate) fn waiting(&self) -> Vec<(Attempt, Option<Cause>)> {
        let of = |carried: &Carried| (carried.attempt.clone(), carried.last.clone());
        self.inner().heap.values().map(of).collect()
    }

    /// Waits for attempts whose time has come, and takes at most so many.
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
