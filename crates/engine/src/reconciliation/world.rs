//! A small world for the checker's tests: a journal and two ledgers that move on between two reads.

use kernel::accounts::{AccountsOf, NumberedAccount};
use kernel::answer::{Answer, Cause, Evidence};
use kernel::attempt::Attempt;
use kernel::flow::life::{Leg, Place, Side, Step};
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation, StoredOutcome};
use kernel::operators::{Approval, OpenCase, PastAction};
use kernel::ports::Fut;
use kernel::ports::journal::{
    AccountSums, AttemptQueries, Count, Due, DueQuery, KeyRow, Lease, Line, Linked,
    OperatorQueries, OtherLease, Recount, Resource, ServiceQueries, ServiceStatus, Snapshot,
    SnapshotSource, Sums, TransferPage, TransferQueries, UnitWriter, UnmatchedKey, WorkerLeases,
};
use kernel::ports::ledger::{
    AccountStatus, Enlist, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose,
};
use kernel::record::{Account, Party, Record, System};
use kernel::unit::{Unit, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};

pub(super) const FUNDING: LedgerId = LedgerId::FUNDING;
pub(super) const SPOT: LedgerId = LedgerId::SPOT;
pub(super) static FLOWS: LazyLock<Flows> = LazyLock::new(flows::registry);
pub(super) const ASSET: AssetId = AssetId(3);

/// Both sides. Each call of a port lets it move on a little first.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) lines: Vec<Line>,
    pub(super) funding: Totals,
    pub(super) external: i128,
    /// The amount by which Funding's running sum of deposits exceeds its rows.
    pub(super) ahead: i128,
    pub(super) spot: Totals,
    pub(super) spot_log: Vec<Operation>,
    pub(super) silent: bool,
    /// Its operations but for the last are forgotten once its accounts are read.
    pub(super) forgets: bool,
    forgot: bool,
    /// How many more transfers are opened while it moves.
    pub(super) to_open: u64,
    pub(super) dice: u64,
    pub(super) now: Millis,
    /// Up to this number nothing is still being written.
    pub(super) complete: Option<u64>,
    /// What is left of the accounts that are being read.
    reading: Option<Vec<AccountSums>>,
    /// What was moved from one user's balance to another's at Funding, and at Spot.
    pub(super) moved: [i128; 2],
}

impl World {
    /// Each account with what its operations say, and at Funding with its balance.
    fn by_account(&self, ledger: LedgerId, upto: u64) -> Vec<AccountSums> {
        let rows = self.lines.iter().flat_map(|line| &line.operations);
        let all =
            by_user(rows.filter(|(at, op)| *at == ledger && op.seq <= upto).map(|(_, op)| op));
        let row = |(user, sums): (UserId, Sums)| {
            let Sums { withdraw, deposit, settle, refund, external, .. } = sums;
            let available = external + deposit + refund - withdraw + self.moved[0] * way(user);
            let amounts = [available, withdraw - settle - refund];
            let [available, frozen] =
                if ledger == FUNDING { amounts.map(amount) } else { [Amount::ZERO; 2] };
            AccountSums { account: Account::User(user), asset: ASSET, available, frozen, sums }
        };
        all.into_iter().map(row).collect()
    }

    fn spot_holdings(&self, whose: Whose) -> Vec<Holding> {
        let (from, to, limit) = match whose {
            Whose::User(user) => (user.0, user.0, usize::MAX),
            Whose::After(user, limit) => (user + 1, u64::MAX, limit),
        };
        let row = |(user, sums): (UserId, Sums)| {
            let Sums { withdraw, deposit, refund, external, .. } = sums;
            let available = external + deposit + refund - withdraw + self.moved[1] * way(user);
            let (available, frozen) = (amount(available), Amount::ZERO);
            Holding { user, asset: ASSET, available, frozen, status: AccountStatus::Active }
        };
        let all = by_user(self.spot_log.iter()).into_iter();
        all.filter(|(user, _)| (from..=to).contains(&user.0)).take(limit).map(row).collect()
    }

