//! The rules decide a batch of requests against the books; each request also sees what those before it
//! in the batch did.

use super::entry::{Entry, ResultCode};
use super::record::Record;
use crate::spot::core::{AppliedStatus, Core};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op};
use kernel::ports::ledger::{AccountStatus, StatusChange, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A command that may change the books.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Execute(Arc<[Op]>),
    Fence(Key),
    Horizon {
        id: Id,
        open: Arc<[Id]>,
    },
    Status(StatusChange),
    /// The number of a HALT.
    Halt(u64),
}

/// A command, and what its sender knew of the ledger.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) known: Known,
    /// The number of the last HALT that the sender of operations followed; `None`: the core is in its process.
    pub(crate) halt: Option<u64>,
    pub(crate) command: Command,
}

/// The reply to a request, which is sent once the batch is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CoreReply {
    Answers(Vec<Answer>),
    Stored(Stored),
    Horizon,
    Status(bool),
    /// The highest number of a HALT that the ledger was told of.
    Halt(u64),
    /// The sender means another ledger; nothing was executed.
    Wrong,
    /// The sender does not know of the HALT of this number; nothing was executed.
    StaleHalt(u64),
    /// No answer that counts; nothing was executed.
    Nothing(Cause),
}

/// The decision of a batch.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    pub(crate) records: Vec<Record>,
    /// One for each request, in order.
    pub(crate) replies: Vec<CoreReply>,
}

impl Core {
    /// Decides a batch. Changes nothing: the records must be durable before they are applied and
    /// before any of the replies is given.
    pub(crate) fn decide<'a>(&self, batch: impl IntoIterator<Item = &'a Request>) -> Decided {
        let mut draft = Draft::new(self);
        let replies = batch.into_iter().map(|request| draft.request(request)).collect();
        Decided { records: draft.records, replies }
    }

    /// Why a key cannot be looked up: its result, if there was one, is forgotten.
    pub(crate) fn forgotten(&self, id: Id) -> bool {
        self.horizon.is_some_and(|horizon| id <= horizon) && !self.open.contains(&id)
    }

    /// True where a request names another ledger, or a state that this ledger has not reached.
    pub(crate) fn stranger(&self, known: Known) -> bool {
        let own = self.known();
        (known.identity, known.incarnation) != (own.identity, own.incarnation)
            || known.highest > own.highest
    }
}

/// The books with the batch so far laid over them.
struct Draft<'a> {
    core: &'a Core,
    sequence: u64,
    results: BTreeMap<Key, (u64, Entry)>,
    available: BTreeMap<(UserId, AssetId), Amount>,
    statuses: BTreeMap<UserId, AccountStatus>,
    clearing: BTreeMap<AssetId, i128>,
    keys: BTreeMap<Arc<str>, AppliedStatus>,
    horizon: Option<(Id, BTreeSet<Id>)>,
    halt: u64,
    records: Vec<Record>,
}

impl<'a> Draft<'a> {
    const fn new(core: &'a Core) -> Self {
        Self {
            core,
            sequence: core.sequence,
            results: BTreeMap::new(),
            available: BTreeMap::new(),
            statuses: BTreeMap::new(),
            clearing: BTreeMap::new(),
            keys: BTreeMap::new(),
            horizon: None,
            halt: core.halt,
            records: Vec::new(),
        }
    }

    fn request(&mut self, request: &Request) -> CoreReply {
        if self.core.stranger(request.known) {
            return CoreReply::Wrong;
        }
        match &request.command {
            Command::Execute(_) if request.halt.is_some_and(|number| number < self.halt) => {
                CoreReply::StaleHalt(self.halt)
            }
            Command::Execute(ops) => CoreReply::Answers(ops.iter().map(|op| self.op(op)).collect()),
            Command::Halt(number) => self.note_halt(*number),
            Command::Fence(key) => self.fence(*key),
            Command::Horizon { id, open } => self.raise(*id, open),
            Command::Status(change) => self.status(change),
        }
    }

    /// From here on, in this batch too, operations of senders that know a lower number are not executed.
    fn note_halt(&mut self, number: u64) -> CoreReply {
        if number > self.halt {
            self.halt = number;
            self.records.push(Record::Halt(number));
        }
        CoreReply::Halt(self.halt)
    }

    fn op(&mut self, op: &Op) -> Answer {
        let unknown = |class| Answer::Unknown(Cause::of(class));
        let Some(asked) = Entry::asked(op) else { return unknown("BAD_OPERATION") };
        if self.forgotten(asked.id) {
            return unknown("BELOW_HORIZON");
        }
        if let Some((seq, stored)) = self.stored(op.key) {
            let same = stored.result == ResultCode::Fenced || stored.same_money(&asked);
            return if same { stored.result.answer(seq) } else { unknown("CONTRADICTION") };
        }
        if asked.leg == Leg::Refund {
            if !self.withdrawn(&asked) {
                return unknown("CONTRADICTION");
            }
        } else if !self.core.assets.contains(&asked.asset) {
            return unknown("BAD_OPERATION");
        }
        match self.barred(&asked) {
            Some(result) => self.store(Entry { result, ..asked }, None),
            None => self.book(asked),
        }
    }

    /// Whether there is a withdraw that a refund gives back.
    fn withdrawn(&self, refund: &Entry) -> bool {
        let withdraw = self.stored(Key { id: refund.id, leg: Leg::Withdraw });
        withdraw.is_some_and(|(_, w)| w.result == ResultCode::Done && w.same_money(refund))
    }

