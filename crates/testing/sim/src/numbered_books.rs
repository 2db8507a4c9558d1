//! The accounts ledger's law in memory, written for itself: both accounts of a move change, or neither.

use crate::books::again;
use kernel::accounts::{AccountsOf, NumberedAccount, NumberedStatus};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Millis, UserId};
use kernel::money::{Amount, Asset};
use kernel::operation::{Key, Op, Operation, StoredOutcome};
use kernel::ports::journal::{AccountSums, Sums};
use kernel::ports::ledger::{Direction, External, Moved, Stored, Totals};
use kernel::record::Account;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accounts ledger's accounts, operations and world.
#[derive(Debug, Clone, Default)]
pub struct NumberedBooks {
    accounts: BTreeMap<Arc<str>, NumberedAccount>,
    stored: BTreeMap<Key, Operation>,
    world: BTreeMap<AssetId, i128>,
    externals: BTreeMap<(bool, Arc<str>), (External, Moved)>,
}

fn bad() -> Answer {
    Answer::Unknown(Cause::of("BAD_OPERATION"))
}

/// What is stored under a key, as an answer.
fn answer(stored: &Operation) -> Answer {
    let receipt = Receipt::seq(stored.seq);
    match &stored.outcome {
        StoredOutcome::Done => Answer::Done(receipt),
        StoredOutcome::Rejected(why) => Answer::Rejected(why.clone(), receipt),
        StoredOutcome::Fenced => Answer::Rejected(Evidence::code("FENCED"), receipt),
    }
}

impl NumberedBooks {
    /// The highest number that was given.
    pub fn highest(&self) -> u64 {
        u64::try_from(self.stored.len()).unwrap_or(u64::MAX)
    }

    /// The account of a number, where there is one.
    pub fn account(&self, number: &str) -> Option<&NumberedAccount> {
        self.accounts.get(number)
    }

    /// The accounts that are asked for, by number.
    pub fn list(&self, of: &AccountsOf) -> Vec<NumberedAccount> {
        let all = self.accounts.values();
        match of {
            AccountsOf::Numbers(numbers) => {
                all.filter(|a| numbers.contains(&a.number)).cloned().collect()
            }
            AccountsOf::Owner(owner) => all.filter(|a| a.owner == *owner).cloned().collect(),
            AccountsOf::After(number, limit) => {
                all.filter(|a| a.number > *number).take(*limit).cloned().collect()
            }
        }
    }

    /// Opens an account or changes its status; the cause where it cannot be.
    pub fn put(&mut self, wanted: NumberedAccount) -> Option<Cause> {
        let contradiction = Some(Cause::of("CONTRADICTION"));
        match self.accounts.get_mut(&wanted.number) {
            None => {
                let known = Asset::fresh().iter().any(|asset| asset.id == wanted.asset);
                if !known || wanted.owner == UserId(0) || wanted.number.is_empty() {
                    return Some(Cause::of("BAD_OPERATION"));
                }
                let account = NumberedAccount { balance: Amount::ZERO, version: 1, ..wanted };
                self.accounts.insert(account.number.clone(), account);
            }
            Some(now) => {
                let other = (now.owner, now.asset) != (wanted.owner, wanted.asset);
                let full = wanted.status == NumberedStatus::Closed && now.balance.0 > 0;
                let over = now.status == NumberedStatus::Closed && wanted.status != now.status;
                if other || full || over {
                    return contradiction;
                }
                (now.status, now.version) = (wanted.status, now.version + 1);
            }
        }
        None
    }

    /// Decides one operation; a repeat gets what was stored.
    pub fn decide(&mut self, op: &Op) -> Answer {
        if let Some(stored) = self.stored.get(&op.key) {
            let same = stored.op == *op || stored.outcome == StoredOutcome::Fenced;
            let cause = Cause::because("CONTRADICTION", "the key holds another operation");
            return if same { answer(stored) } else { Answer::Unknown(cause) };
        }
        let (Account::Named(from), Some(Account::Named(to))) = (&op.account, &op.other) else {
            return bad();
        };
        let known = Asset::fresh().iter().any(|asset| asset.id == op.asset);
        if op.key.leg != Leg::Move || op.amount.0 == 0 || !known {
            return bad();
        }
        let outcome = match self.refusal(op, from, to) {
            Some(code) => StoredOutcome::Rejected(Evidence::code(code.name())),
            None => {
                self.shift(from, |balance| balance.minus(op.amount));
                self.shift(to, |balance| balance.plus(op.amount));
                StoredOutcome::Done
            }
        };
        self.store(op.clone(), outcome)
    }

    fn store(&mut self, op: Op, outcome: StoredOutcome) -> Answer {
        let operation = Operation { seq: self.highest() + 1, op, outcome };
        let said = answer(&operation);
        self.stored.insert(operation.op.key, operation);
        said
    }

    fn refusal(&self, op: &Op, from: &str, to: &str) -> Option<Code> {
        if from == to {
            return Some(Code::SameAccount);
        }
        let Some(payer) = self.account(from) else { return Some(Code::SourceAccountNotFound) };
        let Some(payee) = self.account(to) else { return Some(Code::TargetAccountNotFound) };
        if payer.asset != op.asset || payee.asset != op.asset {
            return Some(Code::CurrencyMismatch);
        }
        let barred = payer.status.bars_payment().or_else(|| payee.status.bars_receipt());
        barred.or_else(|| (payer.balance < op.amount).then_some(Code::InsufficientBalance))
    }

