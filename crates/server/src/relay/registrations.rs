//! Limits what registrations of receivers cost on a day. Each is reserved in the journal before it may be signed:
//! as a row of its receiver that names one transfer, and in one counter of the day for all processes. A reservation
//! outlives its process, and is not counted again.

use super::RelayContext;
use super::receiver_row::{HolderHistory, ReceiverRow};
use crate::open_store::Store;
use flows::relay::State;
use flows::relay::rules::MOST_ATTEMPTS;
use futures_util::stream::{self, StreamExt as _};
use kernel::answer::Cause;
use kernel::audit::Entry;
use kernel::flow::life::Word as _;
use kernel::flow::table::Flows;
use kernel::ids::{Day, Id};
use kernel::ports::Fut;
use kernel::record::{Account, Record};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use links::near::{RegistrationAllowance, RegistrationLimits, Reservation};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The counter of a day's registrations; its number follows.
const COUNTER: &str = "relay/registrations/";
/// The row of a receiver; the token's contract and its name follow.
const RECEIVER: &str = "relay/receiver/";
/// The number of rows that are read at once.
const AT_ONCE: usize = 16;

/// What registrations may cost, and how often each was tried, by the journal.
pub(super) struct Registrations {
    store: Arc<dyn Store>,
    flows: Arc<Flows>,
    /// The account of the token's contract.
    contract: Arc<str>,
    /// The most registrations on one day in UTC.
    budget: u128,
}

/// The plan of a reservation before anything is written.
enum ReservationPlan {
    /// Nothing is written: the journal has said it before.
    Stands(Reservation),
    /// The receiver's row, of this version, is taken for the transfer.
    Take(Arc<str>, u32),
}

impl Registrations {
    /// Registrations at a token's contract, of which so many are allowed on one day.
    pub(super) fn new(context: &RelayContext<'_>, contract: &str, budget: u128) -> Self {
        let RelayContext { store, flows, .. } = context;
        let (store, flows) = (Arc::clone(store), Arc::clone(flows));
        Self { store, flows, contract: contract.into(), budget }
    }

    /// Reserves the registration of the receiver of each transfer, unless it is reserved.
    async fn reserve(&self, records: &[Record]) -> Vec<Result<Reservation, Cause>> {
        let mut steps: Vec<Fut<'_, _>> = Vec::with_capacity(records.len());
        for record in records {
            steps.push(Box::pin(self.step(record)));
        }
        let steps: Vec<Result<ReservationPlan, Cause>> =
            stream::iter(steps).buffered(AT_ONCE).collect().await;
        let units: Vec<Unit> = records
            .iter()
            .zip(&steps)
            .filter_map(|(record, step)| match step {
                Ok(ReservationPlan::Take(name, version)) => {
                    Some(self.unit(record.id, name, *version))
                }
                Ok(ReservationPlan::Stands(_)) | Err(_) => None,
            })
            .collect();
        let wrote = if units.is_empty() { Vec::new() } else { self.store.write(units).await };
        let mut wrote = wrote.into_iter();
        let all = steps.into_iter().map(|step| match step? {
            ReservationPlan::Stands(reservation) => Ok(reservation),
            ReservationPlan::Take(..) => reserved(wrote.next()),
        });
        all.collect()
    }

    /// The row of the receiver is the transfer's from now on, and one more registration is counted.
    fn unit(&self, id: Id, name: &Arc<str>, version: u32) -> Unit {
        let now = self.store.now();
        let (row, today) = (ReceiverRow { by: id, at: now }, Day::of(now));
        let counter: Arc<str> = format!("{COUNTER}{}", today.0).into();
        // the row first: a transfer that comes second waits, whatever is left of the budget
        let guards = vec![
            Guard::Resource { name: name.clone(), version },
            Guard::AtMost { name: counter, n: 1, limit: self.budget },
        ];
        let puts = vec![Put::Resource { name: name.clone(), value: row.value() }];
        Unit { guards, then: Then { puts, ..Then::default() } }
    }

    /// The plan for the registration of a transfer's receiver, by the state of the journal.
    async fn step(&self, record: &Record) -> Result<ReservationPlan, Cause> {
        let Account::Named(receiver) = &record.target().account else {
            return Err(Cause::of("NO_ACCOUNT"));
        };
        let name: Arc<str> = format!("{RECEIVER}{}/{receiver}", self.contract).into();
        let Some(stored) = self.store.resource(name.clone()).await? else {
            return Ok(ReservationPlan::Take(name, 0));
        };
        let row = ReceiverRow::read(&stored.value);
        let row = row.ok_or_else(|| Cause::because("ROW_UNREADABLE", stored.value))?;
        let holder = self.holder(row.by).await?;
        let reservation = row.reservation(record.id, holder, self.store.now());
        Ok(reservation.map_or(ReservationPlan::Take(name, stored.version), ReservationPlan::Stands))
    }

