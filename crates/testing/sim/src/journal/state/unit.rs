//! Applies a unit to the state: the product's rules decide it, then all of it is written or nothing.

use super::State;
use super::state_reader::Reader;
use kernel::answer::{Answer, Evidence};
use kernel::audit::UnitDigest;
use kernel::ids::{Id, Millis, WorkerId};
use kernel::rules::{self, Plan, Posting, Stopped};
use kernel::unit::{Put, Then, Unit, Written, Wrote};
use std::collections::BTreeMap;

impl State {
    /// A group: each unit for itself, in order.
    pub(in crate::journal) fn group(
        &mut self,
        worker: WorkerId,
        units: Vec<Unit>,
        at: Millis,
    ) -> Vec<Wrote> {
        let mut digest = UnitDigest::default();
        let wrote =
            units.into_iter().map(|unit| self.unit(worker, &mut digest, &unit, at)).collect();
        self.digested(digest);
        wrote
    }

    /// The row of the audit for one write, where it has history.
    pub(super) fn digested(&mut self, digest: UnitDigest) {
        if digest.count > 0 {
            let n = u64::try_from(self.audit.len()).unwrap_or(u64::MAX);
            self.audited.0 += u64::from(digest.count);
            self.audit.push((digest.count, digest.finish(0, n)));
        }
    }

    fn unit(
        &mut self,
        worker: WorkerId,
        digest: &mut UnitDigest,
        unit: &Unit,
        at: Millis,
    ) -> Wrote {
        let flows = self.flows.clone();
        let plan = match rules::unit(&mut Reader::of(self, at), &flows, unit) {
            Ok(plan) => plan,
            Err(Stopped::Answer(wrote)) => return wrote,
            Err(Stopped::Error(never)) => match never {},
        };
        // a symbol that is taken shows only in the writing, after everything else was looked at
        if let Some(refused) = self.operators.symbol_taken(plan.puts()) {
            return refused;
        }
        let parts: Vec<Then> = parts(&plan);
        let supersedes = plan.supersedes();
        let Plan { fork, posting, days, counters, inbox, .. } = plan;
        self.post(&posting);
        self.counters.extend(counters.into_iter().map(|(name, sum)| (name.clone(), sum)));
        self.inbox.extend(inbox);
        let stored: BTreeMap<Id, usize> = parts
            .iter()
            .flat_map(|part| &part.outbox)
            .map(|message| (message.id, self.entries(message.id).len()))
            .collect();
        let mut serial = None;
        for part in parts {
            let places = self.places(&part, &stored);
            for put in part.puts {
                serial = self.put(worker, digest, put, at).or(serial);
            }
            for event in part.events {
                digest.push(self.event(event, at));
            }
            for (message, place) in part.outbox.iter().zip(places) {
                self.emit(message, place, at);
            }
        }
        if supersedes {
            self.operators.supersede(at);
        }
        // what a put forgets is counted from nothing again
        self.operators.counted(days);
        Wrote::Written(Written { at, serial, fork })
    }

    /// Takes in what enlisted ledgers did.
    pub(super) fn post(&mut self, posting: &Posting) {
        self.books.apply(posting);
        self.accounts.apply(posting);
    }
}

/// What of a unit is written: its own part, then the branch that its fork chose, completed by a refusal.
fn parts(plan: &Plan<'_>) -> Vec<Then> {
    let mut parts: Vec<Then> = plan.thens().cloned().collect();
    if let (Some(Answer::Rejected(why, _)), [_, chosen]) = (&plan.fork, parts.as_mut_slice()) {
        complete(chosen, why);
    }
    parts
}

/// Adds to a refused branch what only the answer knows.
fn complete(chosen: &mut Then, why: &Evidence) {
    for put in &mut chosen.puts {
        if let Put::Head { error: error @ None, .. } = put {
            *error = Some(why.clone());
        }
    }
    if let Some(event) = chosen.events.iter_mut().find(|event| event.detail.is_none()) {
        event.detail = Some(why.code.as_ref().into());
    }
}
