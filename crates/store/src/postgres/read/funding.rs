//! Answers queries to the enlisted ledgers: stored operations, totals, balances and booked movements.

use super::read_pool::{ReadPool, one, rows};
use super::sums;
use crate::postgres::columns::{self, count, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::rows::operation;
use crate::postgres::session::connect::Pooled;
use crate::postgres::single::{BOOKED, OF_REFERENCE, booked_movement};
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId, UserId};
use kernel::operation::{Key, Operation};
use kernel::ports::ledger::{External, Holding, Moved, Stored, Totals, Whose};
use tokio_postgres::Row;

/// The highest number of an operation that was written.
async fn highest(db: &Pooled) -> Result<u64, StoreError> {
    let row = one(db, "SELECT coalesce(max(seq), 0) FROM lanes", &[]).await?;
    row.map_or(Ok(0), |row| Ok(uint(row.try_get(0)?)))
}

/// The earlier result of a movement's reference, if there is one.
async fn before(db: &Pooled, movement: &External) -> Result<Option<Moved>, StoreError> {
    let key: (&str, &str) = (columns::direction(movement.direction), &movement.reference);
    let row = one(db, &format!("{BOOKED} {OF_REFERENCE}"), &[&key.0, &key.1]).await?;
    row.map(|row| Ok(booked_movement(&row)?.answer(movement))).transpose()
}

fn holding(row: &Row) -> Result<Holding, StoreError> {
    Ok(Holding {
        user: UserId(uint(row.try_get(0)?)),
        asset: AssetId(count(row.try_get(1)?)),
        available: columns::read_amount(row.try_get(2)?)?,
        frozen: columns::read_amount(row.try_get(3)?)?,
        status: columns::read_status(row.try_get(4)?)?,
    })
}

impl ReadPool {
    /// The highest number of an operation at an enlisted ledger.
    pub(crate) async fn highest(&self) -> Result<u64, Cause> {
        Ok(highest(&self.question().await?).await?)
    }

    /// The operation stored under a key, and the highest number then.
    pub(crate) async fn stored(&self, ledger: LedgerId, key: Key) -> Result<(u64, Stored), Cause> {
        let db = self.question().await?;
        let sql = format!(
            "SELECT {} FROM operations WHERE req_id = $1 AND ledger = $2 AND leg = $3",
            sums::COLUMNS
        );
        let of = (columns::uuid(key.id), i16::from(ledger.0), key.leg.name());
        let found = one(&db, &sql, &[&of.0, &of.1, &of.2]).await?;
        let found = found.map(|row| operation(&row)).transpose()?;
        let stored = found.map_or(Stored::Nothing, |(_, operation)| Stored::Found(operation));
        Ok((highest(&db).await?, stored))
    }

    /// A ledger's books and the highest number, at one instant.
    pub(crate) async fn totals(
        &self,
        ledger: LedgerId,
    ) -> Result<(u64, Vec<(AssetId, Totals)>), Cause> {
        let instant = self.instant().await?;
        let db = instant.db()?;
        Ok((highest(db).await?, sums::books(db, ledger).await?))
    }

    /// A ledger's operations above a number, and the highest one, at one instant.
    pub(crate) async fn operations(
        &self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Result<(u64, Vec<Operation>), Cause> {
        let instant = self.instant().await?;
        let db = instant.db()?;
        Ok((highest(db).await?, sums::operations(db, ledger, after, limit).await?))
    }

    /// Balances, and the highest number then.
    pub(crate) async fn accounts(&self, whose: Whose) -> Result<(u64, Vec<Holding>), Cause> {
        let (low, high, limit) = match whose {
            Whose::User(user) => (int(user.0), int(user.0), i64::MAX),
            Whose::After(user, limit) => {
                (int(user).saturating_add(1), i64::MAX, columns::most(limit))
            }
        };
        let sql = "SELECT user_id, asset_id, available::text, frozen::text, status \
                   FROM balances_tb WHERE account_type = 'FUNDING' AND user_id BETWEEN $1 AND $2 \
                   ORDER BY user_id, asset_id LIMIT $3";
        let db = self.question().await?;
        let found = rows(&db, sql, &[&low, &high, &limit]).await?;
        let found = found.iter().map(holding).collect::<Result<_, _>>()?;
        Ok((highest(&db).await?, found))
    }

    /// The movement that was booked for this reference before.
    pub(crate) async fn booked(&self, movement: &External) -> Result<Option<Moved>, Cause> {
        Ok(before(&self.question().await?, movement).await?)
    }
}