    /// The history of the registration that a transfer had reserved.
    async fn holder(&self, id: Id) -> Result<HolderHistory, Cause> {
        let Some(holder) = self.store.get(vec![id]).await?.pop() else {
            return Ok(HolderHistory::Gone);
        };
        let (registering, registered) = (State::Registering.code(), State::Registered.code());
        let history = self.store.history(id).await?;
        let done = history.iter().map(|linked| &linked.entry);
        let done = done.filter(|one| one.from == Some(registering) && one.to == registered);
        Ok(match done.map(|entry| entry.at).next_back() {
            Some(at) => HolderHistory::Registered(at),
            None if self.flows.table(holder.flow).ends(holder.head.state) => HolderHistory::Ended,
            None => HolderHistory::UnderWay,
        })
    }

    /// The number of signed registrations of each transfer.
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
        for (id, times) in tried.iter_mut().filter(|(_, times)| **times >= MOST_ATTEMPTS) {
            let history = self.store.history(*id).await?;
            let refused = by_contract(history.iter().map(|linked| &linked.entry));
            *times = times.saturating_sub(refused);
        }
        Ok(tried)
    }
}

/// How many registrations landed and failed. The adapter judges these, and refuses a receiver by them where it is to
/// blame: their number says nothing of a receiver, since the contract may be paused or have trouble of its own.
fn by_contract<'a>(entries: impl Iterator<Item = &'a Entry>) -> u128 {
    let registering = State::Registering.code();
    let of_registration =
        entries.filter(|entry| entry.from == Some(registering) && entry.to != registering);
    let failed = of_registration.filter(|entry| {
        let proof = entry.detail.as_deref().and_then(|text| serde_json::from_str(text).ok());
        proof.is_some_and(|proof: Value| proof.pointer("/result/error").is_some())
    });
    failed.fold(0, |count, _| count.saturating_add(1))
}

/// What a reservation's unit says of it. Only a guard that the journal looked at is a refusal.
fn reserved(wrote: Option<Wrote>) -> Result<Reservation, Cause> {
    match wrote {
        Some(Wrote::Written(_)) => Ok(Reservation::Own),
        Some(Wrote::Lost(Guard::AtMost { .. })) => Ok(Reservation::Exhausted),
        Some(Wrote::Lost(Guard::Resource { .. })) => Ok(Reservation::Other),
        Some(Wrote::Lost(_)) => Err(Cause::of("GUARD_LOST")),
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
            let reservations = self.reserve(records).await;
            let allowance = |(record, reservation): (&Record, Result<Reservation, Cause>)| {
                let tried = tried.get(&record.id).copied().unwrap_or(0);
                reservation.map(|reservation| RegistrationAllowance { tried, reservation })
            };
            records.iter().zip(reservations).map(allowance).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(from: State, to: State, detail: &str) -> Entry {
        Entry {
            seq: 0,
            at: 0,
            from: Some(from.code()),
            to: to.code(),
            event: "ERROR".to_owned(),
            caller: None,
            detail: Some(detail.to_owned()),
            agreed: None,
        }
    }

    /// Turns red where ten tries that a contract in trouble refused end a transfer whose receiver was never to blame (run:
    /// only those of a contract that says that it is paused are taken out).
    #[test]
    fn a_registration_that_the_contract_refused_is_not_counted() {
        use State::{NeedsRegistration, Registered, Registering, Submitted};
        let paused = r#"{"result":{"index":0,"error":"{}","paused":true}}"#;
        let refused = r#"{"result":{"index":0,"error":"{}","paused":false}}"#;
        let history = [
            entry(Registering, NeedsRegistration, paused),
            entry(Registering, NeedsRegistration, refused),
            entry(Registering, NeedsRegistration, "VOIDED"),
            entry(Registering, NeedsRegistration, paused),
            entry(Registering, Registered, r#"{"result":"SUCCESS"}"#),
            entry(Submitted, NeedsRegistration, paused),
        ];
        assert_eq!(by_contract(history.iter()), 3);
    }
}
