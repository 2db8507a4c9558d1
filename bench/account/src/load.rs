//! The load: posts over keep-alive connections, and for some of them a client that looks until its
//! transfer is COMPLETED.

use crate::Outcome;
use crate::probe::now;
use crate::setup::{AMOUNT, CURRENCY, payer, receiver};
use crate::wire::Wire;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Number of connections that post transfers.
const CONNECTIONS: u32 = 32;
/// One in this number of transfers is followed to its end: looking costs the server too.
const FOLLOWED: u64 = 10;
/// How long a client waits before it looks again; a fiftieth of what it has waited is added.
const LOOK: Duration = Duration::from_millis(3);
/// How often it is counted how many are COMPLETED.
const COUNT: Duration = Duration::from_millis(100);
/// How long what is open may take to end.
const DRAIN: Duration = Duration::from_secs(240);

/// How the load is made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plan {
    /// `rate` transfers per second for `time`, whatever the server does.
    Paced { rate: u32, time: Duration },
    /// As many transfers as possible for `time`, while fewer than `open` are open.
    Full { open: u64, time: Duration },
}

/// A server under load, and what was asked of it so far.
pub(crate) struct Target {
    pub address: SocketAddr,
    pub token: String,
    pub pairs: u64,
    /// Transfers that were acknowledged.
    pub acknowledged: AtomicU64,
    /// Transfers that were COMPLETED at the last count.
    completed: AtomicU64,
    next: AtomicU64,
    micros: Mutex<Vec<u64>>,
    /// Connections of clients that look.
    idle: Mutex<Vec<Wire>>,
}

/// One run of a load.
pub(crate) struct Loaded {
    pub transfers: u64,
    pub took: Duration,
    /// From POST to COMPLETED of each followed one, sorted.
    pub micros: Vec<u64>,
}

impl Target {
    pub(crate) fn new(address: SocketAddr, token: String, pairs: u64) -> Arc<Self> {
        Arc::new(Self {
            address,
            token,
            pairs,
            acknowledged: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            next: AtomicU64::new(0),
            micros: Mutex::default(),
            idle: Mutex::default(),
        })
    }

    /// Posts as planned, then waits until all of it is COMPLETED.
    pub(crate) async fn run(self: &Arc<Self>, plan: Plan) -> Outcome<Loaded> {
        let before = self.acknowledged.load(Ordering::SeqCst);
        let begun = now();
        let (mut posters, counts) = (JoinSet::new(), self.clone());
        for n in 0..CONNECTIONS {
            let target = self.clone();
            posters.spawn(async move { target.post_all(plan, begun, n).await });
        }
        let mut counter = JoinSet::new();
        counter.spawn(async move { counts.count().await });
        let mut followers = JoinSet::new();
        while let Some(posted) = posters.join_next().await {
            let all: JoinSet<Outcome> = posted.map_err(|error| error.to_string())??;
            followers.spawn(all.join_all());
        }
        let end = now() + DRAIN;
        while self.completed.load(Ordering::SeqCst) < self.acknowledged.load(Ordering::SeqCst) {
            if let Some(ended) = counter.try_join_next() {
                return Err(format!("the count of COMPLETED ended: {ended:?}"));
            }
            if now() > end {
                return Err(format!("{} transfers are open after {DRAIN:?}", self.open()));
            }
            sleep(Duration::from_millis(2)).await;
        }
        let took = now().duration_since(begun);
        counter.shutdown().await;
        for followed in followers.join_all().await.into_iter().flatten() {
            followed?;
        }
        let mut micros =
            std::mem::take(&mut *self.micros.lock().unwrap_or_else(PoisonError::into_inner));
        micros.sort_unstable();
        let transfers = self.acknowledged.load(Ordering::SeqCst) - before;
        Ok(Loaded { transfers, took, micros })
    }

    fn open(&self) -> u64 {
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        acknowledged.saturating_sub(self.completed.load(Ordering::SeqCst))
    }

    /// The share of one connection; gives the clients that look.
    async fn post_all(
        self: Arc<Self>,
        plan: Plan,
        begun: Instant,
        connection: u32,
    ) -> Outcome<JoinSet<Outcome>> {
        let mut wire = Wire::open(self.address, &self.token).await?;
        let mut followers = JoinSet::new();
        for turn in 0.. {
            let due = match plan {
                Plan::Paced { rate, time } => {
                    let nth = Duration::from_secs(u64::from(turn * CONNECTIONS + connection));
                    let due = begun + nth / rate;
                    if due > begun + time {
                        break;
                    }
                    tokio::time::sleep_until(due.into()).await;
                    due
                }
                Plan::Full { open, time } => {
                    while self.open() >= open && now() < begun + time {
                        sleep(Duration::from_millis(2)).await;
                    }
                    if now() >= begun + time {
                        break;
                    }
                    now()
                }
            };
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            let id = self.post(&mut wire, n).await?;
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
            if n.is_multiple_of(FOLLOWED) {
                followers.spawn(self.clone().follow(id, due));
            }
        }
        Ok(followers)
    }

    async fn post(&self, wire: &mut Wire, n: u64) -> Outcome<String> {
        // a multiplication by an odd number and a shift: spread, and the same in every run
        let pair = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % self.pairs;
        let (from, to) = (payer(pair), receiver(pair));
        let body = format!(
            r#"{{"fromAccountNumber":"{from}","toAccountNumber":"{to}","amount":"{AMOUNT}","currency":"{CURRENCY}"}}"#
        );
        let reply = wire.post("/api/transfers", &body).await?;
        let reply: serde_json::Value =
            serde_json::from_str(&reply).map_err(|error| format!("{error}: {reply}"))?;
        let id = reply.get("transferId").and_then(serde_json::Value::as_str);
        id.map(str::to_owned).ok_or_else(|| format!("no transferId: {reply}"))
    }

    /// Looks at a transfer until it is COMPLETED; `due` is when its POST was to begin.
    async fn follow(self: Arc<Self>, id: String, due: Instant) -> Outcome {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut wire = match idle {
            Some(wire) => wire,
            None => Wire::open(self.address, &self.token).await?,
        };
        let path = format!("/api/transfers/{id}");
        loop {
            let page = wire.get(&path).await?;
            let took = now().duration_since(due);
            if page.contains(r#""status":"COMPLETED""#) {
                let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                self.micros.lock().unwrap_or_else(PoisonError::into_inner).push(micros);
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(wire);
                return Ok(());
            }
            if page.contains(r#""status":"FAILED""#) {
                return Err(format!("a transfer failed: {page}"));
            }
            sleep(LOOK + took / 50).await;
        }
    }

    /// Counts by the server's metrics, until it is stopped.
    async fn count(&self) -> Outcome {
        const COMPLETED: &str = r#"portage_transfers_total{flow="account",state="COMPLETED"} "#;
        let mut wire = Wire::open(self.address, &self.token).await?;
        loop {
            let page = wire.get("/metrics").await?;
            let line = page.lines().find_map(|line| line.strip_prefix(COMPLETED));
            let count = line.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
            self.completed.store(count, Ordering::SeqCst);
            sleep(COUNT).await;
        }
    }
}
