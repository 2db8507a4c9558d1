//! The strict-FSM source as a user would write it: each step its own statement and its own COMMIT, a
//! pool of connections, prepared statements, and the trading core's log in a file. It is the peer of
//! the benchmark and no part of the product.

mod wal;

pub use wal::Wal;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{NoTls, Row, types::ToSql};
use uuid::Uuid;

/// The tables that the saga writes.
pub const SCHEMA: &str = include_str!("schema.sql");

/// What goes wrong ends the benchmark.
pub type Outcome<T = ()> = Result<T, String>;

const INIT: i16 = 0;
const SOURCE_PENDING: i16 = 10;
const SOURCE_DONE: i16 = 20;
const TARGET_PENDING: i16 = 30;
const COMMITTED: i16 = 40;

const ASSET: &str = "SELECT status FROM assets_tb WHERE asset_id = $1";
const BY_CID: &str = "SELECT * FROM transfers_tb WHERE cid = $1";
const CREATE: &str = "WITH made AS (
    INSERT INTO transfers_tb (req_id, cid, user_id, asset_id, amount, transfer_type, source_type)
    VALUES ($1, $2, $3, 3, $4::bigint, 1, 1) RETURNING req_id)
  INSERT INTO transfer_history (req_id, to_state) SELECT req_id, 0 FROM made";
const GET: &str = "SELECT * FROM transfers_tb WHERE req_id = $1";
const MOVE: &str = "WITH moved AS (
    UPDATE transfers_tb SET state = $3, updated_at = NOW() WHERE req_id = $1 AND state = $2
    RETURNING req_id)
  INSERT INTO transfer_history (req_id, from_state, to_state) SELECT req_id, $2, $3 FROM moved";
const OPERATION: &str =
    "SELECT result FROM transfer_operations WHERE req_id = $1 AND op_type = 'WITHDRAW'";
const LOCK: &str = "SELECT id, status, available >= $2::bigint FROM balances_tb
  WHERE user_id = $1 AND asset_id = 3 AND account_type = 'FUNDING' FOR UPDATE";
const DEDUCT: &str =
    "UPDATE balances_tb SET available = available - $2::bigint, version = version + 1
  WHERE id = $1";
const RECORD: &str =
    "INSERT INTO transfer_operations (req_id, op_type, result) VALUES ($1, 'WITHDRAW', 'SUCCESS')";

/// The saga over a database that has the tables.
#[derive(Debug, Clone)]
pub struct Naive {
    pool: Pool,
    wal: Wal,
}

impl Naive {
    /// Opens a pool with `connections` connections, all of them established.
    ///
    /// # Errors
    /// The database's.
    pub async fn open(url: &str, connections: usize, wal: Wal) -> Outcome<Self> {
        let config = url.parse().map_err(said)?;
        let kept = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, NoTls, kept))
            .max_size(connections)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(said)?;
        let mut open = Vec::new();
        for _ in 0..connections {
            open.push(pool.get().await.map_err(said)?);
        }
        drop(open);
        Ok(Self { pool, wal })
    }

    /// One transfer from Funding to Spot, to its end.
    ///
    /// # Errors
    /// Anything but COMMITTED.
    pub async fn transfer(&self, n: u64, user: i64, amount: i64) -> Outcome {
        // as the source's pseudocode: the API layer, the coordinator's loop, the adapters
        self.one(ASSET, &[&3_i32]).await?.ok_or("INVALID_ASSET")?;
        let cid = format!("c{n}");
        if self.one(BY_CID, &[&cid]).await?.is_some() {
            return Err("DUPLICATE_REQUEST".to_owned());
        }
        let id = Uuid::from_u128(u128::from(n)).simple().to_string();
        let id = id.get(6..).ok_or("no id")?;
        self.run(CREATE, &[&id, &cid, &user, &amount]).await?;
        loop {
            let row = self.one(GET, &[&id]).await?.ok_or("it is gone")?;
            let state: i16 = row.get("state");
            match state {
                INIT => {
                    self.cas(id, INIT, SOURCE_PENDING).await?;
                    self.withdraw(id, user, amount).await?;
                    self.cas(id, SOURCE_PENDING, SOURCE_DONE).await?;
                }
                SOURCE_DONE => {
                    self.cas(id, SOURCE_DONE, TARGET_PENDING).await?;
                    self.wal.deposit().await?;
                    self.cas(id, TARGET_PENDING, COMMITTED).await?;
                }
                COMMITTED => return Ok(()),
                other => return Err(format!("state {other}")),
            }
        }
    }

    async fn withdraw(&self, id: &str, user: i64, amount: i64) -> Outcome {
        if self.one(OPERATION, &[&id]).await?.is_some() {
            return Ok(());
        }
        let mut client = self.client().await?;
        let lock = client.prepare_cached(LOCK).await.map_err(said)?;
        let deduct = client.prepare_cached(DEDUCT).await.map_err(said)?;
        let record = client.prepare_cached(RECORD).await.map_err(said)?;
        let tx = client.transaction().await.map_err(said)?;
        let account = tx.query_opt(&lock, &[&user, &amount]).await.map_err(said)?;
        let account = account.ok_or("SOURCE_ACCOUNT_NOT_FOUND")?;
        let (account, status, enough): (i64, i16, bool) =
            (account.get(0), account.get(1), account.get(2));
        if status != 1 || !enough {
            return Err("INSUFFICIENT_BALANCE".to_owned());
        }
        tx.execute(&deduct, &[&account, &amount]).await.map_err(said)?;
        tx.execute(&record, &[&id]).await.map_err(said)?;
        tx.commit().await.map_err(said)
    }

    async fn cas(&self, id: &str, from: i16, to: i16) -> Outcome {
        match self.run(MOVE, &[&id, &from, &to]).await? {
            1 => Ok(()),
            _ => Err(format!("{id} was not at {from}")),
        }
    }

    async fn client(&self) -> Outcome<Object> {
        self.pool.get().await.map_err(said)
    }

    async fn one(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Outcome<Option<Row>> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await.map_err(said)?;
        client.query_opt(&statement, values).await.map_err(said)
    }

    async fn run(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Outcome<u64> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await.map_err(said)?;
        client.execute(&statement, values).await.map_err(said)
    }
}

fn said(fault: impl std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(why) = source {
        text = format!("{text}: {why}");
        source = why.source();
    }
    text
}
