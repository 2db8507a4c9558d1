//! The named moments of the account campaign: a lock at the database holds a process, the driver sees the moment
//! from outside, and kills the process in it.

use super::services::Services;
use crate::two_servers::SERVERS;
use crate::two_servers::TableLock;
use crate::{Outcome, clock};
use std::collections::BTreeSet;
use std::time::Duration;
use testbed::signal;

/// Where a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The broker has acknowledged messages, and the outbox does not know.
    PublishedNotMarked,
    /// A unit with its inbox row is durable, and the broker does not know the offset.
    WrittenNotCommitted,
}

/// How long the campaign waits for a moment; after that the moment is missed.
const TIMEOUT: Duration = Duration::from_secs(10);

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
    let lock = TableLock::hold(&services.servers.database, moment.table());
    let held = clock::until(TIMEOUT, || lock.waiting().ok().filter(|all| !all.is_empty()));
    let Some(held) = held else {
        lock.release()?;
        return Ok(moment.missed());
    };
    let met = match moment {
        Moment::PublishedNotMarked => {
            kill(services, &held)?;
            lock.end_waiting()?;
            lock.release()?;
            true
        }
        Moment::WrittenNotCommitted => {
            let before = services.servers.number(consumed)?;
            signal("STOP", &services.kafka.processes())?;
            lock.release()?;
            // no offset can be committed from here on, and what was held is written
            let written = clock::until(TIMEOUT, || {
                services.servers.number(consumed).is_ok_and(|now| now > before).then_some(())
            });
            kill(services, &held)?;
            // what it asked of the broker dies with the broker's sockets
            services.kafka.kill9()?;
            services.kafka.restart()?;
            written.is_some()
        }
    };
    Ok(if met { moment.name() } else { moment.missed() })
}

/// Kills the servers whose users these are.
fn kill(services: &mut Services, users: &BTreeSet<String>) -> Outcome {
    let all = SERVERS.iter().enumerate().filter(|(_, name)| users.contains(**name));
    all.map(|(n, _)| n).try_for_each(|n| services.servers.kill_server(n))
}
