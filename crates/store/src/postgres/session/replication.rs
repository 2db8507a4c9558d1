//! Tracks, for the writers and the readers, what is known of the standby that must have every COMMIT
//! (`synchronous_standby_names`).
//!
//! While a COMMIT waits for the standby, an operator can cancel it or end its session, or the primary
//! can crash and come back: then its rows are visible, and no standby has them. So a row that was read
//! proves nothing by itself. A later COMMIT of this process proves it, once the standby has
//! acknowledged that COMMIT: the log is replicated in its order. Where no standby is required, none of
//! this costs anything.

use super::client::{Client, ConnectionError};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as TransactionLocks, MutexGuard as Taken};

/// A write that changes nothing; its COMMIT waits for the standby like any other.
pub(crate) const MARK: &str = "SELECT pg_logical_emit_message(true, 'portage', 'confirmed')";

#[derive(Default)]
pub(crate) struct Replication {
    required: AtomicBool,
    /// The number of COMMITs that this process has begun.
    begun: AtomicU64,
    /// The newest of them that was acknowledged without a notice.
    confirmed: AtomicU64,
    /// One at a time asks for a mark; the newest whose outcome is unknown.
    failed: TransactionLocks<u64>,
    /// The server's processes of connections that were given up.
    abandoned: Mutex<BTreeSet<i32>>,
}

impl Replication {
    /// Notes whether the database requires a standby.
    pub(crate) fn required(&self, required: bool) {
        if self.required.swap(required, Ordering::AcqRel) != required {
            tracing::info!(required, "a synchronous standby must have every COMMIT");
        }
    }

    /// A COMMIT is about to be sent: its number.
    pub(crate) fn begins(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel).saturating_add(1)
    }

    /// The newest COMMIT that was begun.
    pub(crate) fn newest(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// The COMMIT of this number was acknowledged, and nothing was said beside it.
    pub(crate) fn confirmed(&self, number: u64) {
        self.confirmed.fetch_max(number, Ordering::AcqRel);
    }

    /// Takes note of what was read until now. `None`: it needs no confirmation.
    pub(crate) fn read(&self) -> Option<ReadMark> {
        let seen = ReadMark(self.begun.load(Ordering::Acquire));
        self.required.load(Ordering::Acquire).then_some(seen)
    }

    /// A COMMIT that began after the read was acknowledged.
    pub(crate) fn covers(&self, ReadMark(seen): ReadMark) -> bool {
        self.confirmed.load(Ordering::Acquire) > seen
    }

    /// The turn to write a mark; in it is the newest one that failed.
    pub(crate) async fn turn(&self) -> Taken<'_, u64> {
        self.failed.lock().await
    }

    /// A connection was given up; its server's process may still wait with a COMMIT.
    pub(crate) fn abandoned(&self, pid: i32) {
        self.abandoned_pids().insert(pid);
    }

    fn abandoned_pids(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether a COMMIT that was given up still waits for the standby: the server would keep
    /// a session for each, and another connection could do no better.
    ///
    /// # Errors
    /// One does.
    pub(crate) async fn waited_for(&self, client: &Client) -> Result<(), ConnectionError> {
        let abandoned: Vec<i32> = self.abandoned_pids().iter().copied().collect();
        if abandoned.is_empty() {
            return Ok(());
        }
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE pid = ANY($1) AND wait_event = 'SyncRep' AND pid <> pg_backend_pid()";
        let waiting = client.query_one(sql, &[&abandoned]).await?.try_get(0)?;
        if waiting > 0 {
            return Err(ConnectionError::Waits(waiting));
        }
        let mut all = self.abandoned_pids();
        all.retain(|pid| !abandoned.contains(pid));
        Ok(())
    }
}

/// How many COMMITs had begun when something had been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMark(u64);

impl ReadMark {
    /// A mark that began after the read and whose outcome is unknown.
    pub(crate) const fn before(self, mark: u64) -> bool {
        mark > self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Replication;

    #[test]
    fn only_a_commit_that_began_after_the_read_covers_it() {
        let replication = Replication::default();
        assert!(replication.read().is_none(), "no standby is required");
        replication.required(true);
        let under_way = replication.begins();
        let read = replication.read().expect("it needs a confirmation");
        replication.confirmed(under_way);
        assert!(!replication.covers(read), "its record may lie before the row's");
        let later = replication.begins();
        assert!(!replication.covers(read), "its outcome is unknown yet");
        replication.confirmed(later);
        assert!(replication.covers(read));
        assert!(read.before(later) && !read.before(under_way));
    }
}
