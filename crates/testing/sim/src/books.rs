//! The rules of a ledger in memory, for the simulated ledgers: balances, stored answers, numbers. Pure; the owner
//! decides which callers see it and when.

use crate::movements::Movements;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::{Amount, Asset};
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::{AccountSums, Sums};
use kernel::ports::ledger::{
    AccountStatus, Direction, Holding, StatusChange, Stored, Totals, Whose,
};
use kernel::record::Account;
use kernel::rules::{Book, Posting, StoredBalance, SystemBook};
use ledger_contract::Profile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    available: u128,
    frozen: u128,
}

/// The books of one ledger.
#[derive(Debug, Clone)]
pub struct Books {
    profile: Profile,
    assets: BTreeSet<AssetId>,
    accounts: BTreeMap<UserId, AccountStatus>,
    rows: BTreeMap<(UserId, AssetId), Row>,
    clearing: BTreeMap<AssetId, i128>,
    world: BTreeMap<AssetId, i128>,
    stored: BTreeMap<Key, Operation>,
    keys: BTreeMap<u64, Key>,
    changes: BTreeMap<Arc<str>, bool>,
    pub(crate) movements: Movements,
    horizon: Option<Id>,
    open: BTreeSet<Id>,
    highest: u64,
}

fn bad() -> Cause {
    Cause::of("BAD_OPERATION")
}

fn contradiction(key: Key, why: &str) -> Cause {
    Cause::because("CONTRADICTION", format!("{} of {}: {why}", key.leg.name(), key.id))
}

