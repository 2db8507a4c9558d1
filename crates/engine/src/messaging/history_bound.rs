//! Bounds which published messages are old, and which closed cases. The bound is stored, and rises with the clock that
//! only goes on: a wall clock that jumps forward, also before a start, makes nothing old that is young.

use crate::commit::outcome::write_beside;
use crate::messaging::progress_row::{moved_on, next_row};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::journal::{Journal, Resource};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long published messages are kept: longer than a broker may lose what it acknowledged
/// (`spec/storage.md`).
pub(super) const KEPT: Millis = 7 * 86_400_000;
/// The resource with the bound, in milliseconds since 1970.
const ROW: &str = "outbox-history";
/// The bound rises this many times as fast as time passes, so that it catches up after no process ran.
const CATCH_UP: u64 = 2;

/// The bound, as this process moves it on.
pub(crate) struct HistoryBound {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// Ticks at the last look; before the first, at the start.
    looked: AtomicU64,
}

impl HistoryBound {
    pub(crate) fn new(journal: &Arc<dyn Journal>, clock: &Arc<dyn Clock>) -> Self {
        let looked = AtomicU64::new(clock.ticks());
        Self { journal: journal.clone(), clock: clock.clone(), looked }
    }

    /// What was written before this time is older than this many milliseconds.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn older_than(&self, kept: Millis) -> Result<Millis, Cause> {
        Ok(self.next().await?.saturating_add(KEPT).saturating_sub(kept))
    }

    /// Messages that were published before this time are old.
    async fn next(&self) -> Result<Millis, Cause> {
        let now = self.clock.ticks();
        let passed = now.saturating_sub(self.looked.swap(now, Ordering::SeqCst)) / TICKS;
        let wanted = self.journal.now().saturating_sub(KEPT);
        let stored = self.journal.resource(ROW.into()).await?;
        let version = stored.as_ref().map_or(0, |stored| stored.version);
        let before = stored.map(parsed).transpose()?;
        let bound = risen(before, wanted, passed);
        if before.is_none_or(|before| bound > before) {
            let row = next_row(ROW.into(), version, bound.to_string().into());
            moved_on(write_beside(&*self.journal, row).await)?;
        }
        Ok(bound)
    }
}

fn parsed(stored: Resource) -> Result<Millis, Cause> {
    stored.value.parse().map_err(|_| Cause::because("STORE_DAMAGED", stored.name))
}

/// The bound when this number of milliseconds has passed since it was `before`.
fn risen(before: Option<Millis>, wanted: Millis, passed: Millis) -> Millis {
    let Some(before) = before else { return wanted };
    let most = before.saturating_add(passed.saturating_mul(CATCH_UP));
    if wanted < most { wanted } else { most }
}

#[cfg(test)]
mod tests {
    use super::{parsed, risen};
    use kernel::answer::Cause;
    use kernel::ports::journal::Resource;

    /// Turns red where a clock that was set ahead before a start makes everything old, and where the bound stays
    /// behind for ever after a standstill.
    #[test]
    fn the_bound_rises_with_time_alone() {
        const YEAR: u64 = 365 * 86_400_000;
        assert_eq!(risen(None, 500, 0), 500);
        assert_eq!(risen(Some(500), 600, 100), 600);
        assert_eq!(risen(Some(500), 500 + YEAR, 0), 500, "a start");
        assert_eq!(risen(Some(500), 500 + YEAR, 100), 700);
        assert_eq!(risen(Some(500), 400, 100), 400, "a clock that was set back");
        let stored = |value: &str| {
            parsed(Resource { name: "outbox-history".into(), version: 1, value: value.into() })
        };
        assert_eq!(stored("500"), Ok(500));
        assert!(matches!(stored("x"), Err(Cause { class: "STORE_DAMAGED", .. })));
    }
}