    fn shift(&mut self, number: &str, change: impl FnOnce(Amount) -> Option<Amount>) {
        if let Some(account) = self.accounts.get_mut(number)
            && let Some(balance) = change(account.balance)
        {
            (account.balance, account.version) = (balance, account.version + 1);
        }
    }

    /// What is stored under a key.
    pub fn query(&self, key: Key) -> Stored {
        self.stored.get(&key).map_or(Stored::Nothing, |stored| Stored::Found(stored.clone()))
    }

    /// A tombstone where nothing is stored and the leg can be refused.
    pub fn fence(&mut self, key: Key) -> Stored {
        if self.query(key) == Stored::Nothing && key.leg == Leg::Move {
            let account = Account::Named("fence".into());
            let op = Op { key, account, other: None, asset: AssetId(0), amount: Amount::ZERO };
            self.store(op, StoredOutcome::Fenced);
        }
        self.query(key)
    }

    /// What the reference of a movement was booked for before.
    pub fn booked(&self, movement: &External) -> Option<Moved> {
        let key = (movement.direction == Direction::In, movement.reference.clone());
        self.externals.get(&key).map(|(first, moved)| again(first, movement, moved))
    }

    /// Money from or to the world into the account of this number.
    pub fn external(&mut self, movement: &External, number: &str, at: Millis) -> Moved {
        let inward = movement.direction == Direction::In;
        let (asset, amount) = (movement.asset, movement.amount);
        let Some(signed) = amount.signed().filter(|n| *n > 0) else {
            return Moved::Refused(Code::InvalidAmount);
        };
        let own = |account: &&NumberedAccount| account.owner == movement.user;
        let Some(account) = self.account(number).filter(own) else {
            return Moved::Refused(Code::AccountNotFound);
        };
        if account.asset != asset {
            return Moved::Refused(Code::CurrencyMismatch);
        }
        let status = account.status;
        let barred = if inward { status.bars_receipt() } else { status.bars_payment() };
        let after =
            if inward { account.balance.plus(amount) } else { account.balance.minus(amount) };
        let available = match (barred, after) {
            (Some(code), _) => return Moved::Refused(code),
            (None, Some(after)) => after,
            (None, None) => return Moved::Refused(Code::InsufficientBalance),
        };
        self.shift(number, |_| Some(available));
        let world = self.world.entry(asset).or_default();
        *world = if inward { *world - signed } else { *world + signed };
        let operation = u64::try_from(self.externals.len()).unwrap_or(u64::MAX) + 1;
        let moved = Moved::Done { operation, available, at, replayed: false };
        let key = (inward, movement.reference.clone());
        self.externals.insert(key, (movement.clone(), moved.clone()));
        moved
    }

    /// The books per asset, recomputed from the accounts.
    pub fn totals(&self) -> Vec<(AssetId, Totals)> {
        let mut totals: BTreeMap<AssetId, Totals> = BTreeMap::new();
        for account in self.accounts.values() {
            let of = totals.entry(account.asset).or_default();
            of.users = of.users.saturating_add_unsigned(account.balance.0);
        }
        for (asset, world) in &self.world {
            totals.entry(*asset).or_default().world = *world;
        }
        totals.into_iter().collect()
    }

    /// Every operation that is stored.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.stored.values()
    }

    /// What the operations add up to, the external ones among them.
    pub fn sums(&self, upto: u64) -> BTreeMap<AssetId, Sums> {
        let mut sums = crate::books::add_up(self.operations().filter(|o| o.seq <= upto));
        for (asset, world) in &self.world {
            sums.entry(*asset).or_default().external = -*world;
        }
        sums
    }

    /// What each account has, beside what its moves and external movements add up to.
    pub fn account_sums(&self, upto: u64) -> Vec<AccountSums> {
        let own = |account: &NumberedAccount| {
            let mut sums = Sums::default();
            let done = |o: &&Operation| o.outcome == StoredOutcome::Done && o.seq <= upto;
            for Operation { op, .. } in self.operations().filter(done) {
                let n = op.amount.signed().unwrap_or(i128::MAX);
                let is = |other: &Account| *other == Account::Named(account.number.clone());
                if is(&op.account) {
                    (sums.withdraw, sums.count) = (sums.withdraw + n, sums.count + 1);
                } else if op.other.as_ref().is_some_and(is) {
                    (sums.deposit, sums.count) = (sums.deposit + n, sums.count + 1);
                }
            }
            let mine = |m: &&External| m.number.as_ref() == Some(&account.number);
            for movement in self.externals.values().map(|(movement, _)| movement).filter(mine) {
                let n = movement.amount.signed().unwrap_or(i128::MAX);
                sums.external += if movement.direction == Direction::In { n } else { -n };
            }
            let (available, frozen) = (account.balance, Amount::ZERO);
            let (name, asset) = (Account::Named(account.number.clone()), account.asset);
            AccountSums { account: name, asset, available, frozen, sums }
        };
        let mut all: Vec<_> = self.accounts.values().map(own).collect();
        all.sort_by_key(|row| (row.account.to_string().len(), row.account.clone()));
        all
    }
}