    /// The reason for which an operation is refused for ever, if there is one.
    fn barred(&self, asked: &Entry) -> Option<ResultCode> {
        let status = self.account(asked.user);
        match (asked.leg, status) {
            (Leg::Withdraw, None) => Some(ResultCode::NoAccount),
            (Leg::Withdraw, Some(AccountStatus::Frozen)) => Some(ResultCode::Frozen),
            (Leg::Withdraw | Leg::Deposit, Some(AccountStatus::Disabled)) => {
                Some(ResultCode::Disabled)
            }
            (Leg::Withdraw, Some(AccountStatus::Active)) => {
                (self.available(asked) < asked.amount).then_some(ResultCode::Insufficient)
            }
            (Leg::Deposit, None | Some(AccountStatus::Active | AccountStatus::Frozen))
            | (Leg::Refund | Leg::Settle | Leg::Move | Leg::Quarantine | Leg::Cost, _) => None,
        }
    }

    /// Moves the money: out of the account for a withdraw, into it for everything else.
    fn book(&mut self, asked: Entry) -> Answer {
        let (before, clearing) = (self.available(&asked), self.clearing(asked.asset));
        let moved = asked.amount.signed().and_then(|amount| match asked.leg {
            Leg::Withdraw => Some((before.minus(asked.amount)?, clearing.checked_add(amount)?)),
            Leg::Deposit | Leg::Refund | Leg::Settle | Leg::Move | Leg::Quarantine | Leg::Cost => {
                Some((before.plus(asked.amount)?, clearing.checked_sub(amount)?))
            }
        });
        // The sums of a ledger stay within 127 bits, so that they can always be added up.
        let fits = moved.filter(|(after, sum)| after.signed().is_some() && *sum != i128::MIN);
        let Some((after, sum)) = fits else { return Answer::Unknown(Cause::of("OVERFLOW")) };
        self.available.insert((asked.user, asked.asset), after);
        self.clearing.insert(asked.asset, sum);
        let status = self.account(asked.user).unwrap_or(AccountStatus::Active);
        self.statuses.insert(asked.user, status);
        self.store(asked, Some(after))
    }

    fn store(&mut self, entry: Entry, available: Option<Amount>) -> Answer {
        self.sequence = self.sequence.saturating_add(1);
        self.results.insert(entry.key(), (self.sequence, entry));
        self.records.push(Record::Result { entry, available });
        entry.result.answer(self.sequence)
    }

    /// Says what is stored under a key, after writing a tombstone where it is free. A refund cannot
    /// be refused, so it cannot be fenced either: asking for that only asks.
    fn fence(&mut self, key: Key) -> CoreReply {
        if self.forgotten(key.id) {
            return CoreReply::Nothing(Cause::of("BELOW_HORIZON"));
        }
        if self.stored(key).is_none() && matches!(key.leg, Leg::Withdraw | Leg::Deposit) {
            self.store(Entry::fence(key), None);
        }
        let found = self.stored(key).map(|(seq, entry)| entry.operation(seq));
        CoreReply::Stored(found.map_or(Stored::Nothing, Stored::Found))
    }

    fn status(&mut self, change: &StatusChange) -> CoreReply {
        let wanted = AppliedStatus { user: change.user, status: change.status };
        let used = self.keys.get(&change.key).or_else(|| self.core.keys.get(&change.key));
        match used {
            Some(used) if *used == wanted => return CoreReply::Status(true),
            Some(_) => return CoreReply::Nothing(Cause::of("CONTRADICTION")),
            None => (),
        }
        // Nothing is bound by a change that found no account: it may be asked for again.
        if self.account(change.user).is_none() {
            return CoreReply::Status(false);
        }
        self.statuses.insert(change.user, change.status);
        self.keys.insert(change.key.clone(), wanted);
        self.records.push(Record::Status {
            user: change.user,
            status: change.status,
            key: change.key.clone(),
            reason: change.reason.clone(),
            caller: change.caller.clone(),
        });
        CoreReply::Status(true)
    }

    /// Raises the horizon, or takes ids off the open ones. An id at or below it that is not open
    /// never becomes open again: its result is forgotten, and it would be executed afresh.
    fn raise(&mut self, id: Id, open: &[Id]) -> CoreReply {
        let (old, was_open) = match &self.horizon {
            Some((horizon, open)) => (Some(*horizon), open),
            None => (self.core.horizon, &self.core.open),
        };
        if old.is_some_and(|old| id < old) {
            return CoreReply::Horizon;
        }
        let lives = |i: &Id| *i <= id && (old.is_none_or(|old| *i > old) || was_open.contains(i));
        let open: BTreeSet<Id> = open.iter().copied().filter(lives).collect();
        if old != Some(id) || open != *was_open {
            let ids = open.iter().copied().collect();
            self.records.push(Record::Horizon { id, open: ids });
            self.horizon = Some((id, open));
        }
        CoreReply::Horizon
    }

    fn forgotten(&self, id: Id) -> bool {
        match &self.horizon {
            Some((horizon, open)) => id <= *horizon && !open.contains(&id),
            None => self.core.forgotten(id),
        }
    }

    fn stored(&self, key: Key) -> Option<(u64, Entry)> {
        self.results.get(&key).copied().or_else(|| self.core.get(key))
    }

    /// An account's status; `None` where there is no such account.
    fn account(&self, user: UserId) -> Option<AccountStatus> {
        let stored = || self.core.accounts.get(&user).map(|account| account.status);
        self.statuses.get(&user).copied().or_else(stored)
    }

    fn available(&self, of: &Entry) -> Amount {
        let stored = || self.core.accounts.get(&of.user).map(|a| a.available(of.asset));
        let drafted = self.available.get(&(of.user, of.asset)).copied();
        drafted.or_else(stored).unwrap_or(Amount::ZERO)
    }

    fn clearing(&self, asset: AssetId) -> i128 {
        let drafted = self.clearing.get(&asset).or_else(|| self.core.clearing.get(&asset));
        drafted.copied().unwrap_or_default()
    }
}
