//! Writes the changes at Funding that belong to no unit: tombstones, an account's status, deposits and
//! withdrawals.

use super::{Finish, SingleTransaction, TransactionBody};
use crate::audit_chain::AuditChain;
use crate::postgres::columns::{count, direction, int, read_amount, read_direction, small, uint};
use crate::postgres::error::StoreError;
use crate::postgres::read::operators::{maybe, words};
use crate::postgres::write::work::FenceRequest;
use crate::postgres::write::workspace::BookedExternal;
use kernel::answer::Cause;
use kernel::ids::{AssetId, UserId};
use kernel::ports::ledger::{Authority, BookedMovement, External, Moved, StatusChange, Stored};
use kernel::rules::{self, MovementPlan, Request, Stopped};
use tokio_postgres::Row;

/// Reads booked movements, each in the order of [`booked_movement`].
pub(crate) const BOOKED: &str = "SELECT operation_id, direction, reference, user_id, account_number, asset_id, \
    amount::text, available::text, reason, caller, at FROM externals";

/// The condition for the movement of a (direction, reference).
pub(crate) const OF_REFERENCE: &str = "WHERE direction = $1 AND reference = $2";

pub(crate) fn booked_movement(row: &Row) -> Result<BookedMovement, StoreError> {
    let movement = External {
        direction: read_direction(row.try_get(1)?)?,
        reference: words(row, 2)?,
        user: UserId(uint(row.try_get(3)?)),
        number: maybe(row, 4)?,
        asset: AssetId(count(row.try_get(5)?)),
        amount: read_amount(row.try_get(6)?)?,
        reason: words(row, 8)?,
        caller: words(row, 9)?,
    };
    Ok(BookedMovement {
        operation: uint(row.try_get(0)?),
        movement,
        available: read_amount(row.try_get(7)?)?,
        at: uint(row.try_get(10)?),
    })
}

/// A tombstone, or what is stored already; the inner error: HALT keeps it from being written.
impl TransactionBody<Result<Stored, Cause>> for FenceRequest {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<Result<Stored, Cause>>, StoreError> {
        let (stored, posting) =
            match rules::fence(&mut transaction.workspace, self.ledger, self.key) {
                Ok(decided) => decided,
                Err(Stopped::Answer(cause)) => return Ok(Finish::Rollback(Err(cause))),
                Err(Stopped::Error(stop)) => return Err(stop.into()),
            };
        if posting.operations.is_empty() {
            return Ok(Finish::Rollback(Ok(stored)));
        }
        transaction.workspace.post(posting);
        Ok(Finish::Commit(Ok(stored)))
    }
}

/// An account's status, once for each key; the inner error: the key belongs to another change.
impl TransactionBody<Result<bool, Cause>> for StatusChange {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<Result<bool, Cause>>, StoreError> {
        let subject = format!("FUNDING/{}", self.user);
        let value = self.status.name();
        let sql = "SELECT found, subject = $2 AND value = $3 FROM status_changes \
                   WHERE idempotency_key = $1";
        if let Some(row) = transaction.row(sql, &[&&*self.key, &subject, &value]).await? {
            let same: bool = row.try_get(1)?;
            let found = row.try_get(0)?;
            return Ok(Finish::Rollback(if same {
                Ok(found)
            } else {
                Err(Cause::of("CONTRADICTION"))
            }));
        }
        // a write that waits for a row holds nothing that others need: it is tried again
        let sql = "SELECT FROM balances_tb WHERE user_id = $1 AND account_type = 'FUNDING' \
                   FOR NO KEY UPDATE NOWAIT";
        transaction.execute(sql, &[&int(self.user.0)]).await?;
        let sql = "UPDATE balances_tb SET status = $2, version = version + 1 \
                   WHERE user_id = $1 AND account_type = 'FUNDING'";
        let found = transaction.execute(sql, &[&int(self.user.0), &value]).await? > 0;
        let sql = "INSERT INTO status_changes \
                     (subject, value, reason, caller, idempotency_key, found, at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (reason, caller, key, at) =
            (&*self.reason, &*self.caller, &*self.key, transaction.at());
        transaction.execute(sql, &[&subject, &value, &reason, &caller, &key, &found, &at]).await?;
        Ok(Finish::Commit(Ok(found)))
    }
}

/// One movement, once for each (direction, reference).
impl TransactionBody<Moved> for Request {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<Moved>, StoreError> {
        let movement = &self.movement;
        let (direction, reference) = (direction(movement.direction), &*movement.reference);
        let sql = format!("{BOOKED} {OF_REFERENCE}");
        if let Some(row) = transaction.row(&sql, &[&direction, &reference]).await? {
            return Ok(Finish::Rollback(booked_movement(&row)?.answer(movement)));
        }
        transaction.read_external_request(self).await?;
        let booking = match rules::book(&mut transaction.workspace, self) {
            Ok(booking) => booking,
            Err(Stopped::Answer(code)) => return Ok(Finish::Rollback(Moved::Refused(code))),
            Err(Stopped::Error(stop)) => return Err(stop.into()),
        };
        let MovementPlan { operation, available, posting, counter } = booking;
        transaction.workspace.post(posting);
        transaction.workspace.numbers.seq = operation.saturating_add(1);
        let sql = "INSERT INTO externals (operation_id, direction, reference, user_id, asset_id, \
                   amount, available, reason, caller, at, account_number) VALUES \
                   ($1, $2, $3, $4, $5, ($6::text)::numeric, ($7::text)::numeric, $8, $9, $10, $11)";
        let (number, user, asset) = (int(operation), int(movement.user.0), small(movement.asset.0));
        let (amount, rest) = (movement.amount.0.to_string(), available.0.to_string());
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 11] = [
            &number,
            &direction,
            &reference,
            &user,
            &asset,
            &amount,
            &rest,
            &&*movement.reason,
            &&*movement.caller,
            &transaction.at(),
            &movement.number.as_deref(),
        ];
        transaction.execute(sql, &row).await?;
        let External { direction, asset, amount, .. } = *movement;
        let moved = BookedExternal { ledger: movement.ledger(), direction, asset, amount };
        transaction.workspace.changes.externals.push(moved);
        transaction.append_to_chain(AuditChain::ExternalMovements, number).await?;
        if let Some((name, sum)) = counter {
            transaction.set(&format!("counter/{name}"), &sum.to_string()).await?;
        }
        if let Authority::Approved(approved) = &self.authority {
            for put in approved.puts() {
                transaction.put(&put).await?;
            }
        }
        let at = transaction.workspace.at;
        Ok(Finish::Commit(Moved::Done { operation, available, at, replayed: false }))
    }
}
