//! Limits what registrations of receivers cost on a day. Each is reserved in the journal before it may be signed:
//! as a row of its receiver that names one transfer, and by its price in two counters of the day for all processes, one
//! of its caller and one of all. A reservation outlives its process, and is not counted again.

use super::receiver_row::{HolderHistory, ReceiverRow};
use crate::link_context::LinkContext;
use crate::open_store::Store;
use flows::relay::State;
use flows::relay::rules::MOST_ATTEMPTS;
use futures_util::stream::{self, StreamExt as _};
use kernel::answer::Cause;
use kernel::audit::Entry;
use kernel::flow::life::Word as _;
use kernel::flow::table::Flows;
use kernel::ids::{Day, Id, Millis};
use kernel::ports::Fut;
use kernel::record::{Account, Record};
use kernel::unit::{Guard, Put, Then, Unit, Wrote};
use links::near::{
    RegistrationAllowance, RegistrationLimit, RegistrationLimits, RegistrationRequest, Reservation,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The counter of what a day's registrations cost, in yoctoNEAR; its number follows.
const COUNTER: &str = "relay/registration_cost/";
/// The counter of what those of one caller cost; the day's number and the caller follow.
const CALLER_COUNTER: &str = "relay/registration_cost_of/";
/// The row of a receiver; the token's contract and its name follow.
const RECEIVER: &str = "relay/receiver/";
/// The number of rows that are read at once.
const AT_ONCE: usize = 16;

/// What registrations may cost, and for how long a transfer waits beyond that.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegistrationBudget {
    /// The most on one day in UTC, in yoctoNEAR.
    pub per_day: u128,
    /// The most of it for the transfers of one caller.
    pub per_caller: u128,
    /// The longest wait of a transfer for its registration, in milliseconds.
    pub waits_for: Millis,
}

/// What registrations may cost, and how often each was tried, by the journal.
pub(super) struct Registrations {
    store: Arc<dyn Store>,
    flows: Arc<Flows>,
    /// The account of the token's contract.
    contract: Arc<str>,
    budget: RegistrationBudget,
}

/// The plan of a reservation before anything is written.
enum ReservationPlan {
    /// Nothing is written: the journal has said it before.
    Stands(Reservation),
    /// The receiver's row, of this version, is taken for the transfer.
    Take(Arc<str>, u32),
}

impl Registrations {
    /// Registrations at a token's contract, within a budget.
    pub(super) fn new(
        context: &LinkContext<'_>,
        contract: &str,
        budget: RegistrationBudget,
    ) -> Self {
        let LinkContext { store, flows, .. } = context;
        let (store, flows) = (Arc::clone(store), Arc::clone(flows));
        Self { store, flows, contract: contract.into(), budget }
    }

    /// Reserves the registration of the receiver of each transfer, unless it is reserved.
    async fn reserve(&self, requests: &[RegistrationRequest]) -> Vec<Result<Reservation, Cause>> {
        let mut steps: Vec<Fut<'_, _>> = Vec::with_capacity(requests.len());
        for request in requests {
            steps.push(Box::pin(self.step(&request.record)));
        }
        let steps: Vec<Result<ReservationPlan, Cause>> =
            stream::iter(steps).buffered(AT_ONCE).collect().await;
        let units: Vec<Unit> = requests
            .iter()
            .zip(&steps)
            .filter_map(|(request, step)| match step {
                Ok(ReservationPlan::Take(name, version)) => {
                    Some(self.unit(request, name, *version))
                }
                Ok(ReservationPlan::Stands(_)) | Err(_) => None,
            })
            .collect();
        let wrote = if units.is_empty() { Vec::new() } else { self.store.write(units).await };
        let mut wrote = wrote.into_iter();
        let mut all = Vec::with_capacity(requests.len());
        for (request, step) in requests.iter().zip(steps) {
            all.push(match step {
                Err(cause) => Err(cause),
                Ok(ReservationPlan::Stands(reservation)) => Ok(reservation),
                Ok(ReservationPlan::Take(..)) => match reserved(wrote.next()) {
                    Ok(WriteOutcome::Stands(reservation)) => Ok(reservation),
                    Ok(WriteOutcome::Exhausted(limit)) => {
                        let waited_out = self.has_waited_out(&request.record).await;
                        waited_out.map(|waited_out| Reservation::Exhausted { limit, waited_out })
                    }
                    Err(cause) => Err(cause),
                },
            });
        }
        all
    }

