//! Implements the port `Outbox`: leases buckets to workers, reads their rows, and has rows marked as
//! published, sent again and expired.
//!
//! Each statement is a transaction of its own, on connections that no transfer waits for. A worker
//! reads a bucket from its beginning every time, and marked rows leave the table: so it also finds a
//! row that is committed after a row of a higher place was marked.

use super::read_pool::{ReadPool, rows, written};
use super::transfers::ended;
use crate::columns::most;
use crate::postgres::columns::{self, count, int, small, uint};
use crate::postgres::error::StoreError;
use crate::postgres::journal::Postgres;
use kernel::answer::Cause;
use kernel::ids::{Day, Millis, WorkerId};
use kernel::message::{self, Emitted};
use kernel::ports::Fut;
use kernel::ports::outbox::{
    Backlog, BucketLease, Outbox, PublishedRange, Queued, UnpublishedQuery,
};
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// The time of a statement, as `m.now`.
const NOW: &str = "m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now)";
/// The columns of a message in both tables.
const COLUMNS: &str = "id, req_id, n, topic, partition_key, type, payload, headers, created_at";

fn number(bucket: u16) -> i16 {
    i16::try_from(bucket).unwrap_or(i16::MAX)
}

fn bucket(row: &Row, column: usize) -> Result<u16, StoreError> {
    Ok(u16::try_from(row.try_get::<_, i16>(column)?).unwrap_or(0))
}

fn queued(row: &Row) -> Result<Queued, StoreError> {
    let text = |n: usize| Ok::<_, StoreError>(Arc::<str>::from(row.try_get::<_, &str>(n)?));
    let emitted = Emitted {
        number: row.try_get::<_, Uuid>(0)?.as_u128(),
        id: columns::id(row.try_get(1)?),
        n: count(row.try_get(2)?),
        topic: text(3)?,
        key: text(4)?,
        kind: text(5)?,
        payload: text(6)?,
        headers: text(7)?,
        at: uint(row.try_get(8)?),
    };
    Ok(Queued { bucket: bucket(row, 9)?, place: uint(row.try_get(10)?), emitted })
}

impl ReadPool {
    /// Keeps its own first, then takes what is free. One that ran out gets a new epoch even where it
    /// is its own: in between it may have been another's.
    async fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Result<Vec<BucketLease>, Cause> {
        let over = "(b.worker IS NULL OR b.leased_until <= m.now OR b.leased_until > m.now + $3)";
        let sql = format!(
            "WITH {NOW}, wanted AS (SELECT b.bucket, b.worker IS NOT DISTINCT FROM $2 AS mine, \
               {over} AS free FROM outbox_buckets b, m WHERE b.worker = $2 OR {over} \
               ORDER BY b.worker IS NOT DISTINCT FROM $2 DESC, b.bucket FOR UPDATE OF b SKIP LOCKED), \
             ranked AS (SELECT *, row_number() OVER (ORDER BY mine DESC, bucket) <= $4 AS kept \
               FROM wanted) \
             UPDATE outbox_buckets b SET worker = CASE WHEN r.kept THEN $2 END, \
               leased_until = CASE WHEN r.kept THEN m.now + $3 ELSE 0 END, \
               epoch = b.epoch + (r.kept AND (r.free OR NOT r.mine))::int \
             FROM ranked r, m WHERE r.bucket = b.bucket AND (r.kept OR r.mine) \
             RETURNING b.bucket, b.epoch, r.kept"
        );
        let db = self.lease().await?;
        let (own, most) = (columns::worker(worker.0), i64::from(most));
        let found = written(&db, &sql, &[&self.manual_now(), &own, &int(length), &most]).await?;
        let read = |row: &Row| -> Result<Option<BucketLease>, StoreError> {
            let lease = BucketLease { bucket: bucket(row, 0)?, epoch: uint(row.try_get(1)?) };
            Ok(row.try_get::<_, bool>(2)?.then_some(lease))
        };
        let leases: Vec<Option<_>> = found.iter().map(read).collect::<Result<_, _>>()?;
        let mut leases: Vec<_> = leases.into_iter().flatten().collect();
        leases.sort_unstable();
        Ok(leases)
    }

