//! Watches whether the connections that write get answers, and whether the database takes what they write. A worker
//! whose writers get no answer does not renew its lease, so that it does not look alive.

use crate::postgres::error::NOT_WRITABLE;
use kernel::answer::Cause;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A refused write counts for this time, and until the next one that is taken. Where a balancer sends nothing to a
/// process that is not ready, the next request finds out whether it is again.
const COUNTS: Duration = Duration::from_secs(30);

pub(crate) struct WriterHealth {
    /// The longest that a writer may wait for an answer.
    limit: Duration,
    /// The writers that wait for an answer, or could not ask, by number: since when.
    waits: Mutex<BTreeMap<usize, Instant>>,
    /// The last write that the database refused for a reason of its own, behind the last one that it took.
    refused: Mutex<Option<(Instant, Arc<str>)>>,
}

impl WriterHealth {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, waits: Mutex::default(), refused: Mutex::default() }
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

    /// The database took a write.
    pub(crate) fn write_accepted(&self) {
        *self.refused() = None;
    }

    /// The database takes no writes, for a reason of its own.
    pub(crate) fn write_refused(&self, reason: &Arc<str>) {
        let before = self.refused().replace((Instant::now(), reason.clone()));
        if before.is_none_or(|(at, _)| at.elapsed() > COUNTS) {
            tracing::error!(%reason, "the database takes no writes of this process");
        }
    }

    fn refused(&self) -> MutexGuard<'_, Option<(Instant, Arc<str>)>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that every writer gets answers, and that the last write was not refused.
    ///
    /// # Errors
    /// `WRITERS_SILENT`: some get none. `NOT_WRITABLE`: the database takes no writes.
    pub(crate) fn takes_writes(&self) -> Result<(), Cause> {
        self.writers()?;
        let refused = self.refused();
        let recent = refused.as_ref().filter(|(at, _)| at.elapsed() <= COUNTS);
        recent.map_or(Ok(()), |(_, reason)| Err(Cause::because(NOT_WRITABLE, reason.clone())))
    }

    /// Checks that every writer gets answers.
    ///
    /// # Errors
    /// `WRITERS_SILENT`: some get none; the cause has their number.
    pub(crate) fn writers(&self) -> Result<(), Cause> {
        let silent = self.waits().values().filter(|since| since.elapsed() > self.limit).count();
        if silent == 0 {
            return Ok(());
        }
        let what = format!("{silent} of the connections that write hear nothing from the database");
        Err(Cause::because("WRITERS_SILENT", what))
    }
}