    /// The operations that Spot lists.
    fn listed(&self) -> impl Iterator<Item = &Operation> {
        let forgot = if self.forgot { self.spot_log.len().saturating_sub(1) } else { 0 };
        self.spot_log.iter().skip(forgot)
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % sides
    }

    pub(super) fn bring(&mut self, amount: i128) {
        self.funding.users += amount;
        self.funding.world -= amount;
        self.external += amount;
    }

    pub(super) fn open(&mut self) {
        let n = u64::try_from(self.lines.len()).unwrap() + 1;
        let party = |ledger| Party {
            system: System::Ledger(ledger),
            account: Account::User(UserId(n % 9 + 1)),
            asset: ASSET,
            amount: Amount(u128::from(n) + 10),
        };
        let (source, target) = if n % 2 == 0 { (SPOT, FUNDING) } else { (FUNDING, SPOT) };
        self.lines.push(Line {
            serial: Serial(n),
            id: Id(u128::from(n)),
            flow: FlowId(0),
            state: 0,
            source: party(source),
            target: party(target),
            refund_fee: Amount::ZERO,
            key_row: KeyRow::Keyless,
            operations: Vec::new(),
        });
    }

    /// One durable step of one transfer: a claim, an effect, or a receipt with the state after it.
    fn step(&mut self, n: usize) {
        let flow = &FLOWS.0[0];
        let line = self.lines[n].clone();
        let (act, done, rejected) = match flow.step(line.state) {
            Step::Claim { to } => {
                self.lines[n].state = to;
                return;
            }
            Step::Call { act, done, rejected, .. } => (act, done, rejected),
            Step::Push { act, done, .. } => (act, done, done),
            Step::Decide { .. } | Step::Send { .. } | Step::End => return,
        };
        let row = flow.act(act);
        let party = if row.side == Side::Source { &line.source } else { &line.target };
        let leg = row.leg.unwrap();
        let unlucky = match leg {
            Leg::Withdraw => n.is_multiple_of(7),
            Leg::Deposit => n.is_multiple_of(5),
            Leg::Settle | Leg::Refund | Leg::Move | Leg::Quarantine | Leg::Cost => false,
        };
        let outcome = if unlucky {
            StoredOutcome::Rejected(Evidence::code("NO"))
        } else {
            StoredOutcome::Done
        };
        let op = Op {
            key: Key { id: line.id, leg },
            account: party.account.clone(),
            other: None,
            asset: ASSET,
            amount: line.source.amount,
        };
        let to = if unlucky { rejected } else { done };
        if party.system == System::Ledger(SPOT) {
            let known = self.spot_log.iter().rev().find(|o| o.op.key == op.key).cloned();
            let Some(operation) = known else {
                let seq = u64::try_from(self.spot_log.len()).unwrap() + 1;
                self.post(SPOT, &op, &outcome);
                self.spot_log.push(Operation { seq, op, outcome });
                return;
            };
            self.lines[n].operations.push((SPOT, operation));
        } else {
            self.post(FUNDING, &op, &outcome);
            self.lines[n].operations.push((FUNDING, Operation { seq: 1, op, outcome }));
        }
        self.lines[n].state = to;
        if flow.state(to).money == Place::AtTarget && line.source.system == System::Ledger(FUNDING)
        {
            let account = line.source.account.clone();
            let key = Key { id: line.id, leg: Leg::Settle };
            let op = Op { key, account, other: None, asset: ASSET, amount: line.source.amount };
            self.post(FUNDING, &op, &StoredOutcome::Done);
            let settle = Operation { seq: 1, op, outcome: StoredOutcome::Done };
            self.lines[n].operations.push((FUNDING, settle));
        }
    }