impl Books {
    /// Empty ones that know the assets of a fresh store.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            assets: Asset::fresh().iter().map(|asset| asset.id).collect(),
            accounts: BTreeMap::new(),
            rows: BTreeMap::new(),
            clearing: BTreeMap::new(),
            world: BTreeMap::new(),
            stored: BTreeMap::new(),
            keys: BTreeMap::new(),
            changes: BTreeMap::new(),
            movements: Movements::default(),
            horizon: None,
            open: BTreeSet::new(),
            highest: 0,
        }
    }

    /// The highest number that was given.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// Decides one operation by this ledger's own law.
    pub fn decide(&mut self, op: &Op) -> Answer {
        let user = match self.admit(op) {
            Ok(user) => user,
            Err(cause) => return Answer::Unknown(cause),
        };
        if self.forgotten(op.key.id) {
            return Answer::Unknown(Cause::of("BELOW_HORIZON"));
        }
        if let Some(stored) = self.stored.get(&op.key) {
            return repeat(stored, op);
        }
        let outcome = match self.judge(op, user) {
            Ok(()) => match self.post(op, user) {
                Ok(()) => StoredOutcome::Done,
                Err(cause) => return Answer::Unknown(cause),
            },
            Err(Ok(code)) => StoredOutcome::Rejected(Evidence::code(code.name())),
            Err(Err(cause)) => return Answer::Unknown(cause),
        };
        let operation = Operation { seq: self.number(op.key), op: op.clone(), outcome };
        let answer = repeat(&operation, op);
        self.stored.insert(op.key, operation);
        answer
    }

    /// What a user has of an asset; `None`: no such account.
    pub fn balance(&self, user: UserId, asset: AssetId) -> Option<StoredBalance> {
        let empty = StoredBalance::empty(*self.accounts.get(&user)?);
        let row = self.rows.get(&(user, asset));
        Some(row.map_or(empty, |row| StoredBalance {
            available: Amount(row.available),
            frozen: Amount(row.frozen),
            stored: true,
            ..empty
        }))
    }

    /// Takes in what the product's rules decided for Funding.
    pub fn apply(&mut self, posting: &Posting) {
        for (_, operation) in posting.operations.iter().filter(|(at, _)| *at == LedgerId::FUNDING) {
            self.highest = operation.seq;
            self.keys.insert(operation.seq, operation.op.key);
            self.stored.insert(operation.op.key, operation.clone());
        }
        for ((user, asset), balance) in &posting.balances {
            self.accounts.entry(*user).or_insert(balance.status);
            let row = Row { available: balance.available.0, frozen: balance.frozen.0 };
            self.rows.insert((*user, *asset), row);
        }
        for (Book { book, asset, .. }, delta) in
            posting.books.iter().filter(|(book, _)| book.ledger == LedgerId::FUNDING)
        {
            let sums = match book {
                SystemBook::Clearing => &mut self.clearing,
                SystemBook::World => &mut self.world,
            };
            *sums.entry(*asset).or_default() += delta;
        }
    }

    fn number(&mut self, key: Key) -> u64 {
        self.highest += 1;
        self.keys.insert(self.highest, key);
        self.highest
    }

    /// Whether the operation means anything at a ledger like this.
    fn admit(&self, op: &Op) -> Result<UserId, Cause> {
        let leg = match op.key.leg {
            Leg::Withdraw | Leg::Deposit | Leg::Refund => true,
            Leg::Settle => self.profile.holds,
            Leg::Move | Leg::Quarantine | Leg::Cost => false,
        };
        let Account::User(user) = op.account else { return Err(bad()) };
        let fits = user.0 > 0
            && op.amount.0 > 0
            && op.amount.signed().is_some()
            && op.other.is_none()
            && self.assets.contains(&op.asset);
        if leg && fits { Ok(user) } else { Err(bad()) }
    }

    fn forgotten(&self, id: Id) -> bool {
        self.horizon.is_some_and(|horizon| id <= horizon) && !self.open.contains(&id)
    }

    /// What the leg looks at (`ledgers.md` §1): a refusal, or a hindrance.
    fn judge(&self, op: &Op, user: UserId) -> Result<(), Result<Code, Cause>> {
        let status = self.accounts.get(&user).copied();
        let refused = |code: Option<Code>| code.map_or(Ok(()), |code| Err(Ok(code)));
        match op.key.leg {
            Leg::Withdraw => {
                let Some(status) = status else { return Err(Ok(Code::SourceAccountNotFound)) };
                refused(status.bars_withdraw())?;
                let row = self.rows.get(&(user, op.asset)).copied().unwrap_or_default();
                refused((row.available < op.amount.0).then_some(Code::InsufficientBalance))
            }
            Leg::Deposit => match status {
                Some(status) => refused(status.bars_deposit()),
                None if self.profile.creates_on_deposit => Ok(()),
                None => Err(Ok(Code::TargetAccountNotFound)),
            },
            Leg::Settle => self.pushable(op, Leg::Refund).map_err(Err),
            Leg::Refund => self.pushable(op, Leg::Settle).map_err(Err),
            Leg::Move | Leg::Quarantine | Leg::Cost => Err(Err(bad())),
        }
    }

    /// A settle or refund needs its own done withdraw, and not the other one.
    fn pushable(&self, op: &Op, other: Leg) -> Result<(), Cause> {
        let at = |leg| self.stored.get(&Key { id: op.key.id, leg });
        let of = |o: &&Operation| {
            let same = (&o.op.account, o.op.asset, o.op.amount);
            o.outcome == StoredOutcome::Done && same == (&op.account, op.asset, op.amount)
        };
        if at(Leg::Withdraw).filter(of).is_none() {
            return Err(contradiction(op.key, "no such withdraw"));
        }
        if at(other).is_some() {
            return Err(contradiction(op.key, "the other one is done"));
        }
        Ok(())
    }

    /// Books an operation on both of its sides.
    fn post(&mut self, op: &Op, user: UserId) -> Result<(), Cause> {
        let overflow = || Cause::of("OVERFLOW");
        let amount = op.amount.0;
        let signed = op.amount.signed().ok_or_else(overflow)?;
        let mut row = self.rows.get(&(user, op.asset)).copied().unwrap_or_default();
        let mut clearing = self.clearing.get(&op.asset).copied().unwrap_or_default();
        let less = |a: u128| a.checked_sub(amount).ok_or_else(overflow);
        let more = |a: u128| a.checked_add(amount).ok_or_else(overflow);
        match (op.key.leg, self.profile.holds) {
            (Leg::Withdraw, true) => {
                (row.available, row.frozen) = (less(row.available)?, more(row.frozen)?);
            }
            (Leg::Withdraw, false) => {
                row.available = less(row.available)?;
                clearing = clearing.checked_add(signed).ok_or_else(overflow)?;
            }
            (Leg::Refund, true) => {
                (row.available, row.frozen) = (more(row.available)?, less(row.frozen)?);
            }
            (Leg::Refund, false) | (Leg::Deposit, _) => {
                row.available = more(row.available)?;
                clearing = clearing.checked_sub(signed).ok_or_else(overflow)?;
            }
            (Leg::Settle, _) => {
                row.frozen = less(row.frozen)?;
                clearing = clearing.checked_add(signed).ok_or_else(overflow)?;
            }
            (Leg::Move | Leg::Quarantine | Leg::Cost, _) => return Err(bad()),
        }
        self.accounts.entry(user).or_insert(AccountStatus::Active);
        self.rows.insert((user, op.asset), row);
        self.clearing.insert(op.asset, clearing);
        Ok(())
    }

    /// What is stored under a key.
    ///
    /// # Errors
    /// It may have been forgotten.
    pub fn query(&self, key: Key) -> Result<Stored, Cause> {
        match self.stored.get(&key) {
            _ if self.forgotten(key.id) => Err(Cause::of("BELOW_HORIZON")),
            Some(operation) => Ok(Stored::Found(operation.clone())),
            None => Ok(Stored::Nothing),
        }
    }

    /// Writes a tombstone where nothing is stored and the leg can be refused.
    ///
    /// # Errors
    /// It may have been forgotten.
    pub fn fence(&mut self, key: Key) -> Result<Stored, Cause> {
        let stored = self.query(key)?;
        if stored != Stored::Nothing || !key.leg.fenceable() {
            return Ok(stored);
        }
        let (account, asset) = (Account::User(UserId(0)), AssetId(0));
        let op = Op { key, account, other: None, asset, amount: Amount::ZERO };
        let operation = Operation { seq: self.number(key), op, outcome: StoredOutcome::Fenced };
        self.stored.insert(key, operation.clone());
        Ok(Stored::Found(operation))
    }

    /// Forgets what is at or below `id` and not open. It only rises.
    pub fn forget(&mut self, id: Id, open: &[Id]) {
        if self.profile.enlisted || self.horizon.is_some_and(|horizon| horizon > id) {
            return;
        }
        self.horizon = Some(id);
        self.open = open.iter().copied().collect();
        let gone = |key: &Key| key.id <= id && !self.open.contains(&key.id);
        self.stored.retain(|key, _| !gone(key));
        self.keys.retain(|_, key| !gone(key));
    }

    /// Sets a status once for each key. False: no such account.
    pub fn set_status(&mut self, change: &StatusChange) -> bool {
        if let Some(found) = self.changes.get(&change.key) {
            return *found;
        }
        let Some(status) = self.accounts.get_mut(&change.user) else { return false };
        *status = change.status;
        self.changes.insert(change.key.clone(), true);
        true
    }

    /// Number of external movements that are booked.
    pub fn movements(&self) -> usize {
        self.movements.len()
    }

    /// The books per asset, recomputed from the accounts.
    pub fn totals(&self) -> Vec<(AssetId, Totals)> {
        let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
        for ((_, asset), row) in &self.rows {
            let t = totals.entry(*asset).or_default();
            t.users = t.users.saturating_add_unsigned(row.available);
            t.frozen = t.frozen.saturating_add_unsigned(row.frozen);
        }
        for (asset, clearing) in &self.clearing {
            totals.entry(*asset).or_default().clearing = *clearing;
        }
        for (asset, world) in &self.world {
            totals.entry(*asset).or_default().world = *world;
        }
        totals.into_iter().collect()
    }

    /// Operations above `after`, by number.
    pub fn operations(&self, after: u64, limit: usize) -> Vec<Operation> {
        let above = self.keys.range(after.saturating_add(1)..).take(limit);
        above.filter_map(|(_, key)| self.stored.get(key).cloned()).collect()
    }

    pub fn of(&self, id: Id) -> impl Iterator<Item = &Operation> {
        let key = |leg| Key { id, leg };
        self.stored.range(key(Leg::Withdraw)..=key(Leg::Cost)).map(|(_, operation)| operation)
    }

    /// What the operations add up to, the external ones among them.
    pub fn sums(&self, upto: u64) -> BTreeMap<AssetId, Sums> {
        let mut sums = add_up(self.stored.values().filter(|o| o.seq <= upto));
        for (asset, world) in &self.world {
            sums.entry(*asset).or_default().external = -*world;
        }
        sums
    }

    /// What each account has, beside what its operations add up to, the external ones among them.
    pub fn account_sums(&self, upto: u64) -> Vec<AccountSums> {
        let mut all = by_account(self.stored.values().filter(|o| o.seq <= upto));
        for ((user, asset), row) in &self.rows {
            let of = place(&mut all, Account::User(*user), *asset);
            (of.available, of.frozen) = (Amount(row.available), Amount(row.frozen));
        }
        for movement in self.movements.iter() {
            let of = place(&mut all, Account::User(movement.user), movement.asset);
            let amount = movement.amount.signed().unwrap_or(i128::MAX);
            of.sums.external += if movement.direction == Direction::In { amount } else { -amount };
        }
        all.into_values().collect()
    }

    /// Holdings by user and asset.
    pub fn holdings(&self, whose: Whose) -> Vec<Holding> {
        let holding = |((user, asset), row): (&(UserId, AssetId), &Row)| Holding {
            user: *user,
            asset: *asset,
            available: Amount(row.available),
            frozen: Amount(row.frozen),
            status: self.accounts.get(user).copied().unwrap_or(AccountStatus::Active),
        };
        match whose {
            Whose::User(id) => {
                self.rows.iter().filter(|((user, _), _)| *user == id).map(holding).collect()
            }
            Whose::After(id, limit) => {
                let above = self.rows.iter().filter(|((user, _), _)| user.0 > id);
                above.take(limit).map(holding).collect()
            }
        }
    }
}

