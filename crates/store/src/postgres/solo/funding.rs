//! What Funding does by itself: tombstones, an account's status, money from the world and back.

use super::super::fault::Fault;
use super::super::text::{count, direction, int, read_amount, small, uint};
use super::{Alone, End, Fill};
use crate::deeds::Deeds;
use crate::rules::{self, Booked, Booking, No};
use kernel::answer::Cause;
use kernel::ids::{AssetId, UserId};
use kernel::ports::ledger::{External, Moved, StatusChange, Stored};
use kernel::unit::Key;
use tokio_postgres::Row;

/// Asks what became of (direction, reference).
pub(crate) const BOOKED: &str = "SELECT operation_id, user_id, asset_id, amount::text, \
    available::text, at FROM externals WHERE direction = $1 AND reference = $2";

/// What became of it before.
pub(crate) fn booked(movement: &External, row: &Row) -> Result<Moved, Fault> {
    let booked = Booked {
        operation: uint(row.try_get(0)?),
        user: UserId(uint(row.try_get(1)?)),
        asset: AssetId(count(row.try_get(2)?)),
        amount: read_amount(row.try_get(3)?)?,
        available: read_amount(row.try_get(4)?)?,
        at: uint(row.try_get(5)?),
    };
    Ok(booked.answer(movement))
}

/// A tombstone, or what is stored already.
impl Fill for Key {
    type Said = Stored;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Stored>, Fault> {
        let (stored, posting) = rules::fence(&mut alone.board, *self)?;
        if posting.operations.is_empty() {
            return Ok(End::Drop(stored));
        }
        alone.board.post(posting);
        Ok(End::Keep(stored))
    }
}

/// An account's status, once for each key; the inner error: the key belongs to another change.
impl Fill for StatusChange {
    type Said = Result<bool, Cause>;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Self::Said>, Fault> {
        let subject = format!("FUNDING/{}", self.user);
        let value = self.status.name();
        let sql = "SELECT found, subject = $2 AND value = $3 FROM status_changes \
                   WHERE idempotency_key = $1";
        if let Some(row) = alone.row(sql, &[&&*self.key, &subject, &value]).await? {
            let same: bool = row.try_get(1)?;
            let found = row.try_get(0)?;
            return Ok(End::Drop(if same { Ok(found) } else { Err(Cause::of("CONTRADICTION")) }));
        }
        // whoever waits for a row holds nothing that others need: it comes again
        let sql = "SELECT FROM balances_tb WHERE user_id = $1 AND account_type = 'FUNDING' \
                   FOR NO KEY UPDATE NOWAIT";
        alone.execute(sql, &[&int(self.user.0)]).await?;
        let sql = "UPDATE balances_tb SET status = $2, version = version + 1 \
                   WHERE user_id = $1 AND account_type = 'FUNDING'";
        let found = alone.execute(sql, &[&int(self.user.0), &value]).await? > 0;
        let sql = "INSERT INTO status_changes \
                     (subject, value, reason, caller, idempotency_key, found, at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (reason, caller, key, at) = (&*self.reason, &*self.caller, &*self.key, alone.at());
        alone.execute(sql, &[&subject, &value, &reason, &caller, &key, &found, &at]).await?;
        Ok(End::Keep(Ok(found)))
    }
}

/// One movement, once for each (direction, reference).
impl Fill for External {
    type Said = Moved;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Moved>, Fault> {
        let (direction, reference) = (direction(self.direction), &*self.reference);
        if let Some(row) = alone.row(BOOKED, &[&direction, &reference]).await? {
            return Ok(End::Drop(booked(self, &row)?));
        }
        let Booking { operation, available, posting } = match rules::book(&mut alone.board, self) {
            Ok(booking) => booking,
            Err(No::Said(code)) => return Ok(End::Drop(Moved::Refused(code))),
            Err(No::Stop(stop)) => return Err(stop.into()),
        };
        alone.board.post(posting);
        alone.board.numbers.seq = operation.saturating_add(1);
        let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
                   amount, available, reason, caller, at) VALUES \
                   ($1, $2, $3, $4, $5, ($6::text)::numeric, ($7::text)::numeric, $8, $9, $10)";
        let (number, user, asset) = (int(operation), int(self.user.0), small(self.asset.0));
        let (amount, rest) = (self.amount.0.to_string(), available.0.to_string());
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 10] = [
            &number,
            &direction,
            &reference,
            &user,
            &asset,
            &amount,
            &rest,
            &&*self.reason,
            &&*self.caller,
            &alone.at(),
        ];
        alone.execute(sql, &row).await?;
        let moved = (self.direction, self.asset, self.amount);
        alone.board.changes.externals.push(moved);
        alone.deed(Deeds::World, number).await?;
        let at = alone.board.at;
        Ok(End::Keep(Moved::Done { operation, available, at, replayed: false }))
    }
}