    async fn release_buckets(&self, worker: WorkerId) -> Result<(), Cause> {
        let sql = "UPDATE outbox_buckets SET worker = NULL, leased_until = 0 WHERE worker = $1";
        written(&self.lease().await?, sql, &[&columns::worker(worker.0)]).await?;
        Ok(())
    }

    async fn unpublished(&self, query: UnpublishedQuery) -> Result<Vec<Queued>, Cause> {
        let sql = format!(
            "SELECT {COLUMNS}, q.bucket, q.place FROM unnest($1::smallint[]) AS b(bucket), \
             LATERAL (SELECT * FROM outbox_queue o WHERE o.bucket = b.bucket \
               AND o.partition_key <> ALL ($3::text[]) ORDER BY o.place LIMIT $2) q \
             ORDER BY q.bucket, q.place"
        );
        let UnpublishedQuery { leases, limit, without } = query;
        let buckets: Vec<i16> = leases.iter().map(|lease| number(lease.bucket)).collect();
        let without: Vec<&str> = without.iter().map(|key| &**key).collect();
        let given: [&(dyn ToSql + Sync); 3] = [&buckets, &most(limit), &without];
        let found = rows(&self.lease().await?, &sql, &given).await?;
        Ok(found.iter().map(queued).collect::<Result<_, _>>()?)
    }

