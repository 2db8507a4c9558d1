//! The load: posts over keep-alive connections, and a count of what is COMPLETED.

use crate::Outcome;
use crate::clock::now;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testbed::Wire;

/// Number of connections that post transfers.
const CONNECTIONS: u32 = 32;
/// Maximum number of transfers in one request at full load.
const BATCH: u64 = 100;
/// The base units that each of them pays.
pub(crate) const UNITS: u64 = 7;
const FLOW: &str = r#"portage_transfers_total{flow="relay",state="COMPLETED"} "#;

/// How the load is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub transfers: u64,
    /// Number of transfers per second, one POST each; without it, in batches as fast as they are answered.
    pub rate: Option<u32>,
}

impl Plan {
    pub(crate) const fn paced(transfers: u64, rate: u32) -> Self {
        Self { transfers, rate: Some(rate) }
    }

    pub(crate) const fn full(transfers: u64) -> Self {
        Self { transfers, rate: None }
    }
}

pub(crate) struct Target {
    pub address: SocketAddr,
    pub token: String,
    /// The number of the next transfer, over all rows.
    pub next: AtomicU64,
}

pub(crate) struct Posted {
    /// How long all posts took together.
    pub took: Duration,
    /// Of each POST from the moment at which it was due, in microseconds, sorted.
    pub micros: Vec<u64>,
}

impl Target {
    /// Posts as planned, to the receivers of these numbers.
    pub(crate) fn post(
        &self,
        plan: Plan,
        receiver: &(impl Fn(u64) -> String + Sync),
    ) -> Outcome<Posted> {
        let begun = now();
        let first = self.next.fetch_add(plan.transfers, Ordering::SeqCst);
        let mut micros = Vec::new();
        std::thread::scope(|threads| -> Outcome {
            let post = |connection| {
                threads.spawn(move || {
                    let share = Share { connection, first, begun };
                    match plan.rate {
                        Some(rate) => self.post_paced(&share, plan.transfers, rate, receiver),
                        None => self.post_full(&share, plan.transfers, receiver),
                    }
                })
            };
            let all: Vec<_> = (0..u64::from(CONNECTIONS)).map(post).collect();
            for posted in all {
                micros.extend(posted.join().map_err(|_| "a client panicked")??);
            }
            Ok(())
        })?;
        micros.sort_unstable();
        Ok(Posted { took: begun.elapsed(), micros })
    }

    fn post_paced(
        &self,
        share: &Share,
        transfers: u64,
        rate: u32,
        receiver: impl Fn(u64) -> String,
    ) -> Outcome<Vec<u64>> {
        let mut wire = Wire::open(self.address, &self.token)?;
        let mut micros = Vec::new();
        for nth in (share.connection..transfers).step_by(CONNECTIONS.try_into().unwrap_or(1)) {
            let due = share.begun + Duration::from_secs(nth) / rate;
            std::thread::sleep(due.saturating_duration_since(now()));
            let n = share.first + nth;
            let body = format!(r#"{{"receiver_id":"{}","amount":"{UNITS}"}}"#, receiver(n));
            let key = format!("X-Idempotency-Key: bench-{n}\r\n");
            wire.post("/transfer", &key, &body)?;
            micros.push(u64::try_from(now().duration_since(due).as_micros()).unwrap_or(u64::MAX));
        }
        Ok(micros)
    }

    fn post_full(
        &self,
        share: &Share,
        transfers: u64,
        receiver: impl Fn(u64) -> String,
    ) -> Outcome<Vec<u64>> {
        let mut wire = Wire::open(self.address, &self.token)?;
        let mut micros = Vec::new();
        let batches = transfers.div_ceil(BATCH);
        for batch in (share.connection..batches).step_by(CONNECTIONS.try_into().unwrap_or(1)) {
            let begun = now();
            let end = transfers.saturating_sub(batch * BATCH);
            let size = if end < BATCH { end } else { BATCH };
            let numbers = (0..size).map(|n| share.first + batch * BATCH + n);
            let items: Vec<String> = numbers
                .map(|n| {
                    let to = receiver(n);
                    format!(r#"{{"key":"bench-{n}","receiver_id":"{to}","amount":"{UNITS}"}}"#)
                })
                .collect();
            let body = format!(r#"{{"transfers":[{}]}}"#, items.join(","));
            let reply = wire.post("/transfers", "", &body)?;
            let made = reply.matches(r#""http_status":201"#).count();
            if u64::try_from(made) != Ok(size) {
                return Err(format!("{made} of {size} were taken in: {reply}"));
            }
            micros.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        Ok(micros)
    }

    /// How many are COMPLETED, by the server's metrics.
    pub(crate) fn completed(&self) -> Outcome<u64> {
        let page = Wire::open(self.address, &self.token)?.get("/metrics")?;
        let line = page.lines().find_map(|line| line.strip_prefix(FLOW));
        Ok(line.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
    }
}

/// What one connection posts.
struct Share {
    connection: u64,
    /// The number of the row's first transfer.
    first: u64,
    begun: Instant,
}
