//! The store of transfers.

use super::Fut;
use super::ledger::Totals;
use crate::accounts::{AccountsOf, NumberedAccount};
use crate::answer::Cause;
use crate::attempt::Attempt;
use crate::audit::{Entry, Hash};
use crate::flow::table::S;
use crate::ids::{AssetId, ChainId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use crate::limits::DailyUsage;
use crate::money::{Amount, Asset};
use crate::operation::{Identity, Key, Known, Operation};
use crate::operators::{Accepted, Approval, OpenCase, PastAction, Paused};
use crate::record::{Account, Party, Record};
use crate::unit::{Unit, Wrote};
use std::sync::Arc;

/// Something whose time has come.
#[derive(Debug, Clone)]
pub enum Due {
    /// A transfer to be carried on.
    Transfer(Record),
    /// A transfer whose owner died holding it: it runs alone.
    Orphan(Record),
    /// An attempt to be looked at: its time has come, or its owner died holding it. Members of an open
    /// attempt do not come on their own.
    Attempt(Attempt),
}

/// A named value that units compare and swap: a key, a cursor, a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The name of the row.
    pub name: Arc<str>,
    /// Raised by every put; the first is 1.
    pub version: u32,
    /// What the last put said.
    pub value: Arc<str>,
}

/// Which due work a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueQuery {
    /// The flows that the worker carries: what belongs to another flow stays as it is, for a worker
    /// that asks for it.
    pub flows: Arc<[FlowId]>,
    /// The most that is given at once.
    pub limit: usize,
}

/// What stands in the journal besides transfers.
#[derive(Debug, Clone, Default)]
pub struct ServiceStatus {
    /// Why no money moves, where it does not.
    pub halted: Option<Arc<str>>,
    /// What stands until a person resumes it.
    pub paused: Vec<Paused>,
    /// Breaks of conservation that were accepted.
    pub accepted: Vec<Accepted>,
    /// Every asset, in whatever status.
    pub assets: Vec<Asset>,
    /// The version of the resource `assets`: how often they changed.
    pub assets_version: u32,
    /// The ledgers outside the journal's database that it met.
    pub ledgers: Vec<(LedgerId, Known)>,
    /// Results at or below it are forgotten.
    pub horizon: Option<Id>,
    /// The number of the last halt; 0 before the first one. It rises with each, also where one stands.
    pub halts: u64,
    /// How far conservation was proven, as a checker stored it under the resource `proven`.
    pub proven: Option<Arc<str>>,
    /// Who owns the cores that run inside a process.
    pub owners: Vec<Owner>,
    /// The workers whose leases end; empty where one process has the journal for itself.
    pub workers: Vec<WorkerId>,
}

impl ServiceStatus {
    /// Who the journal takes a ledger for, where it met it.
    pub fn ledger(&self, id: LedgerId) -> Option<Known> {
        self.ledgers.iter().find(|(known, _)| *known == id).map(|(_, known)| *known)
    }
}

/// The worker in whose process a ledger's core runs (`ledgers.md` §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The ledger whose core is owned.
    pub ledger: LedgerId,
    /// How often it was taken over: what guards the owner's units.
    pub epoch: u64,
    /// Who took it over last.
    pub worker: WorkerId,
    /// The identity that it had then.
    pub identity: Identity,
    /// That worker has a lease.
    pub lives: bool,
}

/// A worker's lease, as it was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// There was none any more: others may have taken what this worker held. It goes on (each write
    /// is a compare-and-swap), and is not told twice.
    pub lost: bool,
    /// It runs out where it is not renewed. False where the store has one owner for as long as the
    /// process lives.
    pub ends: bool,
}

/// One entry of a history, with its place in the hash chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The entry of the history.
    pub entry: Entry,
    /// The hash of the entry before.
    pub prev: Hash,
    /// The hash of this one.
    pub hash: Hash,
}

/// How many transfers stand where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The flow that the transfers belong to, which this binary knows.
    pub flow: FlowId,
    /// The state in which they stand.
    pub state: S,
    /// The number of open transfers in it.
    pub transfers: u64,
    /// When the oldest of them was opened.
    pub oldest: Millis,
}