    /// The leases are locked while their rows move, so no other worker takes a bucket in between.
    async fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        marked: Vec<(u16, u64)>,
    ) -> Result<Vec<u16>, Cause> {
        let sql = format!(
            "WITH {NOW}, held AS MATERIALIZED (SELECT b.bucket FROM outbox_buckets b \
               JOIN unnest($3::smallint[], $4::bigint[]) AS l(bucket, epoch) \
               ON l.bucket = b.bucket AND l.epoch = b.epoch WHERE b.worker = $2 \
               ORDER BY b.bucket FOR UPDATE OF b), \
             gone AS (DELETE FROM outbox_queue q \
               USING unnest($5::smallint[], $6::bigint[]) AS r(bucket, place) \
               WHERE q.bucket = r.bucket AND q.place = r.place \
               AND q.bucket IN (SELECT bucket FROM held) RETURNING q.*), \
             kept AS (INSERT INTO outbox_history SELECT (m.now / 86400000)::int, bucket, place, \
               {COLUMNS}, m.now FROM gone, m) \
             SELECT bucket FROM held"
        );
        let epochs: Vec<i64> = leases.iter().map(|lease| int(lease.epoch)).collect();
        let buckets: Vec<i16> = leases.iter().map(|lease| number(lease.bucket)).collect();
        let of: Vec<i16> = marked.iter().map(|(bucket, _)| number(*bucket)).collect();
        let places: Vec<i64> = marked.iter().map(|(_, place)| int(*place)).collect();
        let (db, own) = (self.lease().await?, columns::worker(worker.0));
        let held = written(&db, &sql, &[&self.manual_now(), &own, &buckets, &epochs, &of, &places])
            .await?;
        let held: Vec<u16> =
            held.iter().map(|row| bucket(row, 0)).collect::<Result<_, StoreError>>()?;
        let lost = leases.iter().map(|lease| lease.bucket).filter(|bucket| !held.contains(bucket));
        Ok(lost.collect())
    }

    async fn published(&self, range: PublishedRange) -> Result<u64, Cause> {
        let sql = "SELECT count(*) FROM outbox_history WHERE day BETWEEN $1 AND $2 \
                   AND published_at >= $3 AND published_at < $4";
        let days = (small(Day::of(range.from).0), small(Day::of(range.to).0));
        let db = self.search().await?;
        let found = rows(&db, sql, &[&days.0, &days.1, &int(range.from), &int(range.to)]).await?;
        counted(&found)
    }

    async fn emit_again(&self, range: PublishedRange, limit: usize) -> Result<u64, Cause> {
        let sql = format!(
            "WITH chosen AS (SELECT day, bucket, place FROM outbox_history \
               WHERE day BETWEEN $1 AND $2 AND published_at >= $3 AND published_at < $4 \
               ORDER BY day, bucket, place LIMIT $5), \
             gone AS (DELETE FROM outbox_history h USING chosen c WHERE h.day = c.day \
               AND h.bucket = c.bucket AND h.place = c.place RETURNING h.*), \
             again AS (INSERT INTO outbox_queue (bucket, {COLUMNS}) SELECT bucket, {COLUMNS} \
               FROM gone ORDER BY day, bucket, gone.place RETURNING 1) \
             SELECT count(*) FROM again"
        );
        let days = (small(Day::of(range.from).0), small(Day::of(range.to).0));
        let (from, to) = (int(range.from), int(range.to));
        let db = self.lease().await?;
        let found = written(&db, &sql, &[&days.0, &days.1, &from, &to, &most(limit)]).await?;
        counted(&found)
    }

    async fn queued(&self, messages: Vec<(u16, u128)>) -> Result<Vec<u128>, Cause> {
        let sql = "SELECT q.id FROM outbox_queue q WHERE q.bucket = ANY ($1) AND q.id = ANY ($2)";
        let buckets: Vec<i16> = messages.iter().map(|(bucket, _)| number(*bucket)).collect();
        let ids: Vec<Uuid> = messages.iter().map(|(_, id)| Uuid::from_u128(*id)).collect();
        let found = rows(&self.lease().await?, sql, &[&buckets, &ids]).await?;
        let read = |row: &Row| Ok(row.try_get::<_, Uuid>(0)?.as_u128());
        Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
    }

    async fn emit(&self, messages: Vec<Emitted>) -> Result<u64, Cause> {
        let sql = format!(
            "WITH added AS (INSERT INTO outbox_queue (bucket, {COLUMNS}) \
               SELECT m.bucket, m.id, m.req_id, m.n, m.topic, m.key, m.type, m.payload, m.headers, m.at \
               FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::text[], \
                 $7::text[], $8::text[], $9::text[], $10::bigint[]) WITH ORDINALITY \
                 AS m(bucket, id, req_id, n, topic, key, type, payload, headers, at, place) \
               WHERE NOT EXISTS (SELECT 1 FROM outbox_queue q WHERE q.bucket = m.bucket AND q.id = m.id) \
               ORDER BY m.place RETURNING 1) \
             SELECT count(*) FROM added"
        );
        let text = |of: fn(&Emitted) -> &str| messages.iter().map(of).collect::<Vec<_>>();
        let buckets: Vec<i16> = messages.iter().map(|m| number(message::bucket(&m.key))).collect();
        let ids: Vec<Uuid> = messages.iter().map(|m| Uuid::from_u128(m.number)).collect();
        let of: Vec<Uuid> = messages.iter().map(|m| columns::uuid(m.id)).collect();
        let n: Vec<i32> = messages.iter().map(|m| small(m.n)).collect();
        let at: Vec<i64> = messages.iter().map(|m| int(m.at)).collect();
        let (topics, keys) = (text(|m| &m.topic), text(|m| &m.key));
        let (kinds, payloads, headers) =
            (text(|m| &m.kind), text(|m| &m.payload), text(|m| &m.headers));
        let given: [&(dyn ToSql + Sync); 10] =
            [&buckets, &ids, &of, &n, &topics, &keys, &kinds, &payloads, &headers, &at];
        counted(&written(&self.lease().await?, &sql, &given).await?)
    }

    async fn expire_published(&self, before: Millis, limit: usize) -> Result<u64, Cause> {
        // each row is one look into an index: joins read all transfers, and the whole inbox
        let sql = format!(
            "WITH RECURSIVE groups (name) AS ((SELECT min(consumer) FROM inbox) UNION ALL \
               SELECT (SELECT min(i.consumer) FROM inbox i WHERE i.consumer > g.name) \
               FROM groups g WHERE g.name IS NOT NULL), \
             oldest AS MATERIALIZED (SELECT day, bucket, place, id, req_id FROM outbox_history \
               WHERE day < $1 ORDER BY day, bucket, place LIMIT 10 * $2::bigint), \
             old AS MATERIALIZED (SELECT day, bucket, place, id FROM oldest h \
               WHERE (SELECT true FROM transfers t WHERE t.req_id = h.req_id AND NOT ({})) IS NULL \
               ORDER BY day, bucket, place LIMIT $2), \
             needless AS (DELETE FROM inbox WHERE ctid = ANY (ARRAY(SELECT r.row FROM old o, groups g, \
               LATERAL (SELECT i.ctid AS row FROM inbox i WHERE i.consumer = g.name \
                 AND i.event_id = o.id OFFSET 0) r))), \
             gone AS (DELETE FROM outbox_history h USING old o WHERE h.day = o.day \
               AND h.bucket = o.bucket AND h.place = o.place RETURNING 1) \
             SELECT count(*) FROM gone",
            ended(&self.flows)
        );
        let db = self.lease().await?;
        counted(&written(&db, &sql, &[&small(Day::of(before).0), &most(limit)]).await?)
    }

    async fn backlog(&self) -> Result<Backlog, Cause> {
        let sql = "SELECT count(*), (SELECT min(f.created_at) FROM outbox_buckets b, \
                     LATERAL (SELECT created_at FROM outbox_queue q WHERE q.bucket = b.bucket \
                       ORDER BY q.place LIMIT 1) f) FROM outbox_queue";
        let found = rows(&self.search().await?, sql, &[]).await?;
        let Some(row) = found.first() else { return Err(Cause::of("STORE_DAMAGED")) };
        let oldest: Option<i64> = row.try_get(1).map_err(StoreError::from)?;
        Ok(Backlog { messages: counted(&found)?, oldest: oldest.map(uint) })
    }
}

