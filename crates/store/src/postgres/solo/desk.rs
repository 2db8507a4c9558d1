//! Seals of the audit, and what became of webhooks.

use super::super::fault::Fault;
use super::super::text::{int, uint};
use super::super::work::{Taking, Try};
use super::{Alone, End, Fill};
use kernel::answer::Cause;
use kernel::audit::seal::Seal;

/// Where it is kept that webhooks are posted.
const TOLD: &str = "webhooks";

/// A seal is written where the one before it is there, none of its number, and no lane is covered
/// beyond what it wrote: a lane writes one row after the other, so nothing lower comes later, however
/// long a COMMIT is held back.
impl Fill for Seal {
    type Said = Result<(), Cause>;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<Self::Said>, Fault> {
        let sql = "SELECT coalesce(max(seal), 0) FROM audit_seals";
        let last: i64 = alone.row(sql, &[]).await?.ok_or(Fault::Damaged("no seal"))?.try_get(0)?;
        let mut fits = uint(last).checked_add(1) == Some(self.number);
        let statement = alone.lane.prepared("SELECT lane, n FROM lanes").await?;
        for row in alone.lane.client.query(&statement, &[]).await? {
            let lane = u64::try_from(row.try_get::<_, i32>(0)?).unwrap_or(0);
            fits = fits && self.cover.of(lane) <= uint(row.try_get(1)?);
        }
        if !fits {
            return Ok(End::Drop(Err(Cause::of("SUPERSEDED"))));
        }
        let sql = "INSERT INTO audit_seals (seal, at, lanes, root, previous, mac) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (number, at, cover) = (int(self.number), int(self.at), self.cover.to_string());
        let (root, previous, mac) =
            (self.root.as_slice(), self.previous.as_slice(), self.mac.as_slice());
        alone.execute(sql, &[&number, &at, &cover, &root, &previous, &mac]).await?;
        Ok(End::Keep(Ok(())))
    }
}

/// One of those who saw it due has it.
impl Fill for Taking {
    type Said = bool;

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<bool>, Fault> {
        let sql = "UPDATE webhook_deliveries SET due_at = $4 \
                   WHERE case_id = $1 AND tells = $2 AND due_at = $3";
        let (case, due_at, until) = (int(self.case), self.due_at.map(int), int(self.until));
        let taken = alone.execute(sql, &[&case, &self.tells.name(), &due_at, &until]).await? > 0;
        Ok(if taken { End::Keep(true) } else { End::Drop(false) })
    }
}

/// Notes one more try. What was delivered stays delivered.
impl Fill for Try {
    type Said = ();

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<()>, Fault> {
        let sql = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = $3, error = $4 \
                   WHERE case_id = $1 AND tells = $2 AND due_at IS NOT NULL";
        let (case, due, error) = (int(self.case), self.due_at.map(int), self.error.as_deref());
        alone.execute(sql, &[&case, &self.tells.name(), &due, &error]).await?;
        Ok(End::Keep(()))
    }
}

/// From now on webhooks are posted; what had ended before the first time is told to nobody.
pub(super) struct Telling;

impl Fill for Telling {
    type Said = ();

    async fn fill(&self, alone: &mut Alone<'_>) -> Result<End<()>, Fault> {
        if alone.version(TOLD).await? > 0 {
            return Ok(End::Drop(()));
        }
        let sql = "UPDATE webhook_deliveries SET due_at = NULL, error = 'over before any was posted' \
                   WHERE attempts = 0 AND case_id IN \
                     (SELECT case_id FROM cases WHERE closed_at IS NOT NULL)";
        alone.execute(sql, &[]).await?;
        alone.set(TOLD, "posted").await?;
        Ok(End::Keep(()))
    }
}
