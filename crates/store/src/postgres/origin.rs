//! Whether a new connection leads to the database that this process has been working on.
//!
//! After a failover to a standby that lagged, or a restore, acknowledged writes are missing, and what
//! this process holds in RAM was never there. It ends; the next start lists what the ledgers did
//! above the journal's highest, and matches it, before anything is called (`ledgers.md` §2).

use super::lane::Shared;
use super::text::uint;
use std::sync::atomic::Ordering;
use tokio_postgres::Client;

/// Which history of which cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    system: i64,
    /// The timeline of the log that is being written.
    timeline: String,
    /// How far the durable log reaches.
    lsn: u64,
}

/// Asks the server.
pub(crate) async fn origin(client: &Client) -> Result<Origin, tokio_postgres::Error> {
    let sql = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_flush_lsn()), 8), \
               (pg_current_wal_flush_lsn() - '0/0')::bigint FROM pg_control_system()";
    let row = client.query_one(sql, &[]).await?;
    Ok(Origin { system: row.try_get(0)?, timeline: row.try_get(1)?, lsn: uint(row.try_get(2)?) })
}

impl Shared {
    /// # Errors
    /// What is different, as a sentence.
    pub(crate) fn same(&self, now: &Origin) -> Result<(), String> {
        let first = self.origin.get_or_init(|| now.clone());
        let seen = self.reached.load(Ordering::Acquire);
        let why = if first.system != now.system {
            format!("its system identifier is {} and was {}", now.system, first.system)
        } else if first.timeline != now.timeline {
            format!("its timeline is {} and was {}", now.timeline, first.timeline)
        } else if now.lsn < seen {
            format!("its log ends at {:X}, and {seen:X} of it was durable", now.lsn)
        } else {
            return Ok(());
        };
        Err(format!(
            "the database is not the one that this process has been working on ({why}): a failover, \
             or a restore. The next start matches what the ledgers did meanwhile"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Time;
    use super::super::session::Database;
    use super::{Origin, Shared};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::time::Duration;

    fn shared() -> Shared {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let short = Duration::from_secs(1);
        let database = Database {
            url: String::new(),
            password: None,
            tls,
            readers: 1,
            writers: 1,
            connect: short,
            lock: short,
            statement: short,
            lease: short,
        };
        Shared {
            database,
            time: Time::Database,
            written: AtomicU64::new(0),
            origin: OnceLock::new(),
            reached: AtomicU64::new(0),
            fatal: Arc::new(|_| {}),
        }
    }

    #[test]
    fn another_cluster_another_timeline_and_a_shorter_log_are_found() {
        let first = Origin { system: 7, timeline: "00000001".to_owned(), lsn: 100 };
        let shared = shared();
        assert_eq!(shared.same(&first), Ok(()));
        shared.reached.store(500, Ordering::Release);
        let now = |system, timeline: &str, lsn| {
            shared.same(&Origin { system, timeline: timeline.to_owned(), lsn })
        };
        assert_eq!(now(7, "00000001", 500), Ok(()), "after a plain crash");
        for (why, same) in [
            ("system", now(8, "00000001", 900)),
            ("timeline", now(7, "00000002", 900)),
            ("log", now(7, "00000001", 499)),
        ] {
            assert!(same.is_err_and(|text| text.contains(why)), "{why}");
        }
    }
}