fn counted(rows: &[Row]) -> Result<u64, Cause> {
    let row = rows.first().ok_or_else(|| Cause::of("STORE_DAMAGED"))?;
    Ok(uint(row.try_get::<_, i64>(0).map_err(StoreError::from)?))
}

impl Outbox for Postgres {
    fn lease_buckets(
        &self,
        worker: WorkerId,
        length: Millis,
        most: u16,
    ) -> Fut<'_, Result<Vec<BucketLease>, Cause>> {
        Box::pin(self.read_pool().lease_buckets(worker, length, most))
    }

    fn release_buckets(&self, worker: WorkerId) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.read_pool().release_buckets(worker))
    }

    fn unpublished(&self, query: UnpublishedQuery) -> Fut<'_, Result<Vec<Queued>, Cause>> {
        let pool = self.read_pool();
        // what a standby does not have yet may be lost with the primary: it is not published
        Box::pin(pool.confirmed(pool.unpublished(query)))
    }

    fn mark_published(
        &self,
        worker: WorkerId,
        leases: Vec<BucketLease>,
        rows: Vec<(u16, u64)>,
    ) -> Fut<'_, Result<Vec<u16>, Cause>> {
        Box::pin(self.read_pool().mark_published(worker, leases, rows))
    }

    fn published(&self, range: PublishedRange) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.read_pool().published(range))
    }

    fn emit_again(&self, range: PublishedRange, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.read_pool().emit_again(range, limit))
    }

    fn queued(&self, messages: Vec<(u16, u128)>) -> Fut<'_, Result<Vec<u128>, Cause>> {
        Box::pin(self.read_pool().queued(messages))
    }

    fn emit(&self, messages: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.read_pool().emit(messages))
    }

    fn expire_published(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.read_pool().expire_published(before, limit))
    }

    fn backlog(&self) -> Fut<'_, Result<Backlog, Cause>> {
        Box::pin(self.read_pool().backlog())
    }
}
