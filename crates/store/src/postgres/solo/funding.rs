//! What Funding does by itself: tombstones, an account's status, money from the world and back.

use super::super::board::{Balance, Book, Undo};
use super::super::fault::Fault;
use super::super::text::{direction, int, read_amount, small, uint};
use super::{Alone, End};
use crate::deeds::Deeds;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::ports::ledger::{AccountStatus, Direction, External, Moved, StatusChange, Stored};
use kernel::record::Account;
use kernel::unit::{Key, Op, Operation, Outcome};
use tokio_postgres::Row;

/// Asks what became of (direction, reference).
pub(crate) const BOOKED: &str = "SELECT operation_id, user_id, asset_id, amount::text, \
    available::text, at FROM externals WHERE direction = $1 AND reference = $2";

/// What became of it before.
pub(crate) fn booked(movement: &External, row: &Row) -> Result<Moved, Fault> {
    let user = UserId(uint(row.try_get(1)?));
    let asset = AssetId(super::super::text::count(row.try_get(2)?));
    let amount = read_amount(row.try_get(3)?)?;
    let pairs = [
        ("user_id", user != movement.user),
        ("asset", asset != movement.asset),
        ("amount", amount != movement.amount),
    ];
    let differ: Vec<_> = pairs.into_iter().filter(|pair| pair.1).map(|pair| pair.0).collect();
    if !differ.is_empty() {
        return Ok(Moved::Conflict(differ));
    }
    Ok(Moved::Done {
        operation: uint(row.try_get(0)?),
        available: read_amount(row.try_get(4)?)?,
        at: uint(row.try_get(5)?),
        replayed: true,
    })
}

