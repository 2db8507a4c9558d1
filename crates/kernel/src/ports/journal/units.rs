//! The writer of units: every component of the engine that changes a row uses it.

use crate::answer::Cause;
use crate::ids::Millis;
use crate::ports::Fut;
use crate::unit::{Unit, Wrote};

/// The outcome of a write, of a unit by default, or the future that tells it.
#[expect(missing_debug_implementations, reason = "a future has none")]
pub enum Writing<T = Wrote> {
    /// The write has ended, with this outcome.
    Over(T),
    /// It waits for a row that another session has locked.
    Waits(Fut<'static, T>),
}

/// Writes units at the journal's time. A unit is all or nothing; a group of units is only a speed-up.
pub trait UnitWriter: Send + Sync {
    /// The journal's time, as [`JournalTime`](crate::ports::clock::JournalTime) has it.
    fn now(&self) -> Millis;
    /// How far the journal's time is ahead of the clock that it goes by: that one was set back, or was ahead before.
    fn ahead(&self) -> Millis;
    /// The clock's own time: for the days of limits, which a clock that was ahead must not use up.
    fn clock(&self) -> Millis {
        self.now().saturating_sub(self.ahead())
    }
    /// Independent units; one answer each, in order. An answer is given when the unit is durable.
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>>;
    /// The same, without waiting for those among them that wait for another session.
    fn begin(&self, units: Vec<Unit>) -> Fut<'_, Vec<Writing>> {
        Box::pin(async move { self.write(units).await.into_iter().map(Writing::Over).collect() })
    }
    /// Whether the store can write, as far as it knows without asking; one that is silent is found when
    /// its limit for an answer is over. A worker that cannot write neither renews its lease nor takes
    /// requests.
    ///
    /// # Errors
    /// The cause for which it cannot.
    fn writes(&self) -> Result<(), Cause> {
        Ok(())
    }
}
