//! Seals of the audit, and what became of webhooks.

use super::super::fault::Fault;
use super::super::text::{int, uint};
use super::super::work::Try;
use super::{Alone, End};
use kernel::answer::Cause;
use kernel::audit::seal::Seal;

/// Where it is kept that webhooks are posted.
const TOLD: &str = "webhooks";

impl Alone<'_> {
    /// Writes a seal. The one before it is there, none of its number, and no lane is covered beyond
    /// what it wrote: a lane writes one row after the other, so nothing lower comes later, however
    /// long a COMMIT is held back.
    pub(super) async fn seal(&self, seal: &Seal) -> Result<End<Result<(), Cause>>, Fault> {
        let sql = "SELECT coalesce(max(seal), 0) FROM audit_seals";
        let last: i64 = self.row(sql, &[]).await?.ok_or(Fault::Damaged("no seal"))?.try_get(0)?;
        let mut fits = uint(last).checked_add(1) == Some(seal.number);
        let statement = self.lane.prepared("SELECT lane, n FROM lanes").await?;
        for row in self.lane.client.query(&statement, &[]).await? {
            let lane = u64::try_from(row.try_get::<_, i32>(0)?).unwrap_or(0);
            fits = fits && seal.cover.of(lane) <= uint(row.try_get(1)?);
        }
        if !fits {
            return Ok(End::Drop(Err(Cause::of("SUPERSEDED"))));
        }
        let sql = "INSERT INTO audit_seals (seal, at, lanes, root, previous, mac) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (number, at, cover) = (int(seal.number), int(seal.at), seal.cover.to_string());
        let (root, previous, mac) =
            (seal.root.as_slice(), seal.previous.as_slice(), seal.mac.as_slice());
        self.execute(sql, &[&number, &at, &cover, &root, &previous, &mac]).await?;
        Ok(End::Keep(Ok(())))
    }

    /// Notes one more try. What was delivered stays delivered.
    pub(super) async fn tried(&self, tried: &Try) -> Result<End<()>, Fault> {
        let sql = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = $3, error = $4 \
                   WHERE case_id = $1 AND tells = $2 AND due_at IS NOT NULL";
        let (case, due, error) = (int(tried.case), tried.due_at.map(int), tried.error.as_deref());
        self.execute(sql, &[&case, &tried.tells.name(), &due, &error]).await?;
        Ok(End::Keep(()))
    }

    /// From now on webhooks are posted; what had ended before the first time is told to nobody.
    pub(super) async fn telling(&self) -> Result<End<()>, Fault> {
        if self.version(TOLD).await? > 0 {
            return Ok(End::Drop(()));
        }
        let sql = "UPDATE webhook_deliveries SET due_at = NULL, error = 'over before any was posted' \
                   WHERE attempts = 0 AND case_id IN \
                     (SELECT case_id FROM cases WHERE closed_at IS NOT NULL)";
        self.execute(sql, &[]).await?;
        self.set(TOLD, "posted").await?;
        Ok(End::Keep(()))
    }
}
