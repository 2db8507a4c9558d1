//! What Funding does with one leg: it holds, settles, gives back, takes in (`ledgers.md` §1).

use super::super::group::Group;
use super::super::lane::higher;
use super::super::text::{self, int};
use super::books::{Balance, Book, Undo};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::code::Code;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::life::Leg;
use kernel::record::Account;
use kernel::unit::{Key, Op, Operation, Outcome};
use rusqlite::{Row, params};

/// An operation that was decided and is still to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewOperation {
    pub operation: Operation,
}

/// The stored legs of one transfer at one ledger.
#[derive(Debug, Default)]
pub(crate) struct Legs(Vec<Operation>);

impl Legs {
    pub(crate) fn of(&self, leg: Leg) -> Option<&Operation> {
        self.0.iter().find(|operation| operation.op.key.leg == leg)
    }

    /// The same key with another outcome, number, account, asset or amount.
    pub(crate) fn contradict(&self, operation: &Operation) -> bool {
        self.of(operation.op.key.leg).is_some_and(|stored| stored != operation)
    }

    pub(crate) fn has(&self, leg: Leg) -> bool {
        self.of(leg).is_some()
    }

    fn done(&self, leg: Leg) -> Option<&Operation> {
        self.of(leg).filter(|operation| operation.outcome == Outcome::Done)
    }
}

/// Reads an operation from (req_id, leg, result, code, seq, asset_id, amount, account).
pub(crate) fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let leg = row.get_ref(1)?.as_str()?;
    let leg = Leg::parse(leg).ok_or_else(|| text::damaged(1, "not a leg"))?;
    Ok(Operation {
        seq: text::uint(row.get(4)?),
        op: Op {
            key: Key { id: text::read_id(0, row.get_ref(0)?.as_str()?)?, leg },
            account: text::read_account(7, row.get_ref(7)?.as_str()?)?,
            other: None,
            asset: AssetId(row.get(5)?),
            amount: text::read_amount(6, row.get_ref(6)?.as_str()?)?,
        },
        outcome: text::read_outcome(2, row.get_ref(2)?.as_str()?, row.get(3)?)?,
    })
}

/// The columns that [`operation`] reads.
pub(crate) const COLUMNS: &str = "req_id, leg, result, code, seq, asset_id, amount, account";

/// The same thing was asked.
fn same(stored: &Op, op: &Op) -> bool {
    stored.account == op.account && stored.asset == op.asset && stored.amount == op.amount
}

