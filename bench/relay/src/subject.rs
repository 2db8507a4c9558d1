//! The server under load on a store of its own before a chain of its own, and its money counted.

use crate::Outcome;
use crate::chain::{Chain, Paid};
use crate::clock::now;
use crate::load::{Plan, Target, UNITS};
use crate::run::Run;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testbed::{Served, served};

/// How long what is open may take to end.
const DRAIN: Duration = Duration::from_secs(300);

pub(crate) struct Subject {
    served: Served,
    chain: Chain,
    target: Target,
    folder: PathBuf,
}

impl Subject {
    pub(crate) fn start(folder: &Path, chain: Chain) -> Outcome<Self> {
        let served = Served::portage(folder, &chain.settings())?;
        let token = served::token(folder)?;
        let next = AtomicU64::new(0);
        let target = Target { address: served.address, token, next };
        target.completed()?;
        Ok(Self { served, chain, target, folder: folder.to_owned() })
    }

    /// Puts it under one load, and waits until all of it is COMPLETED.
    pub(crate) fn measure(&self, plan: &Plan, receiver: fn(&Chain, u64) -> String) -> Outcome<Run> {
        let (cpu, requests) = (testbed::used(self.served.process()), self.chain.requests());
        let first = self.target.next.load(Ordering::SeqCst);
        let begun = now();
        let posted = self.target.post(*plan, &|n| receiver(&self.chain, n))?;
        let all = self.target.next.load(Ordering::SeqCst);
        while self.target.completed()? < all {
            if begun.elapsed() > posted.took + DRAIN {
                let open = all.saturating_sub(self.target.completed()?);
                return Err(format!("{open} transfers are open after {DRAIN:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Run {
            transfers: plan.transfers,
            accepted_in: posted.took,
            completed_in: begun.elapsed(),
            posts: posted.micros,
            requests: self.chain.requests().since(&requests),
            cpu: testbed::used(self.served.process()).saturating_sub(cpu),
            ends: self.ends(first, all)?,
        })
    }

    /// From opening to COMPLETED of the transfers of these numbers, in microseconds, sorted.
    fn ends(&self, first: u64, all: u64) -> Outcome<Vec<u64>> {
        let sql = "SELECT updated_at - created_at FROM transfers WHERE flow = 'relay' \
            AND CAST(substr(cid, 7) AS INTEGER) >= ?1 AND CAST(substr(cid, 7) AS INTEGER) < ?2";
        let bounds = [first, all].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        let db = self.open()?;
        let mut ask = db.prepare(sql).map_err(store)?;
        let rows = ask.query_map(bounds, |row| row.get::<_, i64>(0)).map_err(store)?;
        let mut ends = Vec::new();
        for millis in rows {
            ends.push(u64::try_from(millis.map_err(store)?).unwrap_or(0) * 1_000);
        }
        ends.sort_unstable();
        Ok(ends)
    }

    fn open(&self) -> Outcome<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        Connection::open_with_flags(self.folder.join("portage.db"), flags).map_err(store)
    }

    /// Stops it and counts its money.
    ///
    /// # Errors
    /// The chain did not pay each acknowledged transfer once.
    pub(crate) fn end(self) -> Outcome<String> {
        let all = self.target.next.load(Ordering::SeqCst);
        let completed: i64 = self
            .open()?
            .query_row("SELECT count(*) FROM transfers WHERE state = 60", [], |row| row.get(0))
            .map_err(store)?;
        self.served.stop()?;
        let paid = self.chain.paid()?;
        let due = Paid { payments: all, units: u128::from(all) * u128::from(UNITS) };
        if paid == due && u64::try_from(completed) == Ok(all) {
            return Ok(format!("{all} acknowledged, COMPLETED, and paid once each on the chain"));
        }
        Err(format!("{all} acknowledged, {completed} COMPLETED, and the chain has {paid:?}"))
    }
}

fn store(error: rusqlite::Error) -> String {
    format!("the store: {error}")
}
