//! The source's consumers: one message, one transaction, then one commit of its offset.

use super::{COMPLETED, EXECUTION, FAILED, VALIDATION, config, connection, text};
use crate::Outcome;
use rdkafka::Message as _;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use std::sync::Arc;
use tokio_postgres::{Client, Row, Statement, Transaction};
use uuid::Uuid;

/// A group of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Validation,
    Execution,
    /// It takes what it is sent, and sends it nowhere.
    Notification,
}

impl Role {
    const fn group(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Validation => ("validation-group", &[VALIDATION]),
            Self::Execution => ("execution-group", &[EXECUTION]),
            Self::Notification => ("notification-group", &[COMPLETED, FAILED]),
        }
    }
}

/// The statements of a step.
struct Statements {
    transfer: Statement,
    accounts: Statement,
    locked: Statement,
    add: Statement,
    status: Statement,
    outbox: Statement,
}

impl Statements {
    async fn prepare(client: &Client) -> Outcome<Self> {
        let prepare = |sql: &'static str| async move { client.prepare(sql).await.map_err(text) };
        Ok(Self {
            transfer: prepare(
                "SELECT from_account_number, to_account_number, amount, status FROM transfers \
                 WHERE id = $1",
            )
            .await?,
            accounts: prepare(
                "SELECT account_number, balance, status FROM accounts WHERE account_number IN ($1, $2)",
            )
            .await?,
            locked: prepare(
                "SELECT account_number, balance, status FROM accounts \
                 WHERE account_number IN ($1, $2) ORDER BY account_number FOR UPDATE",
            )
            .await?,
            add: prepare("UPDATE accounts SET balance = balance + $2 WHERE account_number = $1")
                .await?,
            status: prepare("UPDATE transfers SET status = $2, updated_at = now() WHERE id = $1")
                .await?,
            outbox: prepare(
                "INSERT INTO outbox_events (aggregate_id, destination, message_key, payload) \
                 VALUES ($1, $2, $3, $4)",
            )
            .await?,
        })
    }
}

/// A transfer as a consumer reads it.
struct Transfer {
    id: Uuid,
    from: String,
    to: String,
    amount: i64,
    status: String,
}

impl Transfer {
    fn can_be_paid(&self, accounts: &[Row]) -> bool {
        let active = accounts.iter().all(|row| row.get::<_, &str>(2) == "ACTIVE");
        let payer = accounts.iter().find(|row| row.get::<_, &str>(0) == self.from);
        let enough = payer.is_some_and(|row| row.get::<_, i64>(1) >= self.amount);
        accounts.len() == 2 && active && enough
    }
}

pub(super) struct Consumer {
    role: Role,
    client: Client,
    statements: Arc<Statements>,
    member: StreamConsumer,
}

impl Consumer {
    pub(super) async fn open(role: Role, database: &str, brokers: &str) -> Outcome<Self> {
        let client = connection(database).await?;
        let statements = Arc::new(Statements::prepare(&client).await?);
        let (group, topics) = role.group();
        let mut config = config(brokers);
        config.set("group.id", group).set("enable.auto.commit", "false");
        config.set("auto.offset.reset", "earliest");
        let member: StreamConsumer = config.create().map_err(text)?;
        member.subscribe(topics).map_err(text)?;
        Ok(Self { role, client, statements, member })
    }

    pub(super) async fn run(mut self) -> Outcome {
        loop {
            let (mut list, id) = {
                let message = self.member.recv().await.map_err(text)?;
                let mut list = rdkafka::TopicPartitionList::new();
                let next = rdkafka::Offset::Offset(message.offset() + 1);
                list.add_partition_offset(message.topic(), message.partition(), next)
                    .map_err(text)?;
                let payload = message.payload().unwrap_or_default();
                (Some(list), Uuid::try_parse_ascii(payload).map_err(text)?)
            };
            match self.role {
                Role::Validation | Role::Execution => self.step(id).await?,
                Role::Notification => {}
            }
            if let Some(list) = list.take() {
                // it waits for the broker, which a thread of the runtime may not
                self.member = commit(self.member, list).await?;
            }
        }
    }

    async fn step(&mut self, id: Uuid) -> Outcome {
        let statements = self.statements.clone();
        let tx = self.client.transaction().await.map_err(text)?;
        let row = tx.query_one(&statements.transfer, &[&id]).await.map_err(text)?;
        let (from, to, amount, status) = (row.get(0), row.get(1), row.get(2), row.get(3));
        let transfer = Transfer { id, from, to, amount, status };
        match self.role {
            Role::Validation => validate(&tx, &statements, &transfer).await?,
            Role::Execution => execute(&tx, &statements, &transfer).await?,
            Role::Notification => {}
        }
        tx.commit().await.map_err(text)
    }
}

async fn commit(
    member: StreamConsumer,
    list: rdkafka::TopicPartitionList,
) -> Outcome<StreamConsumer> {
    let committed = tokio::task::spawn_blocking(move || {
        member.commit(&list, CommitMode::Sync).map(|()| member)
    });
    committed.await.map_err(text)?.map_err(text)
}

async fn validate(tx: &Transaction<'_>, statements: &Statements, transfer: &Transfer) -> Outcome {
    if transfer.status == "PENDING" {
        write(tx, statements, transfer, "VALIDATING").await?;
        let accounts = tx.query(&statements.accounts, &[&transfer.from, &transfer.to]).await;
        if !transfer.can_be_paid(&accounts.map_err(text)?) {
            write(tx, statements, transfer, "FAILED").await?;
            return publish(tx, statements, transfer, FAILED).await;
        }
        write(tx, statements, transfer, "VALIDATED").await?;
    }
    publish(tx, statements, transfer, EXECUTION).await
}

async fn execute(tx: &Transaction<'_>, statements: &Statements, transfer: &Transfer) -> Outcome {
    if transfer.status == "VALIDATED" {
        write(tx, statements, transfer, "EXECUTING").await?;
        let accounts = tx.query(&statements.locked, &[&transfer.from, &transfer.to]).await;
        if !transfer.can_be_paid(&accounts.map_err(text)?) {
            write(tx, statements, transfer, "FAILED").await?;
            return publish(tx, statements, transfer, FAILED).await;
        }
        for (number, change) in
            [(&transfer.from, -transfer.amount), (&transfer.to, transfer.amount)]
        {
            tx.execute(&statements.add, &[number, &change]).await.map_err(text)?;
        }
        write(tx, statements, transfer, "COMPLETED").await?;
    }
    publish(tx, statements, transfer, COMPLETED).await
}

async fn write(
    tx: &Transaction<'_>,
    statements: &Statements,
    transfer: &Transfer,
    status: &str,
) -> Outcome {
    tx.execute(&statements.status, &[&transfer.id, &status]).await.map(drop).map_err(text)
}

async fn publish(
    tx: &Transaction<'_>,
    statements: &Statements,
    transfer: &Transfer,
    topic: &str,
) -> Outcome {
    let payload = transfer.id.to_string();
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&transfer.id, &topic, &transfer.from, &payload];
    tx.execute(&statements.outbox, &values).await.map(drop).map_err(text)
}
