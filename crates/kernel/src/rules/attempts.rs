//! What a unit does to attempts, each held to its version, to its lock, and to being open.

use super::unit::UnitDecision;
use super::{LockKey, StateReader, Stopped};
use crate::answer::Cause;
use crate::attempt::{Attempt, AttemptId, Form};
use crate::ids::Millis;
use crate::unit::{Guard, Hold, Wrote};
use std::collections::BTreeSet;
use std::collections::btree_map::Entry;

/// Where a stored attempt stands.
#[derive(Debug, Clone, Copy)]
pub struct StoredAttempt {
    /// Raised by each write of it; 0 before the first.
    pub version: u32,
    /// The number of its forms.
    pub forms: u32,
    /// It is proven or given up, and changes no more.
    pub closed: bool,
}

/// What a put says of an attempt besides its version.
#[derive(Debug, Clone, Copy)]
pub struct AttemptHead {
    /// It was handed to its chain at least once.
    pub sent: bool,
    /// When it is looked at again; `None`: at once.
    pub due_at: Option<Millis>,
    /// When it was closed; `None`: it is open.
    pub closed: Option<Millis>,
    /// Who works on it after the write.
    pub hold: Hold,
}

/// One attempt that a unit changes, or looked at.
#[derive(Debug)]
pub struct AttemptChange<'u> {
    /// The attempt that is changed.
    pub id: AttemptId,
    /// As it is stored; `None`: it is not there.
    pub stored: Option<StoredAttempt>,
    /// Where the unit makes it.
    pub opened: Option<&'u Attempt>,
    /// The numbers of its members, where the unit makes it.
    pub members: Vec<i64>,
    /// The forms that the unit adds.
    pub forms: Vec<&'u Form>,
    /// What the last put says.
    pub head: Option<AttemptHead>,
    /// Its version by now; 0: it is not there.
    pub version: u32,
}

impl AttemptChange<'_> {
    fn of(id: AttemptId, stored: Option<StoredAttempt>) -> Self {
        let version = stored.map_or(0, |stored| stored.version);
        let (opened, members, forms, head) = (None, Vec::new(), Vec::new(), None);
        Self { id, stored, opened, members, forms, head, version }
    }

    fn is_open(&self) -> bool {
        let closed = match (self.head, self.stored) {
            (Some(head), _) => head.closed.is_some(),
            (None, stored) => stored.is_some_and(|stored| stored.closed),
        };
        self.version > 0 && !closed
    }

    /// The unit writes something of it.
    pub fn is_changed(&self) -> bool {
        self.version != self.stored.map_or(0, |stored| stored.version)
    }
}

impl<'u, S: StateReader> UnitDecision<'_, 'u, S> {
    /// The version of an attempt, over what the unit did to it; 0: it is not there.
    pub(super) fn attempt_version(&mut self, id: AttemptId) -> Result<u32, S::Error> {
        Ok(self.attempt(id)?.version)
    }

    /// An attempt; asked for once.
    fn attempt(&mut self, id: AttemptId) -> Result<&mut AttemptChange<'u>, S::Error> {
        match self.plan.attempts.entry(id) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(AttemptChange::of(id, self.state.attempt(id)?))),
        }
    }

    /// True where no attempt was ever made under a lock, the unit's own among them.
    pub(super) fn lock_is_free(&mut self, lock: &LockKey) -> Result<bool, S::Error> {
        let own =
            |made: &Attempt| (made.chain, &made.lane, &made.lock) == (lock.0, &lock.1, &lock.2);
        let taken = self.plan.attempts.values().filter_map(|change| change.opened).any(own);
        Ok(!taken && !self.state.lock_taken(lock)?)
    }

    /// One more form of an open attempt.
    pub(super) fn add_form(
        &mut self,
        id: AttemptId,
        form: &'u Form,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let guarded = self.plan.unit().guards_attempt(id);
        let change = self.attempt(id)?;
        if !change.is_open() {
            return Err(Stopped::Answer(Wrote::Unknown(Cause::of("NO_SUCH_ATTEMPT"))));
        }
        if !guarded && change.opened.is_none() {
            let broken = "it adds a form to an attempt that it does not guard";
            return Err(Stopped::Answer(Wrote::Unknown(Cause::because(
                Cause::CONTRADICTION,
                broken,
            ))));
        }
        change.forms.push(form);
        change.version = change.version.saturating_add(1);
        Ok(())
    }

    /// An open attempt stands elsewhere, with its next version.
    pub(super) fn move_attempt(
        &mut self,
        id: AttemptId,
        version: u32,
        head: AttemptHead,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let change = self.attempt(id)?;
        if !change.is_open() || change.version.checked_add(1) != Some(version) {
            let version = version.saturating_sub(1);
            return Err(Stopped::Answer(Wrote::Lost(Guard::Attempt { id, version })));
        }
        (change.head, change.version) = (Some(head), version);
        Ok(())
    }

    /// A new attempt under a lock that never was, of stored transfers.
    pub(super) fn open_attempt(
        &mut self,
        attempt: &'u Attempt,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let Attempt { id, chain, lane, lock, version, .. } = attempt;
        if self.attempt_version(*id)? != 0 {
            return Err(Stopped::Answer(Wrote::Lost(Guard::Attempt { id: *id, version: 0 })));
        }
        let key = (*chain, lane.clone(), lock.clone());
        if !self.lock_is_free(&key)? {
            let (chain, lane, lock) = key;
            return Err(Stopped::Answer(Wrote::Lost(Guard::LockFree { chain, lane, lock })));
        }
        let wrong =
            |what| Err(Stopped::Answer(Wrote::Unknown(Cause::because(Cause::CONTRADICTION, what))));
        if *version != Attempt::FIRST {
            return wrong("a new attempt with another version");
        }
        let mut seen = BTreeSet::new();
        let mut members = Vec::with_capacity(attempt.members.len());
        for member in attempt.members.iter() {
            if !seen.insert(member.id) {
                return wrong("a transfer twice in an attempt");
            }
            let Some(stored) = self.transfer(member.id)? else {
                return Err(Stopped::Answer(Wrote::Unknown(Cause::of("NO_SUCH_TRANSFER"))));
            };
            members.push(stored.transfer);
        }
        let change = self.attempt(*id)?;
        let Attempt { sent, due_at, closed, .. } = *attempt;
        change.head = Some(AttemptHead { sent, due_at, closed, hold: Hold::Mine });
        (change.opened, change.members, change.version) = (Some(attempt), members, *version);
        change.forms.extend(&attempt.forms);
        Ok(())
    }
}
