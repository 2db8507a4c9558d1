//! What Funding does with one leg: it holds, settles, gives back, takes in (`ledgers.md` §1).

use super::asserts::Sums;
use super::{Book, StateReader, Stopped, StoredBalance, SystemBook};
use crate::accounts::NumberedAccount;
use crate::answer::{Answer, Cause, Evidence, Receipt};
use crate::code::Code;
use crate::flow::life::Leg;
use crate::ids::{AssetId, LedgerId, UserId};
use crate::money::Amount;
use crate::operation::{Key, Op, Operation, StoredOutcome};
use crate::ports::ledger::Stored;
use crate::record::Account;

/// Double entry that is to be written: nothing of it, or all.
#[derive(Debug, Default)]
pub struct Posting {
    /// Operations by ledger, numbered in their order from the store's next one.
    pub operations: Vec<(LedgerId, Operation)>,
    /// Balances as they are then.
    pub balances: Vec<((UserId, AssetId), StoredBalance)>,
    /// What books that no user owns grow by.
    pub books: Vec<(Book, i128)>,
    /// Numbered accounts as they are then, with the version that they had; 0: they have no row yet.
    pub accounts: Vec<NumberedAccount>,
    /// The sum of each asset at each ledger: zero, or the posting is not written.
    pub sums: Sums,
}

/// The same thing was asked.
fn is_same_operation(stored: &Op, op: &Op) -> bool {
    stored.account == op.account
        && stored.other == op.other
        && stored.asset == op.asset
        && stored.amount == op.amount
}

pub(super) fn unknown<T>(class: &'static str, detail: &str) -> Stopped<Answer, T> {
    Stopped::Answer(Answer::Unknown(Cause::because(class, detail)))
}

pub(super) fn refused<T>(why: Evidence) -> Stopped<Answer, T> {
    Stopped::Answer(Answer::Rejected(why, Receipt::default()))
}

/// The answer that a stored operation gives for ever.
pub fn answer(stored: &Operation) -> Answer {
    let receipt = Receipt::seq(stored.seq);
    match &stored.outcome {
        StoredOutcome::Done => Answer::Done(receipt),
        StoredOutcome::Rejected(why) => Answer::Rejected(why.clone(), receipt),
        StoredOutcome::Fenced => Answer::Rejected(Evidence::code("FENCED"), receipt),
    }
}

/// A leg by itself: the plain path. Under HALT it writes nothing: a stored key has its stored
/// answer, any other is unknown. No unit with a guard of its own is around it, so it is refused
/// here.
pub fn leg<S: StateReader>(
    state: &mut S,
    ledger: LedgerId,
    op: &Op,
) -> Result<(Answer, Posting), S::Error> {
    let mut posting = Posting::default();
    let stored = posting.find(state.legs(op.key.id)?, ledger, op.key).is_some();
    if state.halted() && !stored {
        return Ok((Answer::Unknown(halted()), posting));
    }
    let answer = posting.decide(state, ledger, op)?;
    if let Err(broken) = posting.adds_up() {
        let cause = Cause::because(Cause::CONTRADICTION, broken);
        return Ok((Answer::Unknown(cause), Posting::default()));
    }
    Ok((answer, posting))
}

/// A leg that the ledger may refuse, and so refuse beforehand.
fn may_fence(ledger: LedgerId, leg: Leg) -> bool {
    if ledger == LedgerId::ACCOUNT { leg == Leg::Move } else { leg.fenceable() }
}

/// Why nothing new is written.
fn halted() -> Cause {
    Cause::because(Cause::HALTED, "HALT stands in the journal: nothing was written")
}

/// A tombstone; or what is stored already, or that nothing is and nothing can be fenced. Under HALT
/// no tombstone is written.
pub fn fence<S: StateReader>(
    state: &mut S,
    ledger: LedgerId,
    key: Key,
) -> Result<(Stored, Posting), Stopped<Cause, S::Error>> {
    let mut posting = Posting::default();
    if let Some(stored) = posting.find(state.legs(key.id)?, ledger, key) {
        return Ok((Stored::Found(stored.clone()), posting));
    }
    if !may_fence(ledger, key.leg) {
        return Ok((Stored::Nothing, posting));
    }
    if state.halted() {
        return Err(Stopped::Answer(halted()));
    }
    let account = Account::Named("fence".into());
    let op = Op { key, account, other: None, asset: AssetId(0), amount: Amount::ZERO };
    let operation = Operation { seq: state.number(), op, outcome: StoredOutcome::Fenced };
    posting.operations.push((ledger, operation.clone()));
    Ok((Stored::Found(operation), posting))
}

