//! Deletes cases that were closed long ago, whether or not a bus is configured.

use crate::commit::outcome::write_beside;
use crate::messaging::HistoryBound;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::unit::{Put, Unit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often closed cases are looked for, and how long after the start for the first time.
const EVERY: Millis = 600_000;

/// The closed cases of a journal, as far as this process deletes them.
pub(crate) struct ClosedCases {
    shared: Arc<SharedState>,
    old: HistoryBound,
    /// When they are looked for next, by the clock.
    due: AtomicU64,
}

impl ClosedCases {
    pub(crate) fn new(shared: &Arc<SharedState>) -> Self {
        let old = HistoryBound::new(&shared.parts.journal, &shared.parts.clock);
        let due = AtomicU64::new(shared.parts.clock.now().saturating_add(EVERY));
        Self { shared: shared.clone(), old, due }
    }

    /// Deletes those that are old, where their time has come. Where that fails, nothing waits for it.
    pub(crate) async fn forget(&self) {
        let now = self.shared.parts.clock.now();
        if self.shared.parts.settings.cases_kept_ms == 0 || now < self.due.load(Ordering::SeqCst) {
            return;
        }
        self.due.store(now.saturating_add(EVERY), Ordering::SeqCst);
        if let Err(cause) = self.delete().await {
            tracing::warn!(%cause, "old cases cannot be deleted; they are tried again later");
        }
    }

    async fn delete(&self) -> Result<(), Cause> {
        let before = self.old.older_than(self.shared.parts.settings.cases_kept_ms).await?;
        let unit = Unit::puts(vec![Put::ForgetCases(before)]);
        write_beside(&*self.shared.parts.journal, unit).await.done("LOST").map(drop)
    }
}
