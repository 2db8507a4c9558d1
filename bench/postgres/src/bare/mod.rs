//! The peer at the limit: one statement for each step of a whole batch, and nothing else. No engine, no
//! guards beyond its counts: it is right only as long as nothing goes wrong.

use crate::Outcome;
use naive::Wal;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

/// The tables that the batches write.
pub(crate) const SCHEMA: &str = include_str!("lean.sql");
const OPEN: &str = include_str!("open.sql");
const CLOSE: &str = include_str!("close.sql");
/// Batches in flight: two fill two cores, more only wait for each other.
const LANES: usize = 2;
/// What the store sets on its own sessions; a batch's plan is the same for every size, and goes by keys.
const SESSION: &str = "SET synchronous_commit = on; SET plan_cache_mode = force_generic_plan; \
    SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; \
    SET enable_mergejoin = off; SET enable_bitmapscan = off";

/// One transfer that a caller waits for.
struct Item {
    n: i64,
    user: i64,
    amount: i64,
    told: oneshot::Sender<()>,
}

/// Batches on a few connections at once.
#[derive(Clone)]
pub(crate) struct Bare {
    asks: mpsc::Sender<Item>,
    // they end with this
    _lanes: Arc<JoinSet<()>>,
}

/// One connection that carries one batch after the other.
struct Lane {
    number: i32,
    client: Client,
    open: Statement,
    close: Statement,
    wal: Wal,
    history: [String; 2],
}

impl Bare {
    /// Opens the lanes, which share `in_flight` concurrent transfers.
    pub(crate) async fn open(url: &str, wal: &Wal, in_flight: usize) -> Outcome<Self> {
        let (asks, asked) = mpsc::channel(4_096);
        let asked = Arc::new(Mutex::new(asked));
        let mut tasks = JoinSet::new();
        for number in 0..LANES {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(said)?;
            tasks.spawn(async move {
                // its end is seen by whoever asks next
                let _ended = connection.await;
            });
            client.batch_execute(SESSION).await.map_err(said)?;
            let lane = Lane {
                number: i32::try_from(number).unwrap_or(0),
                open: client.prepare(OPEN).await.map_err(said)?,
                close: client.prepare(CLOSE).await.map_err(said)?,
                client,
                wal: wal.clone(),
                history: [entries(0, 4), format!(",{}", entries(4, 1))],
            };
            tasks.spawn(lane.run(asked.clone(), in_flight.div_ceil(LANES)));
        }
        Ok(Self { asks, _lanes: Arc::new(tasks) })
    }

    /// One transfer from Funding to Spot, to its end.
    pub(crate) async fn transfer(&self, n: u64, user: i64, amount: i64) -> Outcome {
        let (told, done) = oneshot::channel();
        let n = i64::try_from(n).map_err(said)?;
        let gone = |_| "the bare lanes gave up".to_owned();
        self.asks.send(Item { n, user, amount, told }).await.map_err(|_| gone(()))?;
        done.await.map_err(|_| gone(()))
    }
}

impl Lane {
    async fn run(self, asked: Arc<Mutex<mpsc::Receiver<Item>>>, most: usize) {
        let mut batch = Vec::new();
        loop {
            let mut waiting = asked.lock().await;
            if waiting.recv_many(&mut batch, most).await == 0 {
                return;
            }
            drop(waiting);
            if let Err(fault) = self.carry(&batch).await {
                panic!("the bare statements: {fault}");
            }
            for item in batch.drain(..) {
                // who does not wait any more has ended
                let _gone = item.told.send(());
            }
        }
    }

    async fn carry(&self, batch: &[Item]) -> Outcome {
        let mut sums = BTreeMap::<i64, i64>::new();
        for item in batch {
            *sums.entry(item.user).or_default() += item.amount;
        }
        let all: i64 = sums.values().sum();
        let (givers, gives): (Vec<i64>, Vec<i64>) = sums.into_iter().unzip();
        let ids: Vec<Uuid> = batch.iter().map(|item| id(item.n)).collect();
        let numbers: Vec<i64> = batch.iter().map(|item| item.n).collect();
        let users: Vec<i64> = batch.iter().map(|item| item.user).collect();
        let cids: Vec<String> = batch.iter().map(|item| format!("c{}", item.n)).collect();
        let amounts: Vec<i64> = batch.iter().map(|item| item.amount).collect();
        let [before, after] = &self.history;
        let lane = self.number;
        self.client
            .query(
                &self.open,
                &[&givers, &gives, &ids, &numbers, &users, &cids, &amounts, &lane, before],
            )
            .await
            .map_err(said)?;
        self.wal.deposits(batch.len()).await?;
        self.client
            .query(&self.close, &[&givers, &gives, &ids, &users, &amounts, &all, &lane, after])
            .await
            .map(drop)
            .map_err(said)
    }
}

/// Rising, as the product's ids are: 48 bits of time, then a number.
fn id(n: i64) -> Uuid {
    Uuid::from_u128((1_763_700_000_000_u128 << 80) + u128::from(n.unsigned_abs()))
}

/// About 70 bytes for each event.
fn entries(from: u32, count: u32) -> String {
    let one = |seq| {
        format!(
            "[{seq},1763700000000,10,20,\"SOURCE_PENDING\",\"0123456789abcdef0123456789abcdef\"]"
        )
    };
    (from..from + count).map(one).collect::<Vec<_>>().join(",")
}

fn said(fault: impl std::error::Error) -> String {
    let why = fault.source().map_or_else(String::new, |why| format!(": {why}"));
    format!("{fault}{why}")
}