    pub(super) fn post(&mut self, ledger: LedgerId, op: &Op, outcome: &StoredOutcome) {
        if *outcome != StoredOutcome::Done {
            return;
        }
        let amount = op.amount.signed().unwrap();
        let holds = ledger == FUNDING;
        let books = if holds { &mut self.funding } else { &mut self.spot };
        let Totals { users, frozen, clearing, .. } = books;
        let (from, to) = match op.key.leg {
            Leg::Withdraw if holds => (users, frozen),
            Leg::Withdraw => (users, clearing),
            Leg::Settle => (frozen, clearing),
            Leg::Refund if holds => (frozen, users),
            Leg::Deposit | Leg::Refund | Leg::Move | Leg::Quarantine | Leg::Cost => {
                (clearing, users)
            }
        };
        *from -= amount;
        *to += amount;
    }

    /// Something happens between two reads.
    fn live(&mut self) {
        for _ in 0..self.roll(12) {
            if self.to_open > 0 && self.roll(4) == 0 {
                self.to_open -= 1;
                self.open();
            }
            if !self.lines.is_empty() {
                let n = self.roll(u64::try_from(self.lines.len()).unwrap());
                self.step(usize::try_from(n).unwrap());
            }
        }
    }

    pub(super) fn settle(&mut self) {
        for n in 0..self.lines.len() {
            (0..12).for_each(|_| self.step(n));
        }
    }

    pub(super) fn spot_line(&mut self, leg: Leg) -> &mut Operation {
        let rows = self.lines.iter_mut().flat_map(|line| &mut line.operations);
        rows.filter(|(at, op)| {
            *at == SPOT && op.op.key.leg == leg && op.outcome == StoredOutcome::Done
        })
        .map(|(_, op)| op)
        .next()
        .unwrap()
    }
}

/// What each user brought to each ledger before anything else.
const CREDIT: i128 = 1_000_000;

fn amount(n: i128) -> Amount {
    Amount(u128::try_from(n).unwrap())
}

/// What was moved came from user 2 to user 1.
fn way(user: UserId) -> i128 {
    i128::from(user.0 == 1) - i128::from(user.0 == 2)
}

/// What the operations of each user add up to.
fn by_user<'o>(operations: impl Iterator<Item = &'o Operation>) -> BTreeMap<UserId, Sums> {
    let credit = Sums { external: CREDIT, ..Sums::default() };
    let mut all: BTreeMap<_, _> = (1..=9).map(|user| (UserId(user), credit)).collect();
    for operation in operations.filter(|operation| operation.outcome == StoredOutcome::Done) {
        let Account::User(user) = operation.op.account else { continue };
        let of = all.entry(user).or_insert(credit);
        *of = kernel::reconcile::counted(*of, operation).unwrap();
    }
    all
}

#[derive(Clone, Default)]
pub(super) struct Fake(pub(super) Arc<Mutex<World>>);

impl Fake {
    fn advanced_copy(&self) -> World {
        let mut world = self.0.lock().unwrap();
        world.live();
        world.clone()
    }
}

fn ready<T: Send + 'static>(value: T) -> Fut<'static, T> {
    Box::pin(std::future::ready(value))
}

fn none<T: Send + 'static>() -> Fut<'static, Result<T, Cause>> {
    ready(Err(Cause::of("NOT_ASKED")))
}