impl Alone<'_> {
    /// A tombstone, or what is stored already.
    pub(super) async fn fence(&mut self, key: Key) -> Result<End<Stored>, Fault> {
        let legs = self.board.legs.get(&key.id).into_iter().flatten();
        let mut ours = legs.filter(|(at, _)| *at == LedgerId::FUNDING).map(|(_, stored)| stored);
        if let Some(stored) = ours.find(|stored| stored.op.key.leg == key.leg) {
            return Ok(End::Drop(Stored::Found(stored.clone())));
        }
        if !key.leg.refusable() {
            return Ok(End::Drop(Stored::Nothing));
        }
        let op = Op {
            key,
            account: Account::Named("fence".into()),
            other: None,
            asset: AssetId(0),
            amount: Amount::ZERO,
        };
        let operation = Operation { seq: self.number(), op, outcome: Outcome::Fenced };
        self.board.changes.operations.push((LedgerId::FUNDING, operation.clone()));
        Ok(End::Keep(Stored::Found(operation)))
    }

    fn number(&mut self) -> u64 {
        let seq = self.board.numbers.seq;
        self.board.numbers.seq = seq.saturating_add(1);
        seq
    }

    /// An account's status, once for each key; the inner error: the key belongs to another change.
    pub(super) async fn status(
        &mut self,
        change: &StatusChange,
    ) -> Result<End<Result<bool, Cause>>, Fault> {
        let subject = format!("FUNDING/{}", change.user);
        let value = change.status.name();
        let sql = "SELECT found, subject = $2 AND value = $3 FROM status_changes \
                   WHERE idempotency_key = $1";
        if let Some(row) = self.row(sql, &[&&*change.key, &subject, &value]).await? {
            let same: bool = row.try_get(1)?;
            let found = row.try_get(0)?;
            return Ok(End::Drop(if same { Ok(found) } else { Err(Cause::of("CONTRADICTION")) }));
        }
        let sql = "UPDATE balances_tb SET status = $2, version = version + 1 \
                   WHERE user_id = $1 AND account_type = 'FUNDING'";
        let found = self.execute(sql, &[&int(change.user.0), &value]).await? > 0;
        let sql = "INSERT INTO status_changes \
                     (subject, value, reason, caller, idempotency_key, found, at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (reason, caller, key, at) = (&*change.reason, &*change.caller, &*change.key, self.at());
        self.execute(sql, &[&subject, &value, &reason, &caller, &key, &found, &at]).await?;
        Ok(End::Keep(Ok(found)))
    }

    /// Books one movement, once for each (direction, reference).
    pub(super) async fn external(&mut self, movement: &External) -> Result<End<Moved>, Fault> {
        let (direction, reference) = (direction(movement.direction), &*movement.reference);
        if let Some(row) = self.row(BOOKED, &[&direction, &reference]).await? {
            return Ok(End::Drop(booked(movement, &row)?));
        }
        let (before, after, delta) = match self.booking(movement)? {
            Ok(booking) => booking,
            Err(code) => return Ok(End::Drop(Moved::Refused(code))),
        };
        let available = after.available;
        let mut undo = Undo::default();
        if before.is_none() {
            let purse = super::super::board::Purse::Open(after);
            self.board.purses.insert((movement.user, movement.asset), purse);
        }
        self.board.put(&mut undo, (movement.user, movement.asset), after);
        self.board.add(&mut undo, Book::World, movement.asset, delta);
        let operation = self.number();
        let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
                   amount, available, reason, caller, at) VALUES \
                   ($1, $2, $3, $4, $5, ($6::text)::numeric, ($7::text)::numeric, $8, $9, $10)";
        let (number, user, asset) = (int(operation), int(movement.user.0), small(movement.asset.0));
        let (amount, rest) = (movement.amount.0.to_string(), available.0.to_string());
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 10] = [
            &number,
            &direction,
            &reference,
            &user,
            &asset,
            &amount,
            &rest,
            &&*movement.reason,
            &&*movement.caller,
            &self.at(),
        ];
        self.execute(sql, &row).await?;
        self.deed(Deeds::World, number).await?;
        let at = self.board.at;
        Ok(End::Keep(Moved::Done { operation, available, at, replayed: false }))
    }

    /// The balance before and after, and what the world's book grows by; or the refusal.
    #[expect(clippy::type_complexity, reason = "three facts, used once")]
    fn booking(
        &self,
        movement: &External,
    ) -> Result<Result<(Option<Balance>, Balance, i128), Code>, Fault> {
        let External { user, asset, amount, .. } = *movement;
        let known = self.board.flags.assets.contains(&asset);
        let known = known && user.0 > 0 && i64::try_from(user.0).is_ok();
        let (Some(delta), true) = (amount.signed().filter(|amount| *amount > 0), known) else {
            return Ok(Err(Code::InvalidAmount));
        };
        let before = match self.board.balance(user, asset) {
            Ok(before) => before,
            Err(super::super::board::Stop::Fault(fault)) => return Err(fault),
            Err(super::super::board::Stop::Locked | super::super::board::Stop::Again) => {
                return Err(Fault::Locked);
            }
        };
        let balance = match (before, movement.direction) {
            (Some(balance), _) => balance,
            // an account begins with its first deposit
            (None, Direction::In) => Balance {
                available: Amount::ZERO,
                frozen: Amount::ZERO,
                status: AccountStatus::Active,
                stored: false,
                changed: true,
            },
            (None, Direction::Out) => return Ok(Err(Code::AccountNotFound)),
        };
        let (barred, after, delta) = match movement.direction {
            Direction::In => {
                let after = balance.available.plus(amount).ok_or(Code::Overflow);
                (balance.status.bars_deposit(), after, delta.saturating_neg())
            }
            Direction::Out => {
                let after = balance.available.minus(amount).ok_or(Code::InsufficientBalance);
                (balance.status.bars_withdraw(), after, delta)
            }
        };
        Ok(match (barred, after) {
            (Some(code), _) | (None, Err(code)) => Err(code),
            (None, Ok(available)) => Ok((before, Balance { available, ..balance }, delta)),
        })
    }
}
