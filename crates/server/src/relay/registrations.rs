//! What registrations of receivers may cost on a day: each is reserved in the journal before it may be signed,
//! in one counter for all processes.

use super::RelayContext;
use crate::open_store::Store;
use flows::relay::State;
use kernel::answer::Cause;
use kernel::flow::life::Word as _;
use kernel::flow::table::Flows;
use kernel::ids::{Day, Id};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::Record;
use kernel::unit::{Guard, Then, Unit, Wrote};
use links::near::{RegistrationAllowance, RegistrationLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counter of a day's registrations; its number follows.
const COUNTER: &str = "relay/registrations/";

/// The reservations of this process on the day that it last looked at.
#[derive(Default)]
struct Reserved {
    day: Option<Day>,
    transfers: BTreeSet<Id>,
}

/// What registrations may cost, and how often each was tried, by the journal.
pub(super) struct Registrations {
    store: Arc<dyn Store>,
    flows: Arc<Flows>,
    clock: Arc<dyn Clock>,
    /// The most registrations on one day in UTC.
    budget: u128,
    reserved: Mutex<Reserved>,
}

impl Registrations {
    /// Registrations of which so many are allowed on one day.
    pub(super) fn new(context: &RelayContext<'_>, budget: u128) -> Self {
        let RelayContext { store, flows, clock } = context;
        let (store, flows, clock) = (Arc::clone(store), Arc::clone(flows), Arc::clone(clock));
        Self { store, flows, clock, budget, reserved: Mutex::default() }
    }

    fn reserved(&self) -> MutexGuard<'_, Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a registration of this transfer is within the day's budget, and counts it where it is. One
    /// that a former process counted is counted again: the budget is used up early rather than overdrawn.
    async fn reserve(&self, id: Id) -> Result<bool, Cause> {
        let today = Day::of(self.clock.now());
        {
            let mut reserved = self.reserved();
            if reserved.day != Some(today) {
                *reserved = Reserved { day: Some(today), transfers: BTreeSet::new() };
            }
            if reserved.transfers.contains(&id) {
                return Ok(true);
            }
        }
        let name = format!("{COUNTER}{}", today.0).into();
        let guards = vec![Guard::AtMost { name, n: 1, limit: self.budget }];
        let wrote = self.store.write(vec![Unit { guards, then: Then::default() }]).await;
        match wrote.into_iter().next() {
            Some(Wrote::Written(_)) => {
                let mut reserved = self.reserved();
                if reserved.day == Some(today) {
                    reserved.transfers.insert(id);
                }
                Ok(true)
            }
            Some(Wrote::Lost(_)) => Ok(false),
            Some(Wrote::Full) => Err(Cause::of("DISK_FULL")),
            Some(Wrote::Unknown(cause)) => Err(cause),
            None => Err(Cause::of("NO_ANSWER")),
        }
    }

    /// How often a registration was signed for each transfer.
    async fn tried(&self, records: &[Record]) -> Result<BTreeMap<Id, u128>, Cause> {
        let ids: Vec<Id> = records.iter().map(|record| record.id).collect();
        let asked: BTreeSet<Id> = ids.iter().copied().collect();
        let mut tried: BTreeMap<Id, u128> = BTreeMap::new();
        for attempt in self.store.attempts_of(ids).await? {
            let state = self.flows.table(attempt.flow).state(attempt.state).code;
            if state != State::Registering.code() {
                continue;
            }
            for member in attempt.members.iter().filter(|member| asked.contains(&member.id)) {
                let times = tried.entry(member.id).or_default();
                *times = times.saturating_add(1);
            }
        }
        Ok(tried)
    }
}

impl RegistrationLimits for Registrations {
    fn allowances<'a>(
        &'a self,
        records: &'a [Record],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>> {
        Box::pin(async move {
            let tried = match self.tried(records).await {
                Ok(tried) => tried,
                Err(cause) => return vec![Err(cause); records.len()],
            };
            let mut all = Vec::with_capacity(records.len());
            for record in records {
                let tried = tried.get(&record.id).copied().unwrap_or(0);
                let budget = self.reserve(record.id).await;
                all.push(budget.map(|budget| RegistrationAllowance { tried, budget }));
            }
            all
        })
    }
}
