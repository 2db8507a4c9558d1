//! What Funding does with one leg: it holds, settles, gives back, takes in (`ledgers.md` §1).

use crate::postgres::board::{Balance, Board, Book, Stop, Undo};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::record::Account;
use kernel::unit::{Op, Operation, Outcome};

/// The same thing was asked.
fn same(stored: &Op, op: &Op) -> bool {
    stored.account == op.account && stored.asset == op.asset && stored.amount == op.amount
}

fn unknown(class: &'static str, detail: &str) -> Answer {
    Answer::Unknown(Cause::because(class, detail))
}

fn refused(code: Code) -> Answer {
    Answer::Rejected(Evidence::code(code), Receipt::default())
}

/// The answer that a stored operation gives for ever.
pub(crate) fn answer(stored: &Operation) -> Answer {
    let receipt = Receipt::seq(stored.seq);
    match &stored.outcome {
        Outcome::Done => Answer::Done(receipt),
        Outcome::Rejected(why) => Answer::Rejected(why.clone(), receipt),
        Outcome::Fenced => Answer::Rejected(Evidence::code("FENCED"), receipt),
    }
}

/// What a leg comes to; an answer other than `Done` in the error.
type Decided = Result<(), Answer>;

impl Board {
    /// The legs that a ledger stored for a transfer, and those that the item decided before.
    pub(super) fn stored(&self, ledger: LedgerId, id: Id, undo: &Undo) -> Vec<Operation> {
        let stored = self.legs.get(&id).into_iter().flatten();
        let mut legs: Vec<_> = stored
            .filter(|(at, _)| *at == ledger)
            .map(|(_, operation)| operation.clone())
            .collect();
        if ledger == LedgerId::FUNDING {
            legs.extend(undo.new.iter().filter(|new| new.op.key.id == id).cloned());
        }
        legs
    }

    /// A leg by itself: the plain path.
    pub(crate) fn leg(&mut self, op: &Op) -> Result<Answer, Stop> {
        let mut undo = Undo::default();
        match self.decide(op, &mut undo) {
            Ok(answer) => {
                self.keep(undo);
                Ok(answer)
            }
            Err(stop) => {
                self.restore(undo);
                Err(stop)
            }
        }
    }

    /// What was decided is written.
    pub(super) fn keep(&mut self, undo: Undo) {
        for operation in undo.new {
            let legs = self.legs.entry(operation.op.key.id).or_default();
            legs.push((LedgerId::FUNDING, operation.clone()));
            self.changes.operations.push((LedgerId::FUNDING, operation));
        }
    }

    /// Decides one leg against what is stored and what this write did so far. Only `Done` and
    /// `Rejected` leave a new operation; `Unknown` leaves nothing.
    pub(super) fn decide(&mut self, op: &Op, undo: &mut Undo) -> Result<Answer, Stop> {
        let legs = self.stored(LedgerId::FUNDING, op.key.id, undo);
        if let Some(stored) = of(&legs, op.key.leg) {
            if stored.outcome != Outcome::Fenced && !same(&stored.op, op) {
                return Ok(unknown("CONTRADICTION", "the key holds another operation"));
            }
            return Ok(answer(stored));
        }
        let Account::User(user) = op.account else {
            return Ok(unknown("BAD_OPERATION", "not a user's account"));
        };
        // a number that no column holds would be stored as another user's
        let sound = user.0 > 0 && i64::try_from(user.0).is_ok() && op.other.is_none();
        let counts = op.amount.0 > 0 && op.amount.signed().is_some();
        if !sound || !counts || !self.flags.assets.contains(&op.asset) {
            return Ok(unknown("BAD_OPERATION", "user, asset or amount"));
        }
        let decided = match op.key.leg {
            _ if self.refused.as_ref().is_some_and(|(key, _)| *key == op.key) => {
                Err(self.refusal())
            }
            Leg::Withdraw => self.withdraw(op, user, undo)?,
            Leg::Deposit => self.deposit(op, user, undo)?,
            Leg::Settle | Leg::Refund => self.close(op, user, &legs, undo)?,
            Leg::Move | Leg::Quarantine | Leg::Cost => {
                return Ok(unknown("BAD_OPERATION", "not a leg of this ledger"));
            }
        };
        let outcome = match decided {
            Ok(()) => Outcome::Done,
            Err(Answer::Rejected(why, _)) => Outcome::Rejected(why),
            Err(other) => return Ok(other),
        };
        let operation = Operation { seq: self.numbers.seq, op: op.clone(), outcome };
        self.numbers.seq = self.numbers.seq.saturating_add(1);
        let said = answer(&operation);
        undo.new.push(operation);
        Ok(said)
    }

