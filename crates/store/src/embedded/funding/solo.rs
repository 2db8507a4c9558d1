//! What Funding does by itself: single legs, tombstones, an account's status, money from the world and
//! back.

use super::super::group::Group;
use super::super::text::{self, int, uint};
use crate::deeds::Deeds;
use crate::rules::{self, Booked, Booking, No};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::ports::ledger::{External, Moved, StatusChange, Stored};
use kernel::unit::{Key, Op};
use rusqlite::{Connection, OptionalExtension, Row, params};

impl Group<'_> {
    /// One leg: the plain path.
    pub(crate) fn leg(&mut self, op: &Op) -> rusqlite::Result<Answer> {
        let (answer, posting) = rules::leg(self, op)?;
        self.post(posting)?;
        Ok(answer)
    }

    /// A tombstone, or what is stored already.
    pub(crate) fn fence(&mut self, key: Key) -> rusqlite::Result<Stored> {
        let (stored, posting) = rules::fence(self, key)?;
        self.post(posting)?;
        Ok(stored)
    }

    /// An account's status, once for each key; the inner error: the key belongs to another change.
    pub(crate) fn status(
        &mut self,
        change: &StatusChange,
    ) -> rusqlite::Result<Result<bool, Cause>> {
        let subject = format!("FUNDING/{}", change.user);
        let sql = "SELECT found, subject = ?2 AND value = ?3 FROM status_changes \
                   WHERE idempotency_key = ?1";
        let key = params![&*change.key, subject, change.status.name()];
        let done: Option<(bool, bool)> = self
            .db
            .prepare_cached(sql)?
            .query_row(key, |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match done {
            Some((found, true)) => return Ok(Ok(found)),
            Some((_, false)) => return Ok(Err(Cause::of("CONTRADICTION"))),
            None => {}
        }
        self.books.forget(self.db)?;
        let sql = "UPDATE balances_tb SET status = ?2, version = version + 1 \
                   WHERE user_id = ?1 AND account_type = 'FUNDING'";
        let row = params![int(change.user.0), change.status.name()];
        let found = self.db.prepare_cached(sql)?.execute(row)? > 0;
        let sql = "INSERT INTO status_changes \
                     (subject, value, reason, caller, idempotency_key, found, at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            subject,
            change.status.name(),
            &*change.reason,
            &*change.caller,
            &*change.key,
            found,
            int(self.at),
        ])?;
        Ok(Ok(found))
    }

    /// Books one movement, once for each (direction, reference).
    pub(crate) fn external(&mut self, movement: &External) -> rusqlite::Result<Moved> {
        if let Some(before) = booked(self.db, movement)? {
            return Ok(before);
        }
        let Booking { operation, available, posting } = match rules::book(self, movement) {
            Ok(booking) => booking,
            Err(No::Said(code)) => return Ok(Moved::Refused(code)),
            Err(No::Stop(error)) => return Err(error),
        };
        self.post(posting)?;
        self.lane.seq = operation;
        let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
                   amount, available, reason, caller, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            int(operation),
            text::direction(movement.direction),
            &*movement.reference,
            int(movement.user.0),
            movement.asset.0,
            text::amount(movement.amount),
            text::amount(available),
            &*movement.reason,
            &*movement.caller,
            int(self.at),
        ])?;
        let direction = text::direction(movement.direction);
        let place = (LedgerId::FUNDING, movement.asset, direction, "DONE");
        self.running.add(place, movement.amount)?;
        self.deed(Deeds::World)?;
        Ok(Moved::Done { operation, available, at: self.at, replayed: false })
    }
}

/// What became of this reference before.
pub(super) fn booked(db: &Connection, movement: &External) -> rusqlite::Result<Option<Moved>> {
    let sql = "SELECT operation_id, user_id, asset_id, amount, available, at FROM externals \
               WHERE direction = ? AND reference = ?";
    let read = |row: &Row<'_>| {
        Ok(Booked {
            operation: uint(row.get(0)?),
            user: UserId(uint(row.get(1)?)),
            asset: AssetId(row.get(2)?),
            amount: text::read_amount(3, row.get_ref(3)?.as_str()?)?,
            available: text::read_amount(4, row.get_ref(4)?.as_str()?)?,
            at: uint(row.get(5)?),
        })
    };
    let key = params![text::direction(movement.direction), &*movement.reference];
    let booked = db.prepare_cached(sql)?.query_row(key, read).optional()?;
    Ok(booked.map(|booked| booked.answer(movement)))
}
