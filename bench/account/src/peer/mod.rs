//! The pipeline as its source draws it: a poll of the outbox every three seconds, one message at a time,
//! the offset committed by itself. It is the peer of the benchmark and no part of the product.
//!
//! Where the source leaves a choice it has the faster one: a poll takes all that is unprocessed, and
//! every statement is prepared.

mod consumer;
mod door;
mod publisher;

use crate::Outcome;
use crate::setup::FUNDED_UNITS;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_postgres::{Client, NoTls};

/// The tables of the source, which the benchmark creates.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");
/// How many are COMPLETED, what receivers hold, what all hold; it has no rows of moves, so that the
/// receivers' money is counted twice.
pub(crate) const COUNTS: &str =
    "SELECT (SELECT count(*) FROM transfers WHERE status = 'COMPLETED'), received, total,
       received / 10000 FROM (SELECT
         (SELECT sum(balance)::bigint FROM accounts WHERE account_number LIKE 'R-%') received,
         (SELECT sum(balance)::bigint FROM accounts) total) AS sums";

const VALIDATION: &str = "transfer-validation";
const EXECUTION: &str = "transfer-execution";
const COMPLETED: &str = "transfer-completed";
const FAILED: &str = "transfer-failed";
/// As the product's topics.
const PARTITIONS: i32 = 6;

/// The accounts of a run.
pub(crate) fn accounts(pairs: u64) -> String {
    format!(
        "INSERT INTO accounts SELECT 'P-' || n, {FUNDED_UNITS} FROM generate_series(0, {pairs} - 1) n;
         INSERT INTO accounts SELECT 'R-' || n, 0 FROM generate_series(0, {pairs} - 1) n"
    )
}

/// Serves until it is killed: address, database, brokers.
pub(crate) async fn serve(words: &[String]) -> Outcome {
    let [address, database, brokers] = words else {
        return Err("address, database, brokers".into());
    };
    let address: SocketAddr = address.parse().map_err(|_| format!("no address: {address}"))?;
    topics(brokers).await?;
    let mut tasks = tokio::task::JoinSet::new();
    let publisher = publisher::Publisher::open(database, brokers).await?;
    tasks.spawn(publisher.run());
    for role in
        [consumer::Role::Validation, consumer::Role::Execution, consumer::Role::Notification]
    {
        let consumer = consumer::Consumer::open(role, database, brokers).await?;
        tasks.spawn(consumer.run());
    }
    let router = door::router(Arc::new(door::Door::open(database).await?));
    let listener = tokio::net::TcpListener::bind(address).await.map_err(text)?;
    println!("the peer listens on {address}");
    tasks.spawn(async move { axum::serve(listener, router).await.map_err(text) });
    let ended = tasks.join_next().await;
    Err(format!("a part of the peer ended: {ended:?}"))
}

async fn topics(brokers: &str) -> Outcome {
    let client: AdminClient<_> = config(brokers).create().map_err(text)?;
    let topic = |name| NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(1));
    let all = [VALIDATION, EXECUTION, COMPLETED, FAILED].map(topic);
    let made = client.create_topics(&all, &AdminOptions::new()).await.map_err(text)?;
    let failed = made.into_iter().find_map(Result::err);
    failed.map_or(Ok(()), |(name, error)| Err(format!("{name}: {error}")))
}

fn config(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config
}

async fn connection(database: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(database, NoTls).await.map_err(text)?;
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    tokio::spawn(connection);
    Ok(client)
}

fn text(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