    /// The database's own refusal of the leg that was tried alone.
    fn refusal(&self) -> Answer {
        let code = self.refused.as_ref().map(|(_, code)| code.to_string()).unwrap_or_default();
        Answer::Rejected(Evidence::code(code), Receipt::default())
    }

    /// `available → frozen`.
    fn withdraw(&mut self, op: &Op, user: UserId, undo: &mut Undo) -> Result<Decided, Stop> {
        let Some(balance) = self.balance(user, op.asset)? else {
            return Ok(Err(refused(Code::SourceAccountNotFound)));
        };
        if let Some(code) = balance.status.bars_withdraw() {
            return Ok(Err(refused(code)));
        }
        let Some(available) = balance.available.minus(op.amount) else {
            return Ok(Err(refused(Code::InsufficientBalance)));
        };
        let Some(frozen) = balance.frozen.plus(op.amount) else {
            return Ok(Err(unknown("BAD_OPERATION", "a balance too large")));
        };
        self.put(undo, (user, op.asset), Balance { available, frozen, ..balance });
        Ok(Ok(()))
    }

    /// `clearing → available`.
    fn deposit(&mut self, op: &Op, user: UserId, undo: &mut Undo) -> Result<Decided, Stop> {
        let Some(balance) = self.balance(user, op.asset)? else {
            return Ok(Err(refused(Code::TargetAccountNotFound)));
        };
        if let Some(code) = balance.status.bars_deposit() {
            return Ok(Err(refused(code)));
        }
        let sums = (balance.available.plus(op.amount), op.amount.signed());
        let (Some(available), Some(delta)) = sums else {
            return Ok(Err(unknown("BAD_OPERATION", "a balance too large")));
        };
        self.put(undo, (user, op.asset), Balance { available, ..balance });
        self.add(undo, Book::Clearing, op.asset, delta.saturating_neg());
        Ok(Ok(()))
    }

    /// Settle (`frozen → clearing`) or refund (`frozen → available`): cannot be refused, and needs
    /// the hold that it closes.
    fn close(
        &mut self,
        op: &Op,
        user: UserId,
        legs: &[Operation],
        undo: &mut Undo,
    ) -> Result<Decided, Stop> {
        let done = |leg| of(legs, leg).filter(|operation| operation.outcome == Outcome::Done);
        let other = if op.key.leg == Leg::Refund { Leg::Settle } else { Leg::Refund };
        let held = done(Leg::Withdraw).is_some_and(|withdraw| same(&withdraw.op, op));
        if !held || done(other).is_some() {
            return Ok(Err(unknown("CONTRADICTION", "no hold that this could close")));
        }
        let Some(balance) = self.balance(user, op.asset)? else {
            return Ok(Err(unknown("CONTRADICTION", "the held account is gone")));
        };
        let Some(frozen) = balance.frozen.minus(op.amount) else {
            return Ok(Err(unknown("CONTRADICTION", "less is frozen than was held")));
        };
        let back = if op.key.leg == Leg::Refund { op.amount } else { Amount::ZERO };
        let (Some(available), Some(delta)) = (balance.available.plus(back), op.amount.signed())
        else {
            return Ok(Err(unknown("BAD_OPERATION", "a balance too large")));
        };
        self.put(undo, (user, op.asset), Balance { available, frozen, ..balance });
        if op.key.leg == Leg::Settle {
            self.add(undo, Book::Clearing, op.asset, delta);
        }
        Ok(Ok(()))
    }
}

/// The operation of a leg among these.
pub(super) fn of(legs: &[Operation], leg: Leg) -> Option<&Operation> {
    legs.iter().find(|operation| operation.op.key.leg == leg)
}
