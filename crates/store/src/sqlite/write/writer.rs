//! The one writer thread takes all waiting items as one transaction, so that one sync makes them all
//! durable.

use super::batch::WriteBatch;
use super::work::Work;
use super::writer_state::WriterState;
use crate::sqlite::failure::{Failure, failure};
use crate::sqlite::last_unit::LastUnit;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ports::clock::{Clock, JournalTime};
use kernel::ports::meter::{Meter, Seen};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::Receiver;

/// The most items of one transaction.
const MOST: usize = 4_096;
/// The number of pages of log (32 MB) after which they are moved into the database, between two writes. Fewer
/// move a hot page more often; more make the pause longer.
const CHECKPOINT: i64 = 8_000;
/// The log is cut to this many bytes once all of it is in the database: a reader that held it up, such as a
/// person's `sqlite3`, leaves no large file behind.
const LOG_LIMIT: i64 = 64 * 1024 * 1024;

/// The writer thread with its connection and its state.
pub(crate) struct Writer {
    pub db: Connection,
    pub flows: Arc<Flows>,
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    pub fatal: Arc<dyn Fn(String) + Send + Sync>,
    pub state: WriterState,
    /// The time of the last write, for all readers.
    pub time: Arc<JournalTime>,
    /// The count of ticks at which the write under way began; 0 where there is none.
    pub begun: Arc<AtomicU64>,
    pub last_unit: Arc<LastUnit>,
}

impl Writer {
    /// Runs until the last sender is gone.
    pub(crate) fn run(mut self, mut asked: Receiver<Work>) {
        let mut waiting = Vec::new();
        while let Some(first) = asked.blocking_recv() {
            let mut items = first.len();
            waiting.push(first);
            while items < MOST
                && let Ok(next) = asked.try_recv()
            {
                items += next.len();
                waiting.push(next);
            }
            let begun = self.clock.ticks();
            self.write(&mut waiting);
            let nanos = self.clock.ticks().saturating_sub(begun);
            self.meter.see(Seen::Commit { nanos, units: items });
            for work in waiting.drain(..) {
                work.answer();
            }
        }
    }

    /// One transaction for all; where one item breaks it, each half by itself until it is alone.
    fn write(&mut self, works: &mut [Work]) {
        let items: Vec<(usize, usize)> = works
            .iter()
            .enumerate()
            .flat_map(|(w, work)| (0..work.len()).map(move |n| (w, n)))
            .collect();
        self.write_items(works, &items);
    }

    fn write_items(&mut self, works: &mut [Work], items: &[(usize, usize)]) {
        match self.transaction(works, items) {
            Ok(()) => {}
            Err(Failure::Refused(_) | Failure::Failed(_) | Failure::Damaged(_))
                if items.len() > 1 =>
            {
                let (first, second) = items.split_at(items.len() / 2);
                self.write_items(works, first);
                self.write_items(works, second);
            }
            Err(failure) => self.failed(works, items, failure),
        }
    }

    fn transaction(&mut self, works: &mut [Work], items: &[(usize, usize)]) -> Result<(), Failure> {
        self.begun.store(self.clock.ticks() | 1, Ordering::Release);
        let done = self.committed(works, items);
        self.begun.store(0, Ordering::Release);
        done
    }

    fn committed(&mut self, works: &mut [Work], items: &[(usize, usize)]) -> Result<(), Failure> {
        self.run_sql("BEGIN IMMEDIATE")?;
        match self.fill(works, items) {
            Ok(state) => match self.run_sql("COMMIT") {
                Ok(()) => {
                    self.state = state;
                    self.time.advance_to(state.at);
                    self.last_unit.record_unit(state.audit);
                    Ok(())
                }
                Err(failure) => self.undo(failure),
            },
            Err(error) => self.undo(failure(error)),
        }
    }

    fn fill(&self, works: &mut [Work], items: &[(usize, usize)]) -> rusqlite::Result<WriterState> {
        let now = self.time.now();
        let mut batch = WriteBatch::new(&self.db, &self.flows, self.state, now);
        for (w, n) in items {
            if let Some(work) = works.get_mut(*w) {
                work.run(*n, &mut batch)?;
            }
        }
        batch.finish()
    }

    /// Begins or ends a transaction, for as long as another process holds the lock. What no trigger
    /// of an operator can hinder fails only where the connection is not in the state that it was
    /// left in: then it is unknown what is written.
    fn run_sql(&self, sql: &str) -> Result<(), Failure> {
        loop {
            match self.db.execute_batch(sql).map_err(failure) {
                Err(Failure::Busy) => {}
                Err(Failure::Failed(what)) => {
                    return Err(Failure::Broken(format!("{sql}: {what}")));
                }
                done => return done,
            }
        }
    }

    /// Rolls the transaction back. Where that fails too, the state of the file is unknown.
    fn undo(&self, failure: Failure) -> Result<(), Failure> {
        if self.db.is_autocommit() {
            return Err(failure);
        }
        match self.db.execute_batch("ROLLBACK") {
            Ok(()) => Err(failure),
            Err(error) => Err(Failure::Broken(format!("{failure:?}; then ROLLBACK: {error}"))),
        }
    }

    fn failed(&self, works: &mut [Work], items: &[(usize, usize)], failure: Failure) {
        if let Failure::Broken(what) = &failure {
            (self.fatal)(format!("the store failed: {what}"));
        }
        for (w, n) in items {
            let Some(work) = works.get_mut(*w) else { continue };
            match &failure {
                Failure::Full => work.full(*n),
                Failure::Refused(what) => {
                    work.unknown(*n, &Cause::because("STORE_REFUSED", what.as_str()));
                }
                Failure::Failed(what) => {
                    work.unknown(*n, &Cause::because("STORE_FAILED", what.as_str()));
                }
                Failure::Damaged(what) => {
                    work.unknown(*n, &Cause::because("STORE_DAMAGED", what.as_str()));
                }
                Failure::Busy => work.unknown(*n, &Cause::of("STORE_BUSY")),
                Failure::Broken(what) => {
                    work.unknown(*n, &Cause::because("STORE_BROKEN", what.as_str()));
                }
            }
        }
    }
}

/// How the writer's connection is set up.
pub(crate) fn setup(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)?;
    db.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
    db.pragma_update(None, "cache_size", -32_768)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.set_prepared_statement_cache_capacity(128);
    db.busy_timeout(std::time::Duration::from_secs(5))
}