impl Posting {
    /// What stands under a key at a ledger, or is about to.
    pub(super) fn find<'a>(
        &'a self,
        stored: &'a [(LedgerId, Operation)],
        ledger: LedgerId,
        key: Key,
    ) -> Option<&'a Operation> {
        let stored = stored.iter().filter(|(at, _)| *at == ledger).map(|(_, operation)| operation);
        let ours = self.operations.iter().filter(|(at, _)| *at == ledger).map(|(_, ours)| ours);
        stored.chain(ours).find(|operation| operation.op.key == key)
    }

    /// Decides one leg against what is stored and what this posting holds. Only `Done` and `Rejected`
    /// leave a new operation; `Unknown` leaves nothing.
    pub(super) fn decide<S: StateReader>(
        &mut self,
        state: &mut S,
        ledger: LedgerId,
        op: &Op,
    ) -> Result<Answer, S::Error> {
        if let Some(stored) = self.find(state.legs(op.key.id)?, ledger, op.key) {
            if stored.outcome != StoredOutcome::Fenced && !is_same_operation(&stored.op, op) {
                let cause = Cause::because(Cause::CONTRADICTION, "the key holds another operation");
                return Ok(Answer::Unknown(cause));
            }
            return Ok(answer(stored));
        }
        let decided = match ledger {
            LedgerId::FUNDING => self.validate(state, op),
            LedgerId::ACCOUNT => self.transfer(state, op),
            _ => return Ok(Answer::Unknown(Cause::of("NOT_ENLISTED"))),
        };
        let outcome = match decided {
            Ok(()) => StoredOutcome::Done,
            Err(Stopped::Answer(Answer::Rejected(why, _))) => StoredOutcome::Rejected(why),
            Err(Stopped::Answer(other)) => return Ok(other),
            Err(Stopped::Error(stop)) => return Err(stop),
        };
        let before = u64::try_from(self.operations.len()).unwrap_or(u64::MAX);
        let seq = state.number().saturating_add(before);
        let operation = Operation { seq, op: op.clone(), outcome };
        let said = answer(&operation);
        self.operations.push((ledger, operation));
        Ok(said)
    }

    fn validate<S: StateReader>(
        &mut self,
        state: &mut S,
        op: &Op,
    ) -> Result<(), Stopped<Answer, S::Error>> {
        let Account::User(user) = op.account else {
            return Err(unknown("BAD_OPERATION", "not a user's account"));
        };
        // a number that no column holds would be stored as another user's
        let sound = user.is_valid() && op.other.is_none();
        if !sound || !counts(op) || !state.knows(op.asset)? {
            return Err(unknown("BAD_OPERATION", "user, asset or amount"));
        }
        if let Some(why) = state.refused(op.key) {
            return Err(refused(why));
        }
        match op.key.leg {
            Leg::Withdraw => self.withdraw(state, op, user),
            Leg::Deposit => self.deposit(state, op, user),
            Leg::Settle | Leg::Refund => self.close(state, op, user),
            Leg::Move | Leg::Quarantine | Leg::Cost => {
                Err(unknown("BAD_OPERATION", "not a leg of this ledger"))
            }
        }
    }

    fn withdraw<S: StateReader>(
        &mut self,
        state: &mut S,
        op: &Op,
        user: UserId,
    ) -> Result<(), Stopped<Answer, S::Error>> {
        let Some(balance) = self.balance(state, user, op.asset)? else {
            return Err(refused(Evidence::code(Code::SourceAccountNotFound)));
        };
        if let Some(code) = balance.status.bars_withdraw() {
            return Err(refused(Evidence::code(code)));
        }
        let Some(available) = balance.available.minus(op.amount) else {
            return Err(refused(Evidence::code(Code::InsufficientBalance)));
        };
        let Some(frozen) = balance.frozen.plus(op.amount) else {
            return Err(unknown("BAD_OPERATION", "a balance too large"));
        };
        self.put(user, op.asset, balance, StoredBalance { available, frozen, ..balance });
        Ok(())
    }

    fn deposit<S: StateReader>(
        &mut self,
        state: &mut S,
        op: &Op,
        user: UserId,
    ) -> Result<(), Stopped<Answer, S::Error>> {
        let Some(balance) = self.balance(state, user, op.asset)? else {
            return Err(refused(Evidence::code(Code::TargetAccountNotFound)));
        };
        if let Some(code) = balance.status.bars_deposit() {
            return Err(refused(Evidence::code(code)));
        }
        let sums = balance.available.plus(op.amount).zip(op.amount.signed());
        let Some((available, delta)) = sums else {
            return Err(unknown("BAD_OPERATION", "a balance too large"));
        };
        self.put(user, op.asset, balance, StoredBalance { available, ..balance });
        self.add_book(clearing(op.asset), delta.saturating_neg());
        Ok(())
    }

    /// Settle (`frozen → clearing`) or refund (`frozen → available`): cannot be refused, and needs
    /// the hold that it closes.
    fn close<S: StateReader>(
        &mut self,
        state: &mut S,
        op: &Op,
        user: UserId,
    ) -> Result<(), Stopped<Answer, S::Error>> {
        let refunds = op.key.leg == Leg::Refund;
        let legs = state.legs(op.key.id)?;
        let done = |leg| {
            let stored = self.find(legs, LedgerId::FUNDING, Key { leg, ..op.key });
            stored.filter(|operation| operation.outcome == StoredOutcome::Done)
        };
        let held = done(Leg::Withdraw).is_some_and(|withdraw| is_same_operation(&withdraw.op, op));
        let other = if refunds { Leg::Settle } else { Leg::Refund };
        if !held || done(other).is_some() {
            return Err(unknown(Cause::CONTRADICTION, "no hold that this could close"));
        }
        let Some(balance) = self.balance(state, user, op.asset)? else {
            return Err(unknown(Cause::CONTRADICTION, "the held account is gone"));
        };
        let Some(frozen) = balance.frozen.minus(op.amount) else {
            return Err(unknown(Cause::CONTRADICTION, "less is frozen than was held"));
        };
        let back = if refunds { op.amount } else { Amount::ZERO };
        let Some((available, delta)) = balance.available.plus(back).zip(op.amount.signed()) else {
            return Err(unknown("BAD_OPERATION", "a balance too large"));
        };
        self.put(user, op.asset, balance, StoredBalance { available, frozen, ..balance });
        if !refunds {
            self.add_book(clearing(op.asset), delta);
        }
        Ok(())
    }

    /// What an account holds by now.
    pub(super) fn balance<S: StateReader>(
        &self,
        state: &mut S,
        user: UserId,
        asset: AssetId,
    ) -> Result<Option<StoredBalance>, S::Error> {
        match self.balances.iter().find(|(of, _)| *of == (user, asset)) {
            Some((_, balance)) => Ok(Some(*balance)),
            None => state.balance(user, asset),
        }
    }

    /// A book that no user owns grows by this.
    pub(super) fn add_book(&mut self, book: Book, delta: i128) {
        self.sums.book(&book, delta);
        self.books.push((book, delta));
    }

    /// A user's balance becomes another one.
    pub(super) fn put(
        &mut self,
        user: UserId,
        asset: AssetId,
        was: StoredBalance,
        balance: StoredBalance,
    ) {
        let key = (user, asset);
        self.sums.balance(asset, &was, &balance);
        let balance = StoredBalance { changed: true, ..balance };
        match self.balances.iter_mut().find(|(of, _)| *of == key) {
            Some((_, now)) => *now = balance,
            None => self.balances.push((key, balance)),
        }
    }
}

fn clearing(asset: AssetId) -> Book {
    Book { ledger: LedgerId::FUNDING, book: SystemBook::Clearing, asset }
}

/// The amount of an operation is above zero, and a signed sum holds it.
pub(super) fn counts(op: &Op) -> bool {
    op.amount.0 > 0 && op.amount.signed().is_some()
}
