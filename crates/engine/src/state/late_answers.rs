//! Compares an answer that came after its transfer had gone on with the receipt that is stored in its place
//! (`design.md` §1). An answer that contradicts the receipt stops the flow.

use crate::state::cases::Cases;
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::operation::Operation;
use kernel::reconcile;
use kernel::record::Record;
use std::sync::Arc;

/// An answer that came when no unit waited for it any more, and the record whose call it answers.
#[derive(Debug)]
pub(crate) struct Late {
    pub record: Record,
    pub ledger: LedgerId,
    pub operation: Operation,
}

impl Cases {
    /// Stops the flow of each answer that contradicts the stored one, before the caller goes on.
    pub(crate) async fn too_late(self: &Arc<Self>, late: Vec<Late>) {
        if late.is_empty() {
            return;
        }
        let stored = loop {
            match self.receipts(&late).await {
                Ok(stored) => break stored,
                Err(cause) => tracing::error!(%cause, "the journal does not answer"),
            }
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        };
        for Late { record, ledger, operation } in late {
            let mine = |(at, kept): &&(LedgerId, Operation)| {
                (*at, kept.op.key) == (ledger, operation.op.key)
            };
            let Some((_, kept)) = stored.iter().find(mine) else { continue };
            if !reconcile::same(kept, &operation) {
                let (name, leg) = (ledger.name(), operation.op.key.leg.name());
                let (then, now) = (&kept.outcome, &operation.outcome);
                let why =
                    format!("{name} says {now:?} of the {leg}, and its receipt says {then:?}");
                self.contradicted(&record, &why);
            }
        }
    }

    /// Every receipt of the transfers.
    async fn receipts(&self, late: &[Late]) -> Result<Vec<(LedgerId, Operation)>, Cause> {
        let keys = late.iter().map(|late| late.operation.op.key).collect();
        let mut snapshot = self.shared.parts.journal.snapshot().await?;
        let lines = snapshot.lines_of(keys).await?;
        Ok(lines.into_iter().flat_map(|line| line.operations).collect())
    }
}
