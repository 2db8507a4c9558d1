//! Writes the seals of the audit.

use super::{Finish, SingleTransaction, TransactionBody};
use crate::postgres::columns::{int, uint};
use crate::postgres::error::StoreError;
use kernel::answer::Cause;
use kernel::audit::seal::Seal;

/// A seal is written where the one before it is there, none of its number, and no lane is covered
/// beyond what it wrote: a lane writes one row after the other, so nothing lower comes later,
/// however long a COMMIT is held back.
impl TransactionBody<Result<(), Cause>> for Seal {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<Result<(), Cause>>, StoreError> {
        let sql = "SELECT coalesce(max(seal), 0) FROM audit_seals";
        let last: i64 =
            transaction.row(sql, &[]).await?.ok_or(StoreError::Damaged("no seal"))?.try_get(0)?;
        let mut fits = uint(last).checked_add(1) == Some(self.number);
        let statement = transaction.connection.prepared("SELECT lane, n FROM lanes").await?;
        for row in transaction.connection.client.query(&statement, &[]).await? {
            let lane = u64::try_from(row.try_get::<_, i32>(0)?).unwrap_or(0);
            fits = fits && self.cover.of(lane) <= uint(row.try_get(1)?);
        }
        if !fits {
            return Ok(Finish::Rollback(Err(Cause::of("SUPERSEDED"))));
        }
        let sql = "INSERT INTO audit_seals (seal, at, lanes, root, previous, mac) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (number, at, cover) = (int(self.number), int(self.at), self.cover.to_string());
        let (root, previous, mac) =
            (self.root.as_slice(), self.previous.as_slice(), self.mac.as_slice());
        transaction.execute(sql, &[&number, &at, &cover, &root, &previous, &mac]).await?;
        Ok(Finish::Commit(Ok(())))
    }
}
