//! Migrates the database. Migrations are embedded and ordered, and never change once they are released;
//! each is one transaction.

use super::DatabaseOpenError;
use super::columns::small;
use super::session::client::{Client, ConnectionError};
use super::session::connect::{Database, connect_once};
use kernel::money::Asset;
use sha2::{Digest, Sha256};
use tokio_postgres::types::ToSql;

/// One step from a shape of the tables to the next.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its place: they run in this order.
    pub number: i32,
    pub name: &'static str,
    sql: &'static str,
}

/// Every one, in their order.
const ALL: &[Migration] = &[
    Migration { number: 1, name: "journal", sql: include_str!("migrations/0001_journal.sql") },
    Migration { number: 2, name: "archive", sql: include_str!("migrations/0002_archive.sql") },
    Migration { number: 3, name: "terms", sql: include_str!("migrations/0003_terms.sql") },
    Migration { number: 4, name: "outbox", sql: include_str!("migrations/0004_outbox.sql") },
    Migration { number: 5, name: "accounts", sql: include_str!("migrations/0005_accounts.sql") },
    Migration { number: 6, name: "attempts", sql: include_str!("migrations/0006_attempts.sql") },
    Migration { number: 7, name: "parked", sql: include_str!("migrations/0007_parked.sql") },
    Migration { number: 8, name: "webhooks", sql: include_str!("migrations/0008_webhooks.sql") },
    Migration { number: 9, name: "agreed", sql: include_str!("migrations/0009_agreed.sql") },
    Migration { number: 10, name: "due put", sql: include_str!("migrations/0010_due_put.sql") },
    Migration { number: 11, name: "flows", sql: include_str!("migrations/0011_flows.sql") },
    Migration {
        number: 12,
        name: "refund fee",
        sql: include_str!("migrations/0012_refund_fee.sql"),
    },
];

/// The transaction that looks or migrates holds this advisory lock: two that start at once take
/// turns.
const LOCK: i64 = 0x506f_7274_0001;

/// How a database stands to this release.
#[derive(Debug)]
pub enum SchemaState {
    /// No table of ours in it.
    Empty,
    /// These are still to be run.
    Behind(Vec<Migration>),
    /// As this release needs it.
    Current,
    /// A newer release migrated it, or another text ran under one of these numbers.
    Foreign(String),
}

impl Migration {
    fn checksum(&self) -> Vec<u8> {
        Sha256::digest(self.sql).to_vec()
    }
}

/// Looks, and changes nothing.
///
/// # Errors
/// [`DatabaseOpenError`].
pub async fn state(database: &Database) -> Result<SchemaState, DatabaseOpenError> {
    let client = connect_once(database).await?;
    looked(&client).await.map_err(unreachable)
}

/// Runs what is missing; gives back what it ran.
///
/// # Errors
/// [`DatabaseOpenError`]; the migration that failed left nothing behind.
pub async fn migrate(database: &Database) -> Result<Vec<Migration>, DatabaseOpenError> {
    let mut client = connect_once(database).await?;
    client.unlimited();
    let set = "SET lock_timeout = 0; SET statement_timeout = 0; \
               SET idle_in_transaction_session_timeout = 0";
    client.batch(set).await.map_err(unreachable)?;
    let turn = "SELECT pg_advisory_lock($1)";
    client.query_one(turn, &[&LOCK]).await.map_err(unreachable)?;
    let missing = match looked(&client).await.map_err(unreachable)? {
        SchemaState::Empty => ALL.to_vec(),
        SchemaState::Behind(missing) => missing,
        SchemaState::Current => Vec::new(),
        SchemaState::Foreign(what) => return Err(DatabaseOpenError::Schema(what)),
    };
    for step in &missing {
        run(&client, step).await.map_err(|error| {
            DatabaseOpenError::Schema(format!("migration {} {}: {}", step.number, step.name, error))
        })?;
    }
    Ok(missing)
}

async fn run(client: &Client, step: &Migration) -> Result<(), ConnectionError> {
    let begin = "BEGIN; CREATE TABLE IF NOT EXISTS portage_migrations (number int PRIMARY KEY, \
                 name text NOT NULL, checksum bytea NOT NULL, at timestamptz NOT NULL DEFAULT now())";
    let done = async {
        client.batch(begin).await?;
        client.batch(step.sql).await?;
        if step.number == 1 {
            fresh(client).await?;
        }
        let note = "INSERT INTO portage_migrations (number, name, checksum) VALUES ($1, $2, $3)";
        client
            .execute(&client.prepared(note).await?, &[&step.number, &step.name, &step.checksum()])
            .await?;
        client.batch("COMMIT").await
    };
    let done = done.await;
    if done.is_err() {
        // the next statement says what is wrong, where this does not come through
        let _over = client.batch("ROLLBACK").await;
    }
    done
}

/// Writes the first rows of a fresh store: its identity, which is drawn once, and the first assets.
async fn fresh(client: &Client) -> Result<(), ConnectionError> {
    let identity = "INSERT INTO service_state VALUES \
                    ('identity', replace(gen_random_uuid()::text, '-', ''), 1, 0)";
    client.batch(identity).await?;
    let sql = "INSERT INTO assets_tb VALUES ($1, $2, $3, $4, $5, ($6::text)::numeric, NULL, NULL)";
    for asset in Asset::fresh() {
        let (id, precision) = (small(asset.id.0), i16::from(asset.precision));
        let (status, min) = (asset.status.name(), asset.min.0.to_string());
        let symbol: &str = &asset.symbol;
        let row: [&(dyn ToSql + Sync); 6] =
            [&id, &symbol, &precision, &status, &asset.transferable, &min];
        client.execute(&client.prepared(sql).await?, &row).await?;
    }
    Ok(())
}

async fn looked(client: &Client) -> Result<SchemaState, ConnectionError> {
    let there = "SELECT to_regclass('portage_migrations') IS NOT NULL";
    if !client.query_one(there, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(SchemaState::Empty);
    }
    let sql = "SELECT number, checksum FROM portage_migrations ORDER BY number";
    let mut ran = Vec::new();
    for row in client.query(&client.prepared(sql).await?, &[]).await? {
        ran.push((row.try_get::<_, i32>(0)?, row.try_get::<_, Vec<u8>>(1)?));
    }
    for (number, checksum) in &ran {
        match ALL.iter().find(|step| step.number == *number) {
            None => {
                return Ok(SchemaState::Foreign(format!(
                    "a newer release migrated them (number {number}); use that release"
                )));
            }
            Some(step) if step.checksum() != *checksum => {
                return Ok(SchemaState::Foreign(format!(
                    "number {number} ({}) was run with another text than this release has",
                    step.name
                )));
            }
            Some(_) => {}
        }
    }
    let missing: Vec<Migration> = ALL
        .iter()
        .filter(|step| ran.iter().all(|(number, _)| *number != step.number))
        .copied()
        .collect();
    Ok(if missing.is_empty() { SchemaState::Current } else { SchemaState::Behind(missing) })
}

fn unreachable(error: ConnectionError) -> DatabaseOpenError {
    DatabaseOpenError::Unreachable(error.to_string())
}
