//! Writes and reads attempts and counters in the simulated journal's state.

use super::State;
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::{ChainId, Id, WorkerId};
use kernel::ports::journal::Resource;
use kernel::record::Record;
use kernel::rules::{LockKey, StoredAttempt};
use kernel::unit::{Hold, Put};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Every attempt that was ever made.
#[derive(Debug, Clone, Default)]
pub(in crate::journal) struct Attempts {
    all: BTreeMap<AttemptId, Attempt>,
    /// In the order of writing.
    order: Vec<AttemptId>,
    locks: BTreeSet<LockKey>,
}

fn key(attempt: &Attempt) -> LockKey {
    (attempt.chain, attempt.lane.clone(), attempt.lock.clone())
}

impl Attempts {
    /// Where an attempt stands.
    pub(super) fn stored(&self, id: AttemptId) -> Option<StoredAttempt> {
        self.all.get(&id).map(|attempt| StoredAttempt {
            version: attempt.version,
            forms: u32::try_from(attempt.forms.len()).unwrap_or(u32::MAX),
            closed: attempt.closed.is_some(),
        })
    }

    pub(super) fn lock_taken(&self, lock: &LockKey) -> bool {
        self.locks.contains(lock)
    }

    pub(in crate::journal) fn open(&self) -> impl Iterator<Item = &Attempt> {
        self.order.iter().filter_map(|id| self.all.get(id)).filter(|a| a.closed.is_none())
    }

    /// The transfers that an open attempt has as members.
    pub(in crate::journal) fn members(&self) -> BTreeSet<Id> {
        self.open().flat_map(|attempt| attempt.members.iter()).map(|member| member.id).collect()
    }
}

impl State {
    /// Where a counter stands.
    pub(in crate::journal) fn counter(&self, name: &str) -> u128 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    pub(in crate::journal) fn named_counters(&self, prefix: &str) -> BTreeMap<Arc<str>, u128> {
        let named = self.counters.iter().filter(|(name, _)| name.starts_with(prefix));
        named.map(|(name, n)| (name.clone(), *n)).collect()
    }

    /// Writes a put about an attempt that nothing objected to.
    pub(super) fn put_attempt(&mut self, worker: WorkerId, put: Put) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the caller chose these three")]
        match put {
            Put::Attempt(attempt) => {
                let (id, due, open) = (attempt.id, attempt.due_at, attempt.closed.is_none());
                self.attempts.locks.insert(key(&attempt));
                self.attempts.order.push(id);
                self.attempts.all.insert(id, attempt);
                self.leases.attempt_moved(worker, id, open.then_some((due, Hold::Mine)));
            }
            Put::Form(id, form) => {
                if let Some(attempt) = self.attempts.all.get_mut(&id) {
                    attempt.version += 1;
                    attempt.forms.push(form);
                }
            }
            Put::AttemptHead { id, version, sent, due_at, closed, hold } => {
                let Some(attempt) = self.attempts.all.get_mut(&id) else { return };
                (attempt.version, attempt.sent) = (version, sent);
                (attempt.due_at, attempt.closed) = (due_at, closed);
                let open = closed.is_none();
                self.leases.attempt_moved(worker, id, open.then_some((due_at, hold)));
            }
            other => debug_assert!(false, "not of an attempt: {other:?}"),
        }
    }

    /// An attempt with its members as they stand.
    pub(in crate::journal) fn whole(&self, attempt: &Attempt) -> Attempt {
        let now = |member: &Record| self.transfers.get(&member.id).unwrap_or(member).clone();
        Attempt { members: attempt.members.iter().map(now).collect(), ..attempt.clone() }
    }

    fn find_attempts<'a>(
        &'a self,
        which: impl Fn(&Attempt) -> bool + 'a,
    ) -> impl DoubleEndedIterator<Item = Attempt> + 'a {
        let all = self.attempts.order.iter().filter_map(|id| self.attempts.all.get(id));
        all.filter(move |attempt| which(attempt)).map(|attempt| self.whole(attempt))
    }

    pub(in crate::journal) fn attempts_of(&self, ids: &[Id]) -> Vec<Attempt> {
        self.find_attempts(|a| a.members.iter().any(|member| ids.contains(&member.id))).collect()
    }

    pub(in crate::journal) fn open_attempts(&self, chain: ChainId) -> Vec<Attempt> {
        self.find_attempts(|a| a.chain == chain && a.closed.is_none()).collect()
    }

    pub(in crate::journal) fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: &str,
        limit: usize,
    ) -> Vec<Attempt> {
        let of = self.find_attempts(|a| {
            a.chain == chain && &*a.lane == lane && a.lock.on_chain() == &*a.lock.0
        });
        of.rev().take(limit).collect()
    }

    pub(in crate::journal) fn attempt_of_form(
        &self,
        chain: ChainId,
        name: &[u8],
    ) -> Option<Attempt> {
        let has = |a: &Attempt| a.chain == chain && a.forms.iter().any(|form| *form.name == *name);
        self.find_attempts(has).next()
    }

    pub(in crate::journal) fn named_resources(&self, prefix: &str) -> Vec<Resource> {
        let resource = |(name, (version, value)): (&Arc<str>, &(u32, Arc<str>))| Resource {
            name: name.clone(),
            version: *version,
            value: value.clone(),
        };
        let own = self.resources.iter().filter(|(name, _)| name.starts_with(prefix));
        own.map(resource).collect()
    }
}
