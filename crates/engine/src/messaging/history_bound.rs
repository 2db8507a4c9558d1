//! Bounds which published messages are old. The bound is stored, and rises with the clock that only goes on: a wall
//! clock that jumps forward, also before a start, makes nothing old that is young.

use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::clock::{Clock, TICKS};
use kernel::ports::journal::{Journal, Resource};
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How long published messages are kept: longer than a broker may lose what it acknowledged
/// (`spec/storage.md`).
pub(super) const KEPT: Millis = 7 * 86_400_000;
/// The resource with the bound, in milliseconds since 1970.
const ROW: &str = "outbox-history";
/// The bound rises this many times as fast as time passes, so that it catches up after no process ran.
const CATCH_UP: u64 = 2;

/// The bound, as this process moves it on.
pub(super) struct HistoryBound {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// Ticks at the last look; not set before the first.
    looked: OnceLock<AtomicU64>,
}

impl HistoryBound {
    pub(super) fn new(journal: &Arc<dyn Journal>, clock: &Arc<dyn Clock>) -> Self {
        let (journal, clock) = (journal.clone(), clock.clone());
        Self { journal, clock, looked: OnceLock::new() }
    }

    /// Messages that were published before this time are old.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(super) async fn next(&self) -> Result<Millis, Cause> {
        let now = self.clock.ticks();
        let looked = self.looked.get_or_init(|| AtomicU64::new(now)).swap(now, Ordering::SeqCst);
        let passed = now.saturating_sub(looked) / TICKS;
        let wanted = self.journal.now().saturating_sub(KEPT);
        let stored = self.journal.resource(ROW.into()).await?;
        let bound = risen(stored.as_ref(), wanted, passed)?;
        let before = stored.as_ref().and_then(|stored| stored.value.parse().ok()).unwrap_or(0);
        if bound > before {
            self.store(stored.map_or(0, |stored| stored.version), bound).await?;
        }
        Ok(bound)
    }

    async fn store(&self, version: u32, bound: Millis) -> Result<(), Cause> {
        let guard = Guard::Resource { name: ROW.into(), version };
        let put = Put::Resource { name: ROW.into(), value: bound.to_string().into() };
        match self.journal.write(vec![Unit::guarded(vec![guard], vec![put])]).await.pop() {
            // lost: another process has moved it on
            Some(Wrote::Written(_) | Wrote::Lost(_)) => Ok(()),
            Some(Wrote::Full) => Err(Cause::of("FULL")),
            Some(Wrote::Unknown(cause)) => Err(cause),
            None => Err(Cause::of("NOT_WRITTEN")),
        }
    }
}

/// The bound after so many milliseconds.
fn risen(stored: Option<&Resource>, wanted: Millis, passed: Millis) -> Result<Millis, Cause> {
    let Some(stored) = stored else { return Ok(wanted) };
    let before: Millis =
        stored.value.parse().map_err(|_| Cause::because("STORE_DAMAGED", stored.name.clone()))?;
    let most = before.saturating_add(passed.saturating_mul(CATCH_UP));
    Ok(if wanted < most { wanted } else { most })
}

#[cfg(test)]
mod tests {
    use super::risen;
    use kernel::answer::Cause;
    use kernel::ports::journal::Resource;

    /// Turns red where a clock that was set ahead before a start makes everything old, and where the bound stays
    /// behind for ever after a standstill.
    #[test]
    fn the_bound_rises_with_time_alone() {
        const YEAR: u64 = 365 * 86_400_000;
        let at = |bound: u64| Resource {
            name: "outbox-history".into(),
            version: 1,
            value: bound.to_string().into(),
        };
        assert_eq!(risen(None, 500, 0), Ok(500));
        assert_eq!(risen(Some(&at(500)), 600, 100), Ok(600));
        assert_eq!(risen(Some(&at(500)), 500 + YEAR, 0), Ok(500), "a start");
        assert_eq!(risen(Some(&at(500)), 500 + YEAR, 100), Ok(700));
        assert_eq!(risen(Some(&at(500)), 400, 100), Ok(400), "a clock that was set back");
        let odd = Resource { value: "x".into(), ..at(0) };
        assert!(matches!(risen(Some(&odd), 1, 1), Err(Cause { class: "STORE_DAMAGED", .. })));
    }
}
