//! Writes the changes at Funding that belong to no unit: single legs, tombstones, an account's status,
//! deposits and withdrawals.

use crate::audit_chain::AuditChain;
use crate::sqlite::columns::{self, int, uint};
use crate::sqlite::write::batch::WriteBatch;
use crate::sqlite::write::work::FenceRequest;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::Op;
use kernel::ports::ledger::{Authority, BookedMovement, External, Moved, StatusChange, Stored};
use kernel::rules::{self, MovementPlan, Request, Stopped};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

impl WriteBatch<'_> {
    /// Executes one leg, on the plain path.
    pub(crate) fn leg(&mut self, ledger: LedgerId, op: &Op) -> rusqlite::Result<Answer> {
        let (answer, posting) = rules::leg(self, ledger, op)?;
        self.post(posting)?;
        Ok(answer)
    }

    /// A tombstone, or what is stored already; the inner error: HALT keeps it from being written.
    pub(crate) fn fence(&mut self, fence: FenceRequest) -> rusqlite::Result<Result<Stored, Cause>> {
        let (stored, posting) = match rules::fence(self, fence.ledger, fence.key) {
            Ok(decided) => decided,
            Err(Stopped::Answer(cause)) => return Ok(Err(cause)),
            Err(Stopped::Error(error)) => return Err(error),
        };
        self.post(posting)?;
        Ok(Ok(stored))
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
        self.balances.forget(self.db)?;
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
    pub(crate) fn external(&mut self, request: &Request) -> rusqlite::Result<Moved> {
        let movement = &request.movement;
        if let Some(before) = booked(self.db, movement)? {
            return Ok(before);
        }
        let booking = match rules::book(self, request) {
            Ok(booking) => booking,
            Err(Stopped::Answer(code)) => return Ok(Moved::Refused(code)),
            Err(Stopped::Error(error)) => return Err(error),
        };
        let MovementPlan { operation, available, posting, counter } = booking;
        self.post(posting)?;
        self.state.seq = operation;
        let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
                   amount, available, reason, caller, at, account_number) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            int(operation),
            columns::direction(movement.direction),
            &*movement.reference,
            int(movement.user.0),
            movement.asset.0,
            columns::amount(movement.amount),
            columns::amount(available),
            &*movement.reason,
            &*movement.caller,
            int(self.at),
            movement.number.as_deref(),
        ])?;
        let direction = columns::direction(movement.direction);
        let place = (movement.ledger(), movement.asset, direction, "DONE");
        self.running.add(place, movement.amount)?;
        self.append_to_chain(AuditChain::ExternalMovements)?;
        if let Some((name, sum)) = counter {
            self.set(&format!("counter/{name}"), &columns::amount(Amount(sum)))?;
        }
        if let Authority::Approved(approved) = &request.authority {
            for put in approved.puts() {
                self.put(&put)?;
            }
        }
        Ok(Moved::Done { operation, available, at: self.at, replayed: false })
    }
}

/// The earlier result of the movement's reference, if there is one.
pub(crate) fn booked(db: &Connection, movement: &External) -> rusqlite::Result<Option<Moved>> {
    let sql = format!("{BOOKED} WHERE direction = ? AND reference = ?");
    let key = params![columns::direction(movement.direction), &*movement.reference];
    let booked = db.prepare_cached(&sql)?.query_row(key, booked_movement).optional()?;
    Ok(booked.map(|booked| booked.answer(movement)))
}

/// Reads booked movements, each in the order of [`booked_movement`].
pub(crate) const BOOKED: &str = "SELECT operation_id, direction, reference, user_id, account_number, asset_id, amount, \
    available, reason, caller, at FROM externals";

pub(crate) fn booked_movement(row: &Row<'_>) -> rusqlite::Result<BookedMovement> {
    let text = |at| Ok::<_, rusqlite::Error>(Arc::from(row.get_ref(at)?.as_str()?));
    let movement = External {
        direction: columns::read_direction(1, row.get_ref(1)?.as_str()?)?,
        reference: text(2)?,
        user: UserId(uint(row.get(3)?)),
        number: row.get::<_, Option<String>>(4)?.map(Into::into),
        asset: AssetId(row.get(5)?),
        amount: columns::read_amount(6, row.get_ref(6)?.as_str()?)?,
        reason: text(8)?,
        caller: text(9)?,
    };
    Ok(BookedMovement {
        operation: uint(row.get(0)?),
        movement,
        available: columns::read_amount(7, row.get_ref(7)?.as_str()?)?,
        at: uint(row.get(10)?),
    })
}
