//! External money in and out of Funding accounts.

use super::super::group::Group;
use super::super::text::{self, int, uint};
use super::books::{Balance, Book, Undo};
use crate::deeds::Deeds;
use kernel::code::Code;
use kernel::ids::{AssetId, UserId};
use kernel::ports::ledger::{Direction, External, Moved};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Books one movement, once for each (direction, reference).
pub(crate) fn book(group: &mut Group<'_>, movement: &External) -> rusqlite::Result<Moved> {
    if let Some(before) = stored(group.db, movement)? {
        return Ok(before);
    }
    let External { user, asset, amount, .. } = *movement;
    let known = group.db.prepare_cached("SELECT 1 FROM assets_tb WHERE asset_id = ?")?;
    let known = { known }.exists([asset.0])?;
    let known = known && user.0 > 0 && i64::try_from(user.0).is_ok();
    let (Some(delta), true) = (amount.signed().filter(|a| *a > 0), known) else {
        return Ok(Moved::Refused(Code::InvalidAmount));
    };
    let balance = match (group.books.balance(group.db, user, asset)?, movement.direction) {
        (Some(balance), _) => balance,
        // an account begins with its first deposit
        (None, Direction::In) => group.books.create(user, asset),
        (None, Direction::Out) => return Ok(Moved::Refused(Code::AccountNotFound)),
    };
    let barred = match movement.direction {
        Direction::In => balance.status.bars_deposit(),
        Direction::Out => balance.status.bars_withdraw(),
    };
    if let Some(code) = barred {
        return Ok(Moved::Refused(code));
    }
    let (after, delta) = match movement.direction {
        Direction::In => (balance.available.plus(amount), delta.saturating_neg()),
        Direction::Out => (balance.available.minus(amount), delta),
    };
    let Some(available) = after else {
        return Ok(Moved::Refused(match movement.direction {
            Direction::In => Code::Overflow,
            Direction::Out => Code::InsufficientBalance,
        }));
    };
    let mut undo = Undo::default();
    let booked = Balance { available, ..balance };
    group.books.put(&mut undo, (user, asset), balance, booked);
    group.books.add(&mut undo, Book::World, asset, delta);
    group.lane.seq += 1;
    let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
               amount, available, reason, caller, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    group.db.prepare_cached(sql)?.execute(params![
        int(group.lane.seq),
        text::direction(movement.direction),
        &*movement.reference,
        int(user.0),
        asset.0,
        text::amount(amount),
        text::amount(available),
        &*movement.reason,
        &*movement.caller,
        int(group.at),
    ])?;
    group.deed(Deeds::World)?;
    Ok(Moved::Done { operation: group.lane.seq, available, at: group.at, replayed: false })
}

/// What became of this reference before.
pub(super) fn stored(db: &Connection, movement: &External) -> rusqlite::Result<Option<Moved>> {
    let sql = "SELECT operation_id, user_id, asset_id, amount, available, at FROM externals \
               WHERE direction = ? AND reference = ?";
    let read = |row: &Row<'_>| {
        let user = UserId(uint(row.get(1)?));
        let asset = AssetId(row.get(2)?);
        let amount = text::read_amount(3, row.get_ref(3)?.as_str()?)?;
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
            operation: uint(row.get(0)?),
            available: text::read_amount(4, row.get_ref(4)?.as_str()?)?,
            at: uint(row.get(5)?),
            replayed: true,
        })
    };
    let key = params![text::direction(movement.direction), &*movement.reference];
    db.prepare_cached(sql)?.query_row(key, read).optional()
}