fn unknown(class: &'static str, detail: &str) -> Answer {
    Answer::Unknown(Cause::because(class, detail))
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

impl Group<'_> {
    /// The legs that a ledger stored for a transfer.
    pub(crate) fn legs(&mut self, ledger: LedgerId, id: Id) -> rusqlite::Result<Legs> {
        let stored = match self.legs.take() {
            Some((of, stored)) if of == id => stored,
            _ if self.lane.operated.is_none_or(|highest| id > highest) => Vec::new(),
            _ => self.read_legs(id)?,
        };
        let of = stored.iter().filter(|(at, _)| *at == ledger);
        let legs = Legs(of.map(|(_, operation)| operation.clone()).collect());
        self.legs = Some((id, stored));
        Ok(legs)
    }

    fn read_legs(&self, id: Id) -> rusqlite::Result<Vec<(LedgerId, Operation)>> {
        let sql = "SELECT req_id, leg, result, code, seq, asset_id, amount, account, ledger \
                   FROM operations WHERE req_id = ?";
        let mut ask = self.db.prepare_cached(sql)?;
        let read = |row: &Row<'_>| Ok((LedgerId(row.get(8)?), operation(row)?));
        ask.query_map([id.to_string()], read)?.collect()
    }

    /// Decides one leg against what is stored and what this write did so far. Only `Done` and
    /// `Rejected` leave a new operation; `Unknown` leaves nothing.
    pub(crate) fn decide(
        &mut self,
        op: &Op,
        new: &mut Vec<NewOperation>,
        undo: &mut Undo,
    ) -> rusqlite::Result<Answer> {
        let mut legs = self.legs(LedgerId::FUNDING, op.key.id)?;
        let fresh = new.iter().map(|new| &new.operation);
        legs.0.extend(fresh.filter(|o| o.op.key.id == op.key.id).cloned());
        if let Some(stored) = legs.of(op.key.leg) {
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
        if !sound || !counts || !self.knows(op)? {
            return Ok(unknown("BAD_OPERATION", "user, asset or amount"));
        }
        let decided = match op.key.leg {
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
        self.lane.seq += 1;
        let operation = Operation { seq: self.lane.seq, op: op.clone(), outcome };
        let said = answer(&operation);
        new.push(NewOperation { operation });
        Ok(said)
    }

    fn knows(&mut self, op: &Op) -> rusqlite::Result<bool> {
        let assets = match self.assets.take() {
            Some(assets) => assets,
            None => {
                let mut ask = self.db.prepare_cached("SELECT asset_id FROM assets_tb")?;
                let read = |row: &Row<'_>| row.get(0).map(AssetId);
                ask.query_map([], read)?.collect::<rusqlite::Result<_>>()?
            }
        };
        let known = assets.contains(&op.asset);
        self.assets = Some(assets);
        Ok(known)
    }

    /// `available → frozen`.
    fn withdraw(
        &mut self,
        op: &Op,
        user: UserId,
        undo: &mut Undo,
    ) -> rusqlite::Result<Result<(), Answer>> {
        let Some(balance) = self.books.balance(self.db, user, op.asset)? else {
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
        let after = Balance { available, frozen, ..balance };
        self.books.put(undo, (user, op.asset), balance, after);
        Ok(Ok(()))
    }

    /// `clearing → available`.
    fn deposit(
        &mut self,
        op: &Op,
        user: UserId,
        undo: &mut Undo,
    ) -> rusqlite::Result<Result<(), Answer>> {
        let Some(balance) = self.books.balance(self.db, user, op.asset)? else {
            return Ok(Err(refused(Code::TargetAccountNotFound)));
        };
        if let Some(code) = balance.status.bars_deposit() {
            return Ok(Err(refused(code)));
        }
        let (Some(available), Some(delta)) =
            (balance.available.plus(op.amount), op.amount.signed())
        else {
            return Ok(Err(unknown("BAD_OPERATION", "a balance too large")));
        };
        let after = Balance { available, ..balance };
        self.books.put(undo, (user, op.asset), balance, after);
        self.books.add(undo, Book::Clearing, op.asset, delta.saturating_neg());
        Ok(Ok(()))
    }

    /// Settle (`frozen → clearing`) or refund (`frozen → available`): cannot be refused, and needs
    /// the hold that it closes.
    fn close(
        &mut self,
        op: &Op,
        user: UserId,
        legs: &Legs,
        undo: &mut Undo,
    ) -> rusqlite::Result<Result<(), Answer>> {
        let other = if op.key.leg == Leg::Refund { Leg::Settle } else { Leg::Refund };
        let held = legs.done(Leg::Withdraw).is_some_and(|withdraw| same(&withdraw.op, op));
        if !held || legs.done(other).is_some() {
            return Ok(Err(unknown("CONTRADICTION", "no hold that this could close")));
        }
        let Some(balance) = self.books.balance(self.db, user, op.asset)? else {
            return Ok(Err(unknown("CONTRADICTION", "the held account is gone")));
        };
        let Some(frozen) = balance.frozen.minus(op.amount) else {
            return Ok(Err(unknown("CONTRADICTION", "less is frozen than was held")));
        };
        let back = if op.key.leg == Leg::Refund { op.amount } else { kernel::money::Amount::ZERO };
        let (Some(available), Some(delta)) = (balance.available.plus(back), op.amount.signed())
        else {
            return Ok(Err(unknown("BAD_OPERATION", "a balance too large")));
        };
        let after = Balance { available, frozen, ..balance };
        self.books.put(undo, (user, op.asset), balance, after);
        if op.key.leg == Leg::Settle {
            self.books.add(undo, Book::Clearing, op.asset, delta);
        }
        Ok(Ok(()))
    }

    /// Writes a decided operation or a receipt.
    pub(crate) fn store(
        &mut self,
        ledger: LedgerId,
        operation: &Operation,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO operations \
                     (req_id, ledger, leg, result, code, seq, asset_id, amount, account, at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let op = &operation.op;
        let (result, code) = text::outcome(&operation.outcome);
        self.db.prepare_cached(sql)?.execute(params![
            op.key.id.to_string(),
            ledger.0,
            op.key.leg.name(),
            result,
            code,
            int(operation.seq),
            op.asset.0,
            text::amount(op.amount),
            text::account(&op.account),
            int(self.at),
        ])?;
        self.lane.operated = higher(self.lane.operated, op.key.id);
        if let Some((id, legs)) = &mut self.legs
            && *id == op.key.id
        {
            legs.push((ledger, operation.clone()));
        }
        Ok(())
    }
}

fn refused(code: Code) -> Answer {
    Answer::Rejected(Evidence::code(code), Receipt::default())
}
