//! The named moments: a process is held by a lock at the database, the moment is seen from outside, and the
//! process is killed in it.

use super::services::{SERVERS, Services};
use crate::{Outcome, clock};
use std::collections::BTreeSet;
use std::time::Duration;
use testbed::{Database, signal};

/// Where a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The broker has acknowledged messages, and the outbox does not know.
    PublishedNotMarked,
    /// A unit with its inbox row is durable, and the broker does not know the offset.
    WrittenNotCommitted,
}

/// A moment that does not come is missed after so long.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The session that holds a lock is known by this text, and ends by itself after this many seconds.
const HOLDER: &str = "the campaign holds a lock";
const HELD: u32 = 30;

impl Moment {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PublishedNotMarked => "published, not marked",
            Self::WrittenNotCommitted => "written, offset not committed",
        }
    }

    const fn missed(self) -> &'static str {
        match self {
            Self::PublishedNotMarked => "published, not marked: missed",
            Self::WrittenNotCommitted => "written, offset not committed: missed",
        }
    }

    /// The table whose lock holds a process there.
    const fn table(self) -> &'static str {
        match self {
            Self::PublishedNotMarked => "outbox_history",
            Self::WrittenNotCommitted => "inbox",
        }
    }
}

/// Kills the servers that come to a moment; the name of what was met.
pub(super) fn kill_at(moment: Moment, services: &mut Services) -> Outcome<&'static str> {
    let consumed =
        "SELECT count(*) FROM inbox WHERE consumer IN ('validation-group', 'execution-group')";
    std::thread::scope(|scope| {
        let table = moment.table();
        let database = services.database.clone();
        let holder = scope.spawn(move || hold(&database, table));
        let held =
            clock::until(TIMEOUT, || waiting(services, moment).ok().filter(|all| !all.is_empty()));
        let Some(held) = held else {
            release(services)?;
            let _ended = holder.join();
            return Ok(moment.missed());
        };
        let met = match moment {
            Moment::PublishedNotMarked => {
                kill(services, &held)?;
                // a session that waits goes on without its client
                end_sessions(services, moment)?;
                release(services)?;
                true
            }
            Moment::WrittenNotCommitted => {
                let before = services.number(consumed)?;
                let broker = services.kafka.process().ok_or("no broker")?;
                signal("STOP", &[broker])?;
                release(services)?;
                // no offset can be committed from here on, and what was held is written
                let written = clock::until(TIMEOUT, || {
                    services.number(consumed).is_ok_and(|now| now > before).then_some(())
                });
                kill(services, &held)?;
                // what it asked of the broker dies with the broker's sockets
                services.kafka.kill9()?;
                services.kafka.restart()?;
                written.is_some()
            }
        };
        let _ended = holder.join();
        Ok(if met { moment.name() } else { moment.missed() })
    })
}

/// Holds a lock on a table that no insert passes, until the session is ended.
fn hold(database: &Database, table: &str) {
    let sql = format!(
        "/* {HOLDER} */ BEGIN; LOCK TABLE {table} IN SHARE MODE; SELECT pg_sleep({HELD}); COMMIT"
    );
    let _ended = database.sql(&sql);
}

fn release(services: &Services) -> Outcome {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE query LIKE '/* {HOLDER}%' AND pid <> pg_backend_pid()"
    );
    services.database.sql(&sql).map(drop)
}

/// Sessions that wait for the lock of a moment.
fn sessions(moment: Moment) -> String {
    format!(
        "FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted \
         AND l.relation = '{}'::regclass WHERE a.usename LIKE 'serve%'",
        moment.table()
    )
}

/// The servers that wait, by their numbers.
fn waiting(services: &Services, moment: Moment) -> Outcome<BTreeSet<usize>> {
    let found =
        services.database.sql(&format!("SELECT DISTINCT a.usename {}", sessions(moment)))?;
    Ok(found
        .lines()
        .filter_map(|user| SERVERS.iter().position(|name| *name == user.trim()))
        .collect())
}

fn end_sessions(services: &Services, moment: Moment) -> Outcome {
    let sql = format!("SELECT count(pg_terminate_backend(a.pid)) {}", sessions(moment));
    services.database.sql(&sql).map(drop)
}

fn kill(services: &mut Services, servers: &BTreeSet<usize>) -> Outcome {
    servers.iter().try_for_each(|n| services.kill_server(*n))
}
