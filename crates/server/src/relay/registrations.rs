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
        let RelayContext { store, flows, clock, .. } = context;
        let (store, flows, clock) = (Arc::clone(store), Arc::clone(flows), Arc::clone(clock));
        Self { store, flows, clock, budget, reserved: Mutex::default() }
    }

    fn reserved(&self) -> MutexGuard<'_, Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a registration of each transfer is within the day's budget, and counts those that are. One
    /// that a former process counted is counted again: the budget is used up early rather than overdrawn.
    async fn reserve(&self, records: &[Record]) -> Vec<Result<bool, Cause>> {
        let today = Day::of(self.clock.now());
        let known: Vec<bool> = {
            let mut reserved = self.reserved();
            if reserved.day != Some(today) {
                *reserved = Reserved { day: Some(today), transfers: BTreeSet::new() };
            }
            records.iter().map(|record| reserved.transfers.contains(&record.id)).collect()
        };
        let name: Arc<str> = format!("{COUNTER}{}", today.0).into();
        let one = || Guard::AtMost { name: name.clone(), n: 1, limit: self.budget };
        let unit = |_: &bool| Unit { guards: vec![one()], then: Then::default() };
        let units: Vec<Unit> = known.iter().filter(|known| !**known).map(unit).collect();
        let wrote = if units.is_empty() { Vec::new() } else { self.store.write(units).await };
        let mut wrote = wrote.into_iter();
        let mut reserved = self.reserved();
        let mut allowed = Vec::with_capacity(records.len());
        for (record, known) in records.iter().zip(known) {
            let within = if known { Ok(true) } else { within(wrote.next()) };
            if within == Ok(true) && reserved.day == Some(today) {
                reserved.transfers.insert(record.id);
            }
            allowed.push(within);
        }
        allowed
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

/// What a reservation's unit says of the budget.
fn within(wrote: Option<Wrote>) -> Result<bool, Cause> {
    match wrote {
        Some(Wrote::Written(_)) => Ok(true),
        Some(Wrote::Lost(_)) => Ok(false),
        Some(Wrote::Full) => Err(Cause::of("DISK_FULL")),
        Some(Wrote::Unknown(cause)) => Err(cause),
        None => Err(Cause::of("NO_ANSWER")),
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
            let within = self.reserve(records).await;
            let allowance = |(record, budget): (&Record, Result<bool, Cause>)| {
                let tried = tried.get(&record.id).copied().unwrap_or(0);
                budget.map(|budget| RegistrationAllowance { tried, budget })
            };
            records.iter().zip(within).map(allowance).collect()
        })
    }
}
