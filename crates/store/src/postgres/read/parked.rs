//! Implements the port `Inbox`: which messages a consumer group has consumed, and which messages wait
//! under their keys.
//!
//! Each statement is a transaction of its own, on connections that no transfer waits for.

use super::read_pool::{ReadPool, rows, written};
use crate::postgres::columns::{count, int, most, small, uint};
use crate::postgres::error::StoreError;
use crate::postgres::journal::Postgres;
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::bus::{BusDelivery, BusMessage, Partition};
use kernel::ports::inbox::{Inbox, NextTry, ParkedKey, ParkedMessage, ParkedName};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// A key's row is locked while its messages get their places, so that places are committed in order.
const PARK: &str = "WITH m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now), \
    given AS (SELECT *, row_number() OVER (PARTITION BY topic, partition_key ORDER BY nth) AS nr, \
      count(*) OVER (PARTITION BY topic, partition_key) AS of_key \
      FROM unnest($3::text[], $4::text[], $5::uuid[], $6::int[], $7::bigint[], $8::text[], $9::text[]) \
      WITH ORDINALITY AS g(topic, partition_key, id, partition, place, payload, headers, nth)), \
    keys AS (INSERT INTO parked_keys SELECT $2::text, topic, partition_key, partition, $10::int, \
      $11::text, m.now, $12::bigint, of_key FROM given, m WHERE nr = 1 ORDER BY topic, partition_key \
      ON CONFLICT (consumer, topic, partition_key) \
      DO UPDATE SET last = parked_keys.last + excluded.last RETURNING topic, partition_key, last) \
    INSERT INTO parked SELECT $2::text, g.topic, g.partition_key, k.last - g.of_key + g.nr, g.id, \
      g.partition, g.place, g.payload, g.headers, $11::text, m.now \
      FROM given g JOIN keys k USING (topic, partition_key), m ON CONFLICT DO NOTHING";

const KEYS: &str = "SELECT consumer, topic, partition_key, partition, failures, cause, parked_at, \
      due_at, (SELECT count(*) FROM parked p WHERE p.consumer = k.consumer AND p.topic = k.topic \
        AND p.partition_key = k.partition_key), last \
    FROM parked_keys k WHERE $1::text IS NULL OR consumer = $1 ORDER BY 1, 2, 3 LIMIT $2";

const MESSAGES: &str = "SELECT n, id, partition, place, payload, headers FROM parked \
    WHERE consumer = $1 AND topic = $2 AND partition_key = $3 ORDER BY n LIMIT $4";

const TRY_AGAIN: &str = "UPDATE parked_keys SET failures = $4, cause = $5, due_at = $6 \
    WHERE consumer = $1 AND topic = $2 AND partition_key = $3";

/// Whether one was parked since is decided by the key's row, as the last one who locked it left it. That some waited
/// before, also under a key that waits anew, the messages say.
const UNPARK: &str = "WITH gone AS (DELETE FROM parked \
      WHERE consumer = $1 AND topic = $2 AND partition_key = $3 AND id = ANY($4)) \
    DELETE FROM parked_keys \
    WHERE consumer = $1 AND topic = $2 AND partition_key = $3 AND last <= $5 \
      AND NOT EXISTS (SELECT FROM parked \
        WHERE consumer = $1 AND topic = $2 AND partition_key = $3 AND id <> ALL ($4))";

const CONSUMED: &str = "SELECT event_id FROM inbox WHERE consumer = $1 AND event_id = ANY($2)";

fn text(row: &Row, n: usize) -> Result<Arc<str>, StoreError> {
    Ok(row.try_get::<_, &str>(n)?.into())
}

fn parked_key(row: &Row) -> Result<ParkedKey, StoreError> {
    let name = ParkedName { group: text(row, 0)?, topic: text(row, 1)?, key: text(row, 2)? };
    let (failures, due) = (count(row.try_get(4)?), uint(row.try_get(7)?));
    Ok(ParkedKey {
        name,
        partition: count(row.try_get(3)?),
        messages: uint(row.try_get(8)?),
        last: uint(row.try_get(9)?),
        since: uint(row.try_get(6)?),
        next: NextTry { failures, cause: text(row, 5)?, due },
    })
}

fn parked_message(name: &ParkedName, row: &Row) -> Result<ParkedMessage, StoreError> {
    let (topic, key) = (name.topic.clone(), name.key.clone());
    let partition = Partition { topic: topic.clone(), number: count(row.try_get(2)?) };
    let number = row.try_get::<_, Uuid>(1)?.as_u128();
    let (payload, headers) = (text(row, 4)?, text(row, 5)?);
    let message = BusMessage { topic, key, number, payload, headers };
    let delivery = BusDelivery { partition, offset: uint(row.try_get(3)?), message };
    Ok(ParkedMessage { n: uint(row.try_get(0)?), delivery })
}