/// What became of a unit, or where that is told.
#[expect(missing_debug_implementations, reason = "a future has none")]
pub enum Writing {
    /// The write has ended, with this outcome.
    Over(Wrote),
    /// It waits for a row that another session has locked.
    Waits(Fut<'static, Wrote>),
}

/// The journal. A unit is all or nothing; a group of units is only a speed-up.
pub trait Journal: Send + Sync {
    /// The journal's time: `max(clock, last written)`.
    fn now(&self) -> Millis;
    /// Independent units; one answer each, in order. An answer is given when it is durable.
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>>;
    /// The same, without waiting for those among them that wait for another session.
    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(async move { self.write(units).await.into_iter().map(Writing::Over).collect() })
    }
    /// Transfers by id, in no order; unknown ids are left out.
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// Numbered accounts, in the order of their numbers.
    fn numbered_accounts(&self, of: AccountsOf) -> Fut<'_, Result<Vec<NumberedAccount>, Cause>>;
    /// The transfer that a client's key is bound to.
    fn find_by_idempotency_key(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>>;
    /// A transfer's history, oldest first; that of `Id(0)` is what operators did.
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>>;
    /// Open transfers and attempts whose time has come and that no other live worker holds, leased
    /// to `worker` from now on, the fewest deaths first: of the flows that the query
    /// names, and no more than its limit. The rest is neither leased nor written.
    ///
    /// An attempt is held as a transfer is, by the worker that made it, was given it here, or put a head
    /// of it with [`Hold::Mine`]; what a dead worker held comes as [`Due::Attempt`], at its time where
    /// one had been put. A member of an open attempt is not given to any worker: it comes with its
    /// attempt. Where its attempt closes, the heads of the same unit say who has it.
    ///
    /// What a worker opened, was given here, or put a head of with [`Hold::Mine`], it holds from then
    /// on, whichever worker held it before. A worker lives while its lease does ([`Journal::renew_lease`]). What a dead one held comes as
    /// [`Due::Orphan`], or as [`Due::Transfer`] where a time had been put for it; what one held that
    /// left comes as [`Due::Transfer`]. What `worker` keeps in its own heap ([`Hold::Mine`]) comes
    /// to it only when it is some seconds too late. A transfer may come that this worker holds
    /// already, since it lost its lease or forgot it: the engine starts none twice. Leases only save
    /// work: a worker that lost its own without noticing goes on safely, since every write is a
    /// compare-and-swap on (id, state, version).
    ///
    /// [`Hold::Mine`]: crate::unit::Hold::Mine
    fn due(&self, worker: WorkerId, query: DueQuery) -> Fut<'_, Result<Vec<Due>, Cause>>;
    /// Renews a worker's lease: it lives for `length` from now, by the journal's time; the first
    /// renewal begins it. A lease that ends later than `length` from now has run out too: a clock
    /// was set back. `stopped` is the number of a HALT ([`ServiceStatus::halts`]) that this worker obeys:
    /// it begins nothing any more, and whatever it had begun has ended.
    ///
    /// A store that is shared is opened with the same worker, which is drawn at the start of each
    /// process and never again.
    fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Fut<'_, Result<Lease, Cause>>;
    /// A clean stop: the lease ends, and what the worker held is free for every worker at once.
    fn end_lease(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>>;
    /// Live workers but this one that have not said yet that they obey the HALT that stands; none
    /// where none stands.
    fn workers_not_halted(&self, worker: WorkerId) -> Fut<'_, Result<Vec<WorkerId>, Cause>>;
    /// Open transfers at or below an id: those whose results a ledger must keep.
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>>;
    /// A user's open transfers, for what is in flight.
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// Open transfers by flow and state.
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>>;
    /// Open transfers that were opened at or before a time, the oldest first, at most `limit`.
    fn open_older_than(&self, opened: Millis, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>>;
    /// Every case that is open.
    fn open_cases(&self) -> Fut<'_, Result<Vec<OpenCase>, Cause>>;
    /// What (principal, key) did.
    fn past_action(
        &self,
        caller: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<PastAction>, Cause>>;
    /// The approval of this id.
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>>;
    /// The resource of that name; `None` where it was never put.
    fn resource(&self, name: Arc<str>) -> Fut<'_, Result<Option<Resource>, Cause>>;
    /// Resources whose names begin like this, by name.
    fn resources(&self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>>;
    /// Where a counter stands; 0 where it was never raised.
    fn counter(&self, name: Arc<str>) -> Fut<'_, Result<u128, Cause>>;
    /// Every attempt, open and closed, that one of these transfers is a member of, oldest first. Here
    /// and below an attempt comes whole: with its forms, and with all members as they stand now.
    fn attempts_of(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The open attempts on a chain, oldest first, of the flows that this binary knows.
    fn open_attempts(&self, chain: ChainId) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The last attempts of a lane, open and closed, newest first: the first has the highest stored
    /// lock.
    fn attempts_of_lane(
        &self,
        chain: ChainId,
        lane: Arc<str>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Attempt>, Cause>>;
    /// The attempt that has a form of that name.
    fn attempt_of_form(
        &self,
        chain: ChainId,
        name: Arc<[u8]>,
    ) -> Fut<'_, Result<Option<Attempt>, Cause>>;
    /// What a user has moved on a day.
    fn daily_usage(
        &self,
        user: UserId,
        day: Day,
        asset: AssetId,
    ) -> Fut<'_, Result<DailyUsage, Cause>>;
    /// Whether the store can write, as far as it knows without asking; one that is silent is found when
    /// its limit for an answer is over. A worker that cannot write neither renews its lease nor takes
    /// requests.
    ///
    /// # Errors
    /// The cause for which it cannot.
    fn writes(&self) -> Result<(), Cause> {
        Ok(())
    }
    /// The flags of HALT and pauses, the assets and the ledgers.
    fn service_status(&self) -> Fut<'_, Result<ServiceStatus, Cause>>;
    /// One instant of the whole journal.
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>>;
}

/// A transfer beside its operations, as the conservation check reads it.
#[derive(Debug, Clone)]
pub struct Line {
    /// The journal's number of the transfer.
    pub serial: Serial,
    /// The id that its operations are keyed by.
    pub id: Id,
    /// The flow that the transfer belongs to.
    pub flow: FlowId,
    /// The state that the transfer is in.
    pub state: S,
    /// Where the money comes from.
    pub source: Party,
    /// Where the money goes.
    pub target: Party,
    /// What is kept as a fee, in base units of the source's asset.
    pub fee: Amount,
    /// What each ledger answered, as far as it is stored.
    pub operations: Vec<(LedgerId, Operation)>,
}

/// What the stored operations of one ledger add up to, per asset, over the DONE ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// The sum of withdraws, in base units.
    pub withdraw: i128,
    /// The sum of deposits, in base units.
    pub deposit: i128,
    /// The sum of settles, in base units.
    pub settle: i128,
    /// The sum of refunds, in base units.
    pub refund: i128,
    /// From the world less to the world.
    pub external: i128,
    /// Operations of every leg and outcome.
    pub count: u64,
}

/// What all stored operations add up to, by ledger and asset.
pub type Recount = Vec<(LedgerId, AssetId, Sums)>;

/// What the stored operations of one account add up to, in one asset at one ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSums {
    /// The account that is summed.
    pub account: Account,
    /// The asset that is summed.
    pub asset: AssetId,
    /// What the account has available, at an enlisted ledger; 0 where it has no such row.
    pub available: Amount,
    /// What is held of it, at an enlisted ledger.
    pub frozen: Amount,
    /// Over the DONE ones; `count` counts these alone, without external movements.
    pub sums: Sums,
}

/// One instant of the journal's database. Dropping it ends the read transaction.
pub trait Snapshot: Send {
    /// The books of an enlisted ledger, recomputed from its balances.
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>>;
    /// What the operations of a ledger with a number at or below `upto` add up to, by the running
    /// sums that are written with the rows: it costs the same however many rows there are.
    fn sums(&mut self, ledger: LedgerId, upto: u64)
    -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>>;
    /// The stored operations of a ledger with a number above `after`, by number, at most `limit`; such a
    /// number may be there twice where the ledger lost the first one and persons accepted that.
    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>>;
    /// What the operations of every ledger add up to, recomputed from all rows. It may take minutes,
    /// and keeps no writer waiting.
    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>>;
    /// What the DONE operations of a ledger with a number at or below `upto` add up to by account and
    /// asset, external movements among those of the ledger that has them; of an enlisted ledger beside
    /// the balances, and with those that have no operation. The first call begins the reading of all rows, each further one gives the next page, an empty page ends it; no other
    /// ledger's reading is begun before. In order: users by number, then accounts by name; an
    /// account's assets by number. It may take minutes, and keeps no writer waiting.
    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>>;
    /// The highest number up to which this instant has every transfer that ever will have one.
    /// Numbers above it may be in the instant, and lower ones beside them may still be committed:
    /// who reads on behind a number reads no further than this.
    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>>;
    /// Transfers above a number, by number, at most `limit`.
    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>>;
    /// The transfers of these keys; unknown ones are left out.
    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>>;
}
