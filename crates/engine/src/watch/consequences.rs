//! Acts on what writes have shown: a contradiction pauses its flow, and a ledger of which the journal has another
//! incarnation is asked who it is.

use crate::commit::consequences::Contradiction;
use crate::watch::Recovery;
use std::sync::Arc;

impl Recovery {
    pub(crate) async fn run_consequences(self: Arc<Self>) {
        loop {
            let found = self.shared.writer.consequences.taken().await;
            found.ledgers.into_iter().for_each(|ledger| self.ledgers.find_out(ledger));
            for contradiction in found.contradictions {
                self.contradicted(contradiction).await;
            }
        }
    }

    async fn contradicted(&self, Contradiction { transfer, opened, cause }: Contradiction) {
        let stored = self.shared.read(vec![transfer]).await.pop();
        match stored.or_else(|| opened.map(|opened| *opened)) {
            Some(record) => self.cases.contradicted(&record, &cause.to_string()),
            None => tracing::error!(%transfer, %cause, "a unit contradicts what is stored"),
        }
    }
}
