//! Watches whether the connections that write get answers. A worker whose writers get none does not
//! renew its lease, so that it does not look alive.

use kernel::answer::Cause;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) struct WriterHealth {
    /// The longest that a writer may wait for an answer.
    limit: Duration,
    /// The writers that wait for an answer, or could not ask, by number: since when.
    waits: Mutex<BTreeMap<usize, Instant>>,
}

impl WriterHealth {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, waits: Mutex::default() }
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<usize, Instant>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A writer asks for something. What it asked for before without an answer counts longer.
    pub(crate) fn request_sent(&self, writer: usize) {
        self.waits().entry(writer).or_insert_with(Instant::now);
    }

    /// It has an answer, whatever it says.
    pub(crate) fn answer_received(&self, writer: usize) {
        self.waits().remove(&writer);
    }

    /// Checks that every writer gets answers.
    ///
    /// # Errors
    /// `WRITERS_SILENT`: so many do not.
    pub(crate) fn writers(&self) -> Result<(), Cause> {
        let silent = self.waits().values().filter(|since| since.elapsed() > self.limit).count();
        if silent == 0 {
            return Ok(());
        }
        let what = format!("{silent} of the connections that write hear nothing from the database");
        Err(Cause::because("WRITERS_SILENT", what))
    }
}
