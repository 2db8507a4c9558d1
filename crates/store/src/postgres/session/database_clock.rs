//! Tells the journal's time without a query: it adds what the machine's own clock has counted to the
//! database's time at one moment.

use crate::postgres::Time;
use crate::postgres::columns::uint;
use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, TICKS};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct DatabaseClock {
    time: Time,
    clock: Arc<dyn Clock>,
    /// The database's time, and the machine's count then, in nanoseconds.
    set: Mutex<(Millis, u64)>,
}

impl DatabaseClock {
    pub(crate) fn new(time: Time, clock: Arc<dyn Clock>) -> Self {
        Self { time, clock, set: Mutex::new((0, 0)) }
    }

    /// Notes the database's time.
    pub(crate) fn set(&self, now: i64) {
        let ticks = self.clock.ticks();
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = (uint(now), ticks);
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Millis {
        match &self.time {
            Time::Database => {
                let (at, since) = *self.set.lock().unwrap_or_else(PoisonError::into_inner);
                at.saturating_add(self.clock.ticks().saturating_sub(since) / TICKS)
            }
            Time::Manual(clock) => clock.now(),
        }
    }

    fn ticks(&self) -> u64 {
        self.clock.ticks()
    }

    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.clock.sleep(ms)
    }
}