type ByAccount = BTreeMap<(Account, AssetId), AccountSums>;

fn place(all: &mut ByAccount, account: Account, asset: AssetId) -> &mut AccountSums {
    let (available, frozen, sums) = (Amount::ZERO, Amount::ZERO, Sums::default());
    let none = AccountSums { account: account.clone(), asset, available, frozen, sums };
    all.entry((account, asset)).or_insert(none)
}

/// Sums by account and asset over the DONE ones of these operations.
pub fn by_account<'a>(operations: impl Iterator<Item = &'a Operation>) -> ByAccount {
    let mut all = ByAccount::new();
    for operation in operations.filter(|operation| operation.outcome == StoredOutcome::Done) {
        let of = place(&mut all, operation.op.account.clone(), operation.op.asset);
        of.sums = kernel::reconcile::counted(of.sums, operation).unwrap_or(of.sums);
    }
    all
}

/// Sums per asset over operations.
pub fn add_up<'a>(operations: impl Iterator<Item = &'a Operation>) -> BTreeMap<AssetId, Sums> {
    let mut sums: BTreeMap<AssetId, Sums> = BTreeMap::new();
    for operation in operations {
        let s = sums.entry(operation.op.asset).or_default();
        s.count += 1;
        let n = operation.op.amount.signed().unwrap_or(i128::MAX);
        match (&operation.outcome, operation.op.key.leg) {
            (StoredOutcome::Done, Leg::Withdraw) => s.withdraw += n,
            (StoredOutcome::Done, Leg::Deposit) => s.deposit += n,
            (StoredOutcome::Done, Leg::Settle) => s.settle += n,
            (StoredOutcome::Done, Leg::Refund) => s.refund += n,
            (StoredOutcome::Done, Leg::Move | Leg::Quarantine | Leg::Cost)
            | (StoredOutcome::Rejected(_) | StoredOutcome::Fenced, _) => {}
        }
    }
    sums
}

/// The answer to an operation that is stored already.
fn repeat(stored: &Operation, asked: &Op) -> Answer {
    let receipt = Receipt::seq(stored.seq);
    match &stored.outcome {
        StoredOutcome::Fenced => Answer::Rejected(Evidence::code("FENCED"), receipt),
        StoredOutcome::Done | StoredOutcome::Rejected(_) if stored.op != *asked => {
            Answer::Unknown(contradiction(asked.key, "something else is stored"))
        }
        StoredOutcome::Done => Answer::Done(receipt),
        StoredOutcome::Rejected(evidence) => Answer::Rejected(evidence.clone(), receipt),
    }
}