    /// The row of the receiver is the transfer's from now on, and its price is counted.
    fn unit(&self, request: &RegistrationRequest, name: &Arc<str>, version: u32) -> Unit {
        let RegistrationRequest { record, price } = request;
        let now = self.store.now();
        let (row, today) = (ReceiverRow { by: record.id, at: now }, Day::of(self.store.clock()));
        let of_caller = format!("{CALLER_COUNTER}{}/{}", today.0, record.terms.owner).into();
        let of_all = format!("{COUNTER}{}", today.0).into();
        // the row first: a transfer that comes second waits, whatever is left of the budget
        let guards = vec![
            Guard::Resource { name: name.clone(), version },
            Guard::AtMost { name: of_caller, n: *price, limit: self.budget.per_caller },
            Guard::AtMost { name: of_all, n: *price, limit: self.budget.per_day },
        ];
        let puts = vec![Put::Resource { name: name.clone(), value: row.value() }];
        Unit { guards, then: Then { puts, ..Then::default() } }
    }

    /// Whether a transfer has needed its registration for as long as one waits beyond the budget.
    async fn has_waited_out(&self, record: &Record) -> Result<bool, Cause> {
        let has_lasted = |since| self.store.now().saturating_sub(since) >= self.budget.waits_for;
        if !has_lasted(record.created_at) {
            return Ok(false);
        }
        // it was held back before by something else, perhaps: it waits since it came here
        let (needs, history) =
            (State::NeedsRegistration.code(), self.store.history(record.id).await?);
        let came = history.iter().rev().map(|linked| &linked.entry);
        let mut came = came.filter(|entry| entry.to == needs && entry.from != Some(needs));
        Ok(has_lasted(came.next().map_or(record.created_at, |entry| entry.at)))
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
    async fn tried(&self, requests: &[RegistrationRequest]) -> Result<BTreeMap<Id, u128>, Cause> {
        let ids: Vec<Id> = requests.iter().map(|request| request.record.id).collect();
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

/// What a reservation's unit says of it.
enum WriteOutcome {
    Stands(Reservation),
    /// It is not reserved: this limit is used up today.
    Exhausted(RegistrationLimit),
}

/// What a reservation's unit says of it. Only a guard that the journal looked at is a refusal.
fn reserved(wrote: Option<Wrote>) -> Result<WriteOutcome, Cause> {
    match wrote {
        Some(Wrote::Written(_)) => Ok(WriteOutcome::Stands(Reservation::Own)),
        Some(Wrote::Lost(Guard::AtMost { name, .. })) => {
            let of_caller = name.starts_with(CALLER_COUNTER);
            let limit =
                if of_caller { RegistrationLimit::CallerShare } else { RegistrationLimit::Budget };
            Ok(WriteOutcome::Exhausted(limit))
        }
        Some(Wrote::Lost(Guard::Resource { .. })) => Ok(WriteOutcome::Stands(Reservation::Other)),
        Some(Wrote::Lost(_)) => Err(Cause::of("GUARD_LOST")),
        Some(Wrote::Full) => Err(Cause::of("DISK_FULL")),
        Some(Wrote::Refused(refusal)) => Err(refusal.into_cause()),
        Some(Wrote::Unknown(cause)) => Err(cause),
        None => Err(Cause::of("NO_ANSWER")),
    }
}

impl RegistrationLimits for Registrations {
    fn allowances<'a>(
        &'a self,
        requests: &'a [RegistrationRequest],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>> {
        Box::pin(async move {
            let tried = match self.tried(requests).await {
                Ok(tried) => tried,
                Err(cause) => return vec![Err(cause); requests.len()],
            };
            let reservations = self.reserve(requests).await;
            let allowance = |(request, reservation): (&RegistrationRequest, Result<_, Cause>)| {
                let tried = tried.get(&request.record.id).copied().unwrap_or(0);
                reservation.map(|reservation| RegistrationAllowance { tried, reservation })
            };
            requests.iter().zip(reservations).map(allowance).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::{AssetId, ChainId, FlowId};
    use kernel::money::Amount;
    use kernel::owner::TransferOwner;
    use kernel::ports::meter::NoMeter;
    use kernel::record::{Head, Party, System, Terms};
    use std::path::Path;
    use std::time::Duration;
    use store::sqlite::{Embedded, OpenError, Options};
    use testkit::ManualClock;

    const DAY: Millis = 86_400_000;
    const PRICE: u128 = 10;
    const BUDGET: RegistrationBudget =
        RegistrationBudget { per_day: 100, per_caller: 60, waits_for: DAY };

    /// The registrations of a process that begins.
    fn process(dir: &Path, clock: &ManualClock) -> Registrations {
        let flows = Arc::new(flows::registry());
        let opened = testbed::until(Duration::from_secs(60), || {
            let options = Options {
                dir: dir.to_owned(),
                flows: Arc::clone(&flows),
                clock: Arc::new(clock.clone()),
                meter: Arc::new(NoMeter),
                fatal: Arc::new(|what| panic!("the store gave up: {what}")),
                max_bytes: None,
            };
            match Embedded::open(options) {
                Err(OpenError::Locked(_)) => None,
                other => Some(other),
            }
        });
        let store = opened.expect("the folder stays locked").expect("a store");
        Registrations { store, flows, contract: "usdc.near".into(), budget: BUDGET }
    }

    /// A transfer of a caller to a receiver of that number, opened at a time.
    fn request(caller: &str, n: u128, at: Millis) -> RegistrationRequest {
        let party = |account: String| Party {
            system: System::Chain(ChainId::NEAR),
            account: Account::Named(account.into()),
            asset: AssetId(1),
            amount: Amount(1),
        };
        let owner = TransferOwner::Principal(caller.into());
        let (from, to) = (party("relay.near".to_owned()), party(format!("r{n}.near")));
        let terms = Arc::new(Terms::between(caller.into(), owner, from, to));
        let mut record = Record::new(Id(n), FlowId(2), Head::start(0), terms);
        record.created_at = at;
        RegistrationRequest { record, price: PRICE }
    }

    fn requests(caller: &str, numbers: std::ops::Range<u128>) -> Vec<RegistrationRequest> {
        numbers.map(|n| request(caller, n, 0)).collect()
    }

    async fn reserved(
        registrations: &Registrations,
        requests: &[RegistrationRequest],
    ) -> Vec<Reservation> {
        let all = registrations.allowances(requests).await.into_iter();
        all.map(|allowance| allowance.expect("the journal answers").reservation).collect()
    }

    fn exhausted(limit: RegistrationLimit) -> Reservation {
        Reservation::Exhausted { limit, waited_out: false }
    }

    /// Turns red where one caller uses up the day of all others (run: without the guard of the caller's counter), where a
    /// start or a second worker counts anew, where more than the day's budget is spent, and where midnight in UTC gives
    /// no new budget.
    #[tokio::test]
    async fn one_caller_leaves_the_others_their_share_of_a_day() {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::at(DAY - 10);
        let first = process(dir.path(), &clock);
        let second = Registrations {
            store: Arc::clone(&first.store),
            flows: Arc::clone(&first.flows),
            contract: Arc::clone(&first.contract),
            budget: BUDGET,
        };
        let share = exhausted(RegistrationLimit::CallerShare);
        let mallory = reserved(&first, &requests("it|mallory", 0..4)).await;
        assert_eq!(mallory, [Reservation::Own; 4]);
        let mallory = reserved(&second, &requests("it|mallory", 10..13)).await;
        assert_eq!(mallory, [Reservation::Own, Reservation::Own, share]);
        let payouts = reserved(&first, &requests("it|payouts", 20..23)).await;
        assert_eq!(payouts, [Reservation::Own; 3]);
        drop((first, second));
        let again = process(dir.path(), &clock);
        assert_eq!(reserved(&again, &requests("it|mallory", 30..31)).await, [share]);
        let payouts = reserved(&again, &requests("it|payouts", 40..42)).await;
        assert_eq!(payouts, [Reservation::Own, exhausted(RegistrationLimit::Budget)]);
        clock.set(DAY);
        assert_eq!(reserved(&again, &requests("it|mallory", 12..13)).await, [Reservation::Own]);
    }

    /// Turns red where a transfer beyond the budget fails at once, and where it waits for ever (run: the answer is always
    /// one of the two).
    #[tokio::test]
    async fn a_transfer_waits_beyond_the_budget_for_a_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::at(DAY);
        let registrations = process(dir.path(), &clock);
        let limit = RegistrationLimit::CallerShare;
        let dear = |n| RegistrationRequest { price: 61, ..request("it|payouts", n, DAY) };
        for (after, waited_out) in [(0, false), (DAY - 1, false), (1, true)] {
            clock.forward(after);
            let found = reserved(&registrations, &[dear(1)]).await;
            assert_eq!(found, [Reservation::Exhausted { limit, waited_out }]);
        }
    }

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