impl Snapshot for World {
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>> {
        assert_eq!(ledger, FUNDING);
        ready(Ok(vec![(ASSET, self.funding)]))
    }
    fn sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
    ) -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>> {
        let external = if ledger == FUNDING { self.external } else { 0 };
        let rows = self.lines.iter().flat_map(|line| &line.operations);
        let rows = rows.filter(|(at, op)| *at == ledger && op.seq <= upto);
        let deposit = if ledger == FUNDING { self.ahead } else { 0 };
        let sums = rows.fold(Sums { external, deposit, ..Sums::default() }, |sums, (_, op)| {
            kernel::reconcile::counted(sums, op).unwrap()
        });
        ready(Ok(vec![(ASSET, sums)]))
    }
    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>> {
        let rows = self.lines.iter().flat_map(|line| &line.operations);
        let own = rows.filter(|(at, op)| *at == ledger && op.seq > after);
        let mut found: Vec<Operation> = own.map(|(_, operation)| operation.clone()).collect();
        found.sort_by_key(|operation| operation.seq);
        found.truncate(limit);
        ready(Ok(found))
    }
    fn unmatched_keys(&mut self, _: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>> {
        ready(Ok(Vec::new()))
    }
    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>> {
        let rows = self.lines.iter().flat_map(|line| &line.operations);
        let of = |ledger, external| {
            let own = rows.clone().filter(|(at, _)| *at == ledger);
            let sums = own.fold(Sums { external, ..Sums::default() }, |sums, (_, op)| {
                kernel::reconcile::counted(sums, op).unwrap()
            });
            (ledger, ASSET, sums)
        };
        ready(Ok(vec![of(FUNDING, self.external), of(SPOT, 0)]))
    }
    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>> {
        let mut all = self.reading.take().unwrap_or_else(|| self.by_account(ledger, upto));
        let rest = all.split_off(if limit < all.len() { limit } else { all.len() });
        self.reading = (!all.is_empty()).then_some(rest);
        ready(Ok(all))
    }
    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>> {
        let last = self.lines.last().map_or(0, |line| line.serial.0);
        ready(Ok(Serial(self.complete.unwrap_or(last))))
    }
    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>> {
        let page = self.lines.iter().filter(|line| line.serial > after).take(limit);
        ready(Ok(page.cloned().collect()))
    }
    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>> {
        assert!(keys.len() <= super::PAGE, "memory is bounded");
        let ids: BTreeSet<Id> = keys.iter().map(|key| key.id).collect();
        let at = |id: &Id| self.lines.binary_search_by_key(id, |line| line.id).ok();
        ready(Ok(ids.iter().filter_map(at).map(|n| self.lines[n].clone()).collect()))
    }

    fn resources(&mut self, _: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        ready(Ok(Vec::new()))
    }

    fn counters(&mut self, _: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>> {
        ready(Ok(BTreeMap::new()))
    }
}

#[rustfmt::skip]
impl UnitWriter for Fake {
    fn now(&self) -> Millis { self.0.lock().unwrap().now }
    fn ahead(&self) -> Millis {
        0
    }
    fn write(&self, _: Vec<Unit>) -> Fut<'_, Vec<Wrote>> { ready(Vec::new()) }
}

#[rustfmt::skip]
impl TransferQueries for Fake {
    fn get(&self, _: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> { none() }
    fn find_by_idempotency_key(&self, _: FlowId, _: Arc<str>, _: Arc<str>) -> Fut<'_, Result<Option<Record>, Cause>> { none() }
    fn history(&self, _: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> { none() }
    fn open_below(&self, _: Id) -> Fut<'_, Result<Vec<Id>, Cause>> { none() }
    fn open_of(&self, _: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> { none() }
    fn open_older_than(&self, _: Millis, _: usize) -> Fut<'_, Result<Vec<Record>, Cause>> { none() }
    fn before_time(&self, _: Millis) -> Fut<'_, Result<Serial, Cause>> { none() }
    fn transfers_after(&self, _: Serial, _: Option<FlowId>, _: usize) -> Fut<'_, Result<TransferPage, Cause>> { none() }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> { none() }
}

#[rustfmt::skip]
impl WorkerLeases for Fake {
    fn due(&self, _: WorkerId, _: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>> { none() }
    fn renew_lease(&self, _: WorkerId, _: Millis, _: Option<u64>) -> Fut<'_, Result<Lease, Cause>> { none() }
    fn end_lease(&self, _: WorkerId) -> Fut<'_, Result<(), Cause>> { none() }
    fn other_leases(&self, _: WorkerId) -> Fut<'_, Result<Vec<OtherLease>, Cause>> { none() }
}

#[rustfmt::skip]
impl AttemptQueries for Fake {
    fn attempts_of(&self, _: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>> { none() }
    fn open_attempts(&self, _: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>> { none() }
    fn attempts_of_lane(&self, _: ChainId, _: Arc<str>, _: usize) -> Fut<'_, Result<Vec<Attempt>, Cause>> { none() }
    fn attempt_of_form(&self, _: ChainId, _: Arc<[u8]>) -> Fut<'_, Result<Option<Attempt>, Cause>> { none() }
}

#[rustfmt::skip]
impl OperatorQueries for Fake {
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>> { none() }
    fn past_action(&self, _: Arc<str>, _: Arc<str>) -> Fut<'_, Result<Option<PastAction>, Cause>> { none() }
    fn actions_on(&self, _: &'static str, _: Arc<str>) -> Fut<'_, Result<Vec<PastAction>, Cause>> { none() }
    fn resumes(&self) -> Fut<'_, Result<Vec<PastAction>, Cause>> { none() }
    fn approval(&self, _: Id) -> Fut<'_, Result<Option<Approval>, Cause>> { none() }
    fn pending_approvals(&self) -> Fut<'_, Result<Vec<Approval>, Cause>> { none() }
    fn numbered_accounts(&self, _: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>> { none() }
}

#[rustfmt::skip]
impl ServiceQueries for Fake {
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>> { ready(Ok(ServiceStatus::default())) }
    fn resource(&self, _: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>> { none() }
    fn resources(&self, _: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> { none() }
    fn counter(&self, _: Arc<str>) -> Fut<'_, Result<u128, Cause>> { none() }
    fn daily_usage(&self, _: UserId, _: Day, _: AssetId) -> Fut<'_, Result<DailyUsage, Cause>> { none() }
}

#[rustfmt::skip]
impl SnapshotSource for Fake {
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> { ready(Ok(Box::new(self.advanced_copy()))) }
}

/// Funding where it is enlisted, else Spot.
pub(super) struct FakeLedger(pub(super) Fake, pub(super) Option<Holds>);
pub(super) struct Holds;

impl Enlist for Holds {
    fn holds(&self) -> bool {
        true
    }
}

impl FakeLedger {
    fn forget(&self) {
        let mut world = self.0.0.lock().unwrap();
        world.forgot |= world.forgets;
    }

    fn say<T: Send + 'static>(&self, answer: impl Fn(&World) -> T) -> Fut<'static, Reply<T>> {
        let mut world = self.0.0.lock().unwrap();
        world.live();
        if world.silent {
            return ready(Reply::NoAnswer(Cause::of("TIMEOUT")));
        }
        let highest = world.spot_log.last().map_or(0, |o| o.seq);
        let known = Known { identity: Identity(1), incarnation: Incarnation(1), highest };
        ready(Reply::Answered(known, answer(&world)))
    }
}

#[rustfmt::skip]
impl Ledger for FakeLedger {
    fn id(&self) -> LedgerId { if self.1.is_some() { FUNDING } else { SPOT } }
    fn enlist(&self) -> Option<&dyn Enlist> { match &self.1 { Some(holds) => Some(holds), None => None } }
    fn hello(&self) -> Fut<'_, Reply<()>> { self.say(|_| ()) }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> { self.say(|world| vec![(ASSET, world.spot)]) }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.say(|world| world.listed().filter(|o| o.seq > after).take(limit).cloned().collect())
    }
    fn execute(&self, _: Known, _: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> { self.say(|_| Vec::new()) }
    fn query(&self, _: Known, _: Key) -> Fut<'_, Reply<Stored>> { self.say(|_| Stored::Nothing) }
    fn fence(&self, _: Known, _: Key) -> Fut<'_, Reply<Stored>> { self.say(|_| Stored::Nothing) }
    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> { self.say(|_| ()) }
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> { self.forget(); self.say(|world| world.spot_holdings(whose)) }
    fn status(&self, _: Known, _: StatusChange) -> Fut<'_, Reply<bool>> { self.say(|_| false) }
}
