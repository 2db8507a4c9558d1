//! Checks that a new connection leads to the database that this process has been working on.
//!
//! After a failover to a standby that lagged, or after a restore, acknowledged writes are missing, and
//! the database never had what this process holds in RAM. So the process ends. The next start lists
//! what the ledgers did above the journal's highest number, and matches it before it calls anything
//! (`ledgers.md` §2).

use super::client::{Client, ConnectionError};
use crate::postgres::columns::{int, uint};
use kernel::ids::Millis;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Which history of which cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DatabaseIdentity {
    system: i64,
    /// The timeline of the log that is being written.
    timeline: String,
    /// How far the durable log reaches.
    lsn: u64,
}

/// The state that this process knows of its database, and the way to end the process where a
/// connection leads to another database.
pub(crate) struct DatabaseTimeline {
    /// The database of the first connection.
    first: OnceLock<DatabaseIdentity>,
    /// How far its durable log reached when this process looked last.
    reached: AtomicU64,
    /// The last write of this process in each lane: its row of `audit_units`, and when.
    last: Mutex<BTreeMap<i32, (u64, Millis)>>,
    /// Ends the process, because the database lacks what the process knows.
    fatal: Arc<dyn Fn(String) + Send + Sync>,
}

/// The state that a connection must show.
#[derive(Debug, Clone, Default)]
struct Expected {
    reached: u64,
    last: BTreeMap<i32, (u64, Millis)>,
}

impl DatabaseTimeline {
    pub(crate) fn new(fatal: Arc<dyn Fn(String) + Send + Sync>) -> Self {
        let (first, reached, last) = (OnceLock::new(), AtomicU64::new(0), Mutex::default());
        Self { first, reached, last, fatal }
    }

    /// Notes how far the database's durable log reaches.
    pub(crate) fn reached(&self, lsn: u64) {
        self.reached.fetch_max(lsn, Ordering::AcqRel);
    }

    /// Notes that this process wrote that row of its lane, durably.
    pub(crate) fn record_unit(&self, lane: i32, n: u64, at: Millis) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(lane, (n, at));
    }

    /// Looks where a new connection leads; every one is looked at before its first use.
    ///
    /// # Errors
    /// The server does not answer, or is another database, which ends the process.
    pub(crate) async fn check(&self, client: &Client) -> Result<(), String> {
        // before it is asked: what others see and write meanwhile it need not know of
        let expected = self.expected();
        let found = query_identity(client, &expected.last).await.map_err(|error| error.to_string());
        let (now, remembers) = found?;
        self.same(&expected, &now, remembers).inspect_err(|why| (self.fatal)(why.clone()))
    }

    fn expected(&self) -> Expected {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Expected { reached: self.reached.load(Ordering::Acquire), last }
    }

    /// # Errors
    /// The difference, as a sentence.
    fn same(
        &self,
        expected: &Expected,
        now: &DatabaseIdentity,
        remembers: usize,
    ) -> Result<(), String> {
        let first = self.first.get_or_init(|| now.clone());
        let seen = expected.reached;
        let why = if first.system != now.system {
            format!("its system identifier is {} and was {}", now.system, first.system)
        } else if first.timeline != now.timeline {
            format!("its timeline is {} and was {}", now.timeline, first.timeline)
        } else if now.lsn < seen {
            format!("its log ends at {:X}, and {seen:X} of it was durable", now.lsn)
        } else if remembers < expected.last.len() {
            "it does not know what this process wrote last".to_owned()
        } else {
            return Ok(());
        };
        Err(format!(
            "the database is not the one that this process has been working on ({why}): a failover, \
             or a restore. The next start matches what the ledgers did meanwhile"
        ))
    }
}

/// Asks the server who it is, and how many of these writes it knows. A log that was written on
/// after a restore is long enough again, but what was written is not in it.
async fn query_identity(
    client: &Client,
    last: &BTreeMap<i32, (u64, Millis)>,
) -> Result<(DatabaseIdentity, usize), ConnectionError> {
    let sql = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8), \
               (pg_current_wal_flush_lsn() - '0/0')::bigint, to_regclass('audit_units') IS NOT NULL \
               FROM pg_control_system()";
    let row = client.query_one(sql, &[]).await?;
    let now = DatabaseIdentity {
        system: row.try_get(0)?,
        timeline: row.try_get(1)?,
        lsn: uint(row.try_get(2)?),
    };
    let older: bool = !row.try_get::<_, bool>(3)?;
    // nothing was written yet; or the database is older than our tables
    if last.is_empty() || older {
        return Ok((now, 0));
    }
    let lanes: Vec<i32> = last.keys().copied().collect();
    let numbers: Vec<i64> = last.values().map(|(n, _)| int(*n)).collect();
    let times: Vec<i64> = last.values().map(|(_, at)| int(*at)).collect();
    let sql = "SELECT 1 FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS l(lane, n, at) \
               JOIN audit_units u ON u.lane = l.lane AND u.n = l.n AND u.at = l.at";
    let known = client.query(&client.prepared(sql).await?, &[&lanes, &numbers, &times]).await?;
    Ok((now, known.len()))
}

#[cfg(test)]
mod tests {
    use super::{DatabaseIdentity, DatabaseTimeline, Expected};
    use std::sync::Arc;

    #[test]
    fn another_cluster_another_timeline_a_shorter_log_and_a_lost_write_are_found() {
        let known = DatabaseTimeline::new(Arc::new(|_| {}));
        let now = |system, timeline: &str, lsn, remembers| {
            let now = DatabaseIdentity { system, timeline: timeline.to_owned(), lsn };
            known.same(&known.expected(), &now, remembers)
        };
        assert_eq!(now(7, "00000001", 100, 0), Ok(()));
        known.reached(500);
        known.record_unit(3, 17, 1_000);
        known.record_unit(4, 9, 1_001);
        assert_eq!(now(7, "00000001", 500, 2), Ok(()), "after a plain crash");
        for (why, same) in [
            ("system", now(8, "00000001", 900, 2)),
            ("timeline", now(7, "00000002", 900, 2)),
            ("log", now(7, "00000001", 499, 2)),
            ("wrote last", now(7, "00000001", 900, 1)),
        ] {
            assert!(same.is_err_and(|text| text.contains(why)), "{why}");
        }
        // what was seen while it was asked does not count against it
        let earlier = Expected { reached: 500, ..known.expected() };
        known.reached(900);
        let now = DatabaseIdentity { system: 7, timeline: "00000001".to_owned(), lsn: 600 };
        assert_eq!(known.same(&earlier, &now, 2), Ok(()));
    }
}
