//! Stores claims and results of webhooks about cases: a claim for a try, a delivery, or the time of the
//! next try.

use super::{Finish, SingleTransaction, TransactionBody};
use crate::postgres::columns::int;
use crate::postgres::error::StoreError;
use crate::postgres::write::work::{DeliveryAttempt, DeliveryClaim};

/// The name of the value that marks that webhooks are posted.
const WEBHOOKS: &str = "webhooks";

/// Claims a due webhook for one of the processes that saw it due.
impl TransactionBody<bool> for DeliveryClaim {
    async fn run(
        &self,
        transaction: &mut SingleTransaction<'_>,
    ) -> Result<Finish<bool>, StoreError> {
        let sql = "UPDATE webhook_deliveries SET due_at = $4 \
                   WHERE case_id = $1 AND tells = $2 AND due_at = $3";
        let (case, due_at, until) = (int(self.case), self.due_at.map(int), int(self.until));
        let taken =
            transaction.execute(sql, &[&case, &self.tells.name(), &due_at, &until]).await? > 0;
        Ok(if taken { Finish::Commit(true) } else { Finish::Rollback(false) })
    }
}

/// Notes one more try. A delivered webhook stays delivered.
impl TransactionBody<()> for DeliveryAttempt {
    async fn run(&self, transaction: &mut SingleTransaction<'_>) -> Result<Finish<()>, StoreError> {
        let sql = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = $3, error = $4 \
                   WHERE case_id = $1 AND tells = $2 AND due_at IS NOT NULL";
        let (case, due, error) = (int(self.case), self.due_at.map(int), self.error.as_deref());
        transaction.execute(sql, &[&case, &self.tells.name(), &due, &error]).await?;
        Ok(Finish::Commit(()))
    }
}

/// From now on webhooks are posted; what had ended before the first time is not posted.
pub(crate) struct StartWebhooks;

impl TransactionBody<()> for StartWebhooks {
    async fn run(&self, transaction: &mut SingleTransaction<'_>) -> Result<Finish<()>, StoreError> {
        if transaction.version(WEBHOOKS).await? > 0 {
            return Ok(Finish::Rollback(()));
        }
        let sql = "UPDATE webhook_deliveries SET due_at = NULL, error = 'over before any was posted' \
                   WHERE attempts = 0 AND case_id IN \
                     (SELECT case_id FROM cases WHERE closed_at IS NOT NULL)";
        transaction.execute(sql, &[]).await?;
        transaction.set(WEBHOOKS, "posted").await?;
        Ok(Finish::Commit(()))
    }
}