impl ReadPool {
    async fn consumed(&self, group: &str, numbers: Vec<u128>) -> Result<Vec<u128>, Cause> {
        let numbers: Vec<Uuid> = numbers.into_iter().map(Uuid::from_u128).collect();
        let found = rows(&self.question().await?, CONSUMED, &[&group, &numbers]).await?;
        let read = |row: &Row| Ok::<_, StoreError>(row.try_get::<_, Uuid>(0)?.as_u128());
        Ok(found.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn park(
        &self,
        group: &str,
        messages: &[BusDelivery],
        next: &NextTry,
    ) -> Result<(), Cause> {
        let texts = |of: fn(&BusDelivery) -> &str| messages.iter().map(of).collect::<Vec<_>>();
        let topics = texts(|one| &one.partition.topic);
        let keys = texts(|one| &one.message.key);
        let payloads = texts(|one| &one.message.payload);
        let headers = texts(|one| &one.message.headers);
        let ids: Vec<Uuid> =
            messages.iter().map(|one| Uuid::from_u128(one.message.number)).collect();
        let partitions: Vec<i32> = messages.iter().map(|one| small(one.partition.number)).collect();
        let places: Vec<i64> = messages.iter().map(|one| int(one.offset)).collect();
        let (failures, cause, due) = (small(next.failures), &*next.cause, int(next.due));
        let db = self.lease().await?;
        written(
            &db,
            PARK,
            &[
                &self.manual_now(),
                &group,
                &topics,
                &keys,
                &ids,
                &partitions,
                &places,
                &payloads,
                &headers,
                &failures,
                &cause,
                &due,
            ],
        )
        .await?;
        Ok(())
    }

    async fn parked_keys(
        &self,
        group: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ParkedKey>, Cause> {
        let found = rows(&self.question().await?, KEYS, &[&group, &most(limit)]).await?;
        Ok(found.iter().map(parked_key).collect::<Result<_, _>>()?)
    }

    async fn parked(&self, name: &ParkedName, limit: usize) -> Result<Vec<ParkedMessage>, Cause> {
        let (group, topic, key) = (&*name.group, &*name.topic, &*name.key);
        let db = self.question().await?;
        let found = rows(&db, MESSAGES, &[&group, &topic, &key, &most(limit)]).await?;
        Ok(found.iter().map(|row| parked_message(name, row)).collect::<Result<_, _>>()?)
    }

    async fn try_again(&self, name: &ParkedName, next: &NextTry) -> Result<(), Cause> {
        let (group, topic, key) = (&*name.group, &*name.topic, &*name.key);
        let (failures, cause, due) = (small(next.failures), &*next.cause, int(next.due));
        let db = self.lease().await?;
        written(&db, TRY_AGAIN, &[&group, &topic, &key, &failures, &cause, &due]).await?;
        Ok(())
    }

    async fn unpark(&self, name: &ParkedName, consumed: &[u128], upto: u64) -> Result<(), Cause> {
        let (group, topic, key) = (&*name.group, &*name.topic, &*name.key);
        let ids: Vec<Uuid> = consumed.iter().copied().map(Uuid::from_u128).collect();
        let db = self.lease().await?;
        written(&db, UNPARK, &[&group, &topic, &key, &ids, &int(upto)]).await?;
        Ok(())
    }
}

impl Inbox for Postgres {
    fn consumed(
        &self,
        group: &'static str,
        numbers: Vec<u128>,
    ) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(self.read_pool().consumed(group, numbers))
    }

    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.read_pool().park(&group, &messages, &next).await })
    }

    fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<ParkedKey>, Cause>> {
        Box::pin(async move { self.read_pool().parked_keys(group.as_deref(), limit).await })
    }

    fn parked(&self, name: ParkedName, limit: usize) -> Fut<'_, Result<Vec<ParkedMessage>, Cause>> {
        Box::pin(async move { self.read_pool().parked(&name, limit).await })
    }

    fn try_again(&self, name: ParkedName, next: NextTry) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.read_pool().try_again(&name, &next).await })
    }

    fn unpark(
        &self,
        name: ParkedName,
        consumed: Vec<u128>,
        upto: u64,
    ) -> Fut<'_, Result<(), Cause>> {
        Box::pin(async move { self.read_pool().unpark(&name, &consumed, upto).await })
    }
}
