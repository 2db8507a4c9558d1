//! Implements the port `WebhookOutbox`: cursors, queued messages, claims, results of tries, and the log
//! of messages.
//!
//! Each statement is a transaction of its own, on connections that no transfer waits for.

use super::admin::{CASE, case_row};
use super::operators::{maybe, words};
use super::read_pool::{ReadPool, one, rows, written};
use super::transfers::records;
use crate::postgres::columns::{self, count, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::journal::Postgres;
use crate::postgres::rows::COLUMNS;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis, Serial};
use kernel::ports::Fut;
use kernel::ports::admin_queries::Tells;
use kernel::ports::webhooks::{
    BacklogQuery, CaseEvent, ClaimQuery, EndpointBacklog, MessageBatch, NewMessage, Progress,
    TriedMessage, WebhookMessage, WebhookOutbox,
};
use kernel::record::Record;
use std::collections::BTreeSet;
use tokio_postgres::Row;
use uuid::Uuid;

/// The time of a statement, as `m.now`.
const NOW: &str = "m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now)";
/// The columns of a message, in the order of [`message`].
const MESSAGE: &str = "w.endpoint, w.number, w.id, w.type, w.subject, w.body, w.at, w.attempts, \
    w.due_at, w.tried_at, w.delivered_at, w.status, w.error";
/// The prefix of the name of the time since which an endpoint fails; the endpoint's id follows.
const FAILING: &str = "failing/";

fn message(row: &Row) -> Result<WebhookMessage, StoreError> {
    let time = |n: usize| Ok::<_, StoreError>(row.try_get::<_, Option<i64>>(n)?.map(uint));
    let status = row.try_get::<_, Option<i32>>(11)?;
    Ok(WebhookMessage {
        endpoint: columns::id(row.try_get(0)?),
        number: uint(row.try_get(1)?),
        id: words(row, 2)?,
        kind: words(row, 3)?,
        subject: words(row, 4)?,
        body: words(row, 5)?,
        at: uint(row.try_get(6)?),
        attempts: count(row.try_get(7)?),
        due_at: time(8)?,
        tried_at: time(9)?,
        delivered_at: time(10)?,
        status: status.and_then(|status| u16::try_from(status).ok()),
        error: maybe(row, 12)?,
    })
}

fn messages(found: &[Row]) -> Result<Vec<WebhookMessage>, StoreError> {
    found.iter().map(message).collect()
}

fn case_event(row: &Row) -> Result<CaseEvent, StoreError> {
    let text: &str = row.try_get(9)?;
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    let tells = known.ok_or(StoreError::Damaged("not a half of an episode"))?;
    Ok(CaseEvent { case: case_row(row)?, tells, at: uint(row.try_get(10)?) })
}

/// Messages as arrays of their columns.
#[derive(Default)]
struct MessageArrays {
    endpoints: Vec<Uuid>,
    ids: Vec<String>,
    kinds: Vec<String>,
    subjects: Vec<String>,
    bodies: Vec<String>,
}

impl MessageArrays {
    fn of<'m>(messages: impl Iterator<Item = &'m NewMessage>) -> Self {
        let (mut arrays, mut seen) = (Self::default(), BTreeSet::new());
        for NewMessage { endpoint, id, kind, subject, body, again: _ } in messages {
            if seen.insert((*endpoint, id.clone())) {
                arrays.endpoints.push(columns::uuid(*endpoint));
                arrays.ids.push(id.to_string());
                arrays.kinds.push(kind.to_string());
                arrays.subjects.push(subject.to_string());
                arrays.bodies.push(body.to_string());
            }
        }
        arrays
    }
}

/// The statement that queues a batch, with the time as its first parameter.
fn queue_sql() -> String {
    format!(
        "WITH {NOW}, \
         v AS (SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS v(name, version, value)), \
         moved AS (UPDATE webhook_progress p SET value = v.value, version = p.version + 1 FROM v \
           WHERE p.name = v.name AND p.version = v.version RETURNING 1), \
         begun AS (INSERT INTO webhook_progress SELECT name, value, 1 FROM v WHERE version = 0 \
           ON CONFLICT DO NOTHING RETURNING 1), \
         fresh AS (INSERT INTO webhook_messages (endpoint, id, type, subject, body, at, due_at) \
           SELECT f.*, m.now, m.now FROM unnest($5::uuid[], $6::text[], $7::text[], $8::text[], \
             $9::text[]) f, m ON CONFLICT (endpoint, id) DO NOTHING), \
         again AS (INSERT INTO webhook_messages AS w (endpoint, id, type, subject, body, at, due_at) \
           SELECT a.*, m.now, m.now FROM unnest($10::uuid[], $11::text[], $12::text[], $13::text[], \
             $14::text[]) a, m ON CONFLICT (endpoint, id) DO UPDATE SET at = EXCLUDED.at, \
             due_at = EXCLUDED.due_at, \
             attempts = 0, status = NULL, error = NULL), \
         resent AS (UPDATE webhook_messages w SET due_at = m.now, attempts = 0, status = NULL, \
             error = NULL \
           FROM unnest($15::uuid[], $16::bigint[]) AS r(endpoint, number), m \
           WHERE w.endpoint = r.endpoint AND w.number = r.number), \
         watched AS (INSERT INTO webhook_watch SELECT * FROM unnest($17::bigint[]) \
           ON CONFLICT DO NOTHING), \
         ended AS (UPDATE webhook_watch w SET ended_at = e.at \
           FROM unnest($18::bigint[], $19::bigint[]) AS e(number, at) \
           WHERE w.transfer_id = e.number), \
         told AS (UPDATE webhook_deliveries d SET passed_on = true \
           FROM unnest($20::bigint[], $21::text[]) AS t(case_id, tells) \
           WHERE d.case_id = t.case_id AND d.tells = t.tells) \
         SELECT portage_expect((SELECT count(*) FROM moved) + (SELECT count(*) FROM begun), \
           cardinality($2::text[]))"
    )
}

impl ReadPool {
    async fn webhook_progress(&self) -> Result<Vec<Progress>, Cause> {
        let sql = "SELECT name, value, version FROM webhook_progress ORDER BY name";
        let found = rows(&self.question().await?, sql, &[]).await?;
        let read = |row: &Row| {
            let (value, version) = (uint(row.try_get(1)?), uint(row.try_get(2)?));
            Ok(Progress { name: words(row, 0)?, value, version })
        };
        Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
    }

    async fn watched(&self, after: Serial, limit: usize) -> Result<Vec<Record>, Cause> {
        let sql = format!(
            "SELECT {COLUMNS} FROM webhook_watch w JOIN every_transfer t USING (transfer_id) \
             WHERE w.ended_at IS NULL AND w.transfer_id > $1 ORDER BY w.transfer_id LIMIT $2"
        );
        let db = self.search().await?;
        let found = rows(&db, &sql, &[&int(after.0), &columns::most(limit)]).await?;
        Ok(records(&self.flows, &found)?)
    }

    async fn ended_late(
        &self,
        since: Millis,
        after: Serial,
        limit: usize,
    ) -> Result<Vec<Record>, Cause> {
        let sql = format!(
            "SELECT {COLUMNS} FROM webhook_watch w JOIN every_transfer t USING (transfer_id) \
             WHERE w.ended_at >= $1 AND w.transfer_id > $2 ORDER BY w.transfer_id LIMIT $3"
        );
        let db = self.search().await?;
        let bounds = (int(since), int(after.0), columns::most(limit));
        let found = rows(&db, &sql, &[&bounds.0, &bounds.1, &bounds.2]).await?;
        Ok(records(&self.flows, &found)?)
    }

    async fn case_events(&self, limit: usize) -> Result<Vec<CaseEvent>, Cause> {
        let sql = format!(
            "SELECT {CASE}, d.tells, d.at FROM webhook_deliveries d JOIN cases c USING (case_id) \
             WHERE NOT d.passed_on ORDER BY d.at, d.case_id LIMIT $1"
        );
        let found = rows(&self.question().await?, &sql, &[&columns::most(limit)]).await?;
        Ok(found.iter().map(case_event).collect::<Result<_, _>>()?)
    }

    async fn case_events_since(
        &self,
        since: Millis,
        limit: usize,
    ) -> Result<Vec<CaseEvent>, Cause> {
        let sql = format!(
            "SELECT {CASE}, d.tells, d.at FROM webhook_deliveries d JOIN cases c USING (case_id) \
             WHERE d.at >= $1 ORDER BY d.at DESC, d.case_id DESC LIMIT $2"
        );
        let db = self.search().await?;
        let found = rows(&db, &sql, &[&int(since), &columns::most(limit)]).await?;
        Ok(found.iter().map(case_event).collect::<Result<_, _>>()?)
    }

    async fn queue_messages(&self, batch: MessageBatch) -> Result<bool, Cause> {
        let MessageBatch { moves, messages, resend, watch, ended, told } = batch;
        let names: Vec<&str> = moves.iter().map(|one| &*one.name).collect();
        let versions: Vec<i64> = moves.iter().map(|one| int(one.version)).collect();
        let values: Vec<i64> = moves.iter().map(|one| int(one.value)).collect();
        let fresh = MessageArrays::of(messages.iter().filter(|one| !one.again));
        let again = MessageArrays::of(messages.iter().filter(|one| one.again));
        let of: Vec<Uuid> = resend.iter().map(|(endpoint, _)| columns::uuid(*endpoint)).collect();
        let numbers: Vec<i64> = resend.iter().map(|(_, number)| int(*number)).collect();
        let watch: Vec<i64> = watch.iter().map(|serial| int(serial.0)).collect();
        let late: Vec<i64> = ended.iter().map(|(serial, _)| int(serial.0)).collect();
        let at: Vec<i64> = ended.iter().map(|(_, at)| int(*at)).collect();
        let cases: Vec<i64> = told.iter().map(|(case, _)| int(*case)).collect();
        let halves: Vec<&str> = told.iter().map(|(_, tells)| tells.name()).collect();
        let db = self.lease().await?;
        let MessageArrays { endpoints, ids, kinds, subjects, bodies } = &fresh;
        let done = written(
            &db,
            &queue_sql(),
            &[
                &self.manual_now(),
                &names,
                &versions,
                &values,
                endpoints,
                ids,
                kinds,
                subjects,
                bodies,
                &again.endpoints,
                &again.ids,
                &again.kinds,
                &again.subjects,
                &again.bodies,
                &of,
                &numbers,
                &watch,
                &late,
                &at,
                &cases,
                &halves,
            ],
        )
        .await;
        match done {
            Ok(_) => Ok(true),
            Err(StoreError::AssumptionFailed) => Ok(false),
            Err(error) => Err(error.cause()),
        }
    }

    async fn claim_messages(&self, query: ClaimQuery) -> Result<Vec<WebhookMessage>, Cause> {
        let ClaimQuery { endpoint, hold, longest, limit } = query;
        let sql = format!(
            "WITH {NOW}, due AS MATERIALIZED (SELECT d.number FROM webhook_messages d, m \
               WHERE d.endpoint = $2 AND d.due_at IS NOT NULL \
               AND (d.due_at <= m.now OR d.due_at > m.now + $3) \
               ORDER BY d.due_at, d.number LIMIT $5 FOR UPDATE OF d SKIP LOCKED) \
             UPDATE webhook_messages w SET due_at = m.now + $4 FROM due, m \
             WHERE w.endpoint = $2 AND w.number = due.number RETURNING {MESSAGE}"
        );
        let (endpoint, limit) = (columns::uuid(endpoint), columns::most(limit));
        let (longest, hold) = (int(longest), int(hold));
        let db = self.lease().await?;
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&self.manual_now(), &endpoint, &longest, &hold, &limit];
        let mut claimed = messages(&written(&db, &sql, &params).await?)?;
        claimed.sort_by_key(|one| one.number);
        Ok(claimed)
    }

    async fn waiting_messages(&self, of: Vec<BacklogQuery>) -> Result<Vec<EndpointBacklog>, Cause> {
        let sql = "SELECT c.messages, c.since FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY \
                   AS q(endpoint, since, place), LATERAL (SELECT count(*) AS messages, \
                     count(*) FILTER (WHERE w.at >= q.since) AS since FROM webhook_messages w \
                     WHERE w.endpoint = q.endpoint AND w.due_at IS NOT NULL) c ORDER BY q.place";
        let endpoints: Vec<Uuid> = of.iter().map(|one| columns::uuid(one.endpoint)).collect();
        let since: Vec<i64> = of.iter().map(|one| int(one.since)).collect();
        let read = |row: &Row| {
            let count = |column: usize| row.try_get(column).map(uint);
            Ok(EndpointBacklog { messages: count(0)?, queued_since: count(1)? })
        };
        let found = rows(&self.search().await?, sql, &[&endpoints, &since]).await?;
        Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
    }

    async fn tried_messages(&self, tried: Vec<TriedMessage>) -> Result<(), Cause> {
        let sql = format!(
            "WITH {NOW}, \
             v AS (SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::int[], $6::text[]) \
               AS v(endpoint, number, wait, status, error)), \
             tried AS (UPDATE webhook_messages w SET attempts = w.attempts + 1, tried_at = m.now, \
               due_at = m.now + v.wait, status = v.status, error = v.error, \
               delivered_at = COALESCE(w.delivered_at, CASE WHEN v.error IS NULL THEN m.now END) \
               FROM v, m WHERE w.endpoint = v.endpoint AND w.number = v.number \
               AND w.due_at IS NOT NULL), \
             works AS (DELETE FROM webhook_progress WHERE name = ANY($7::text[])), \
             fails AS (INSERT INTO webhook_progress SELECT f.name, m.now, 1 \
               FROM unnest($8::text[]) AS f(name), m ON CONFLICT DO NOTHING) \
             SELECT 1"
        );
        let endpoints: Vec<Uuid> = tried.iter().map(|one| columns::uuid(one.endpoint)).collect();
        let numbers: Vec<i64> = tried.iter().map(|one| int(one.number)).collect();
        let waits: Vec<Option<i64>> = tried.iter().map(|one| one.wait.map(int)).collect();
        let statuses: Vec<Option<i32>> =
            tried.iter().map(|one| one.status.map(i32::from)).collect();
        let errors: Vec<Option<&str>> = tried.iter().map(|one| one.error.as_deref()).collect();
        let (works, fails) = crate::columns::failing(FAILING, &tried);
        let db = self.lease().await?;
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
            [&self.manual_now(), &endpoints, &numbers, &waits, &statuses, &errors, &works, &fails];
        written(&db, &sql, &params).await?;
        Ok(())
    }

    async fn webhook_messages(
        &self,
        endpoint: Id,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<WebhookMessage>, Cause> {
        let sql = format!(
            "SELECT {MESSAGE} FROM webhook_messages w WHERE w.endpoint = $1 AND w.number < $2 \
             ORDER BY w.number DESC LIMIT $3"
        );
        let bounds = (columns::uuid(endpoint), before.map_or(i64::MAX, int), columns::most(limit));
        let db = self.question().await?;
        Ok(messages(&rows(&db, &sql, &[&bounds.0, &bounds.1, &bounds.2]).await?)?)
    }

    async fn webhook_message(
        &self,
        endpoint: Id,
        number: u64,
    ) -> Result<Option<WebhookMessage>, Cause> {
        let sql = format!(
            "SELECT {MESSAGE} FROM webhook_messages w WHERE w.endpoint = $1 AND w.number = $2"
        );
        let db = self.question().await?;
        let found = one(&db, &sql, &[&columns::uuid(endpoint), &int(number)]).await?;
        Ok(found.map(|row| message(&row)).transpose()?)
    }

    async fn forget_messages(&self, before: Millis, limit: usize) -> Result<u64, Cause> {
        let sql = "WITH old AS (SELECT endpoint, number FROM webhook_messages WHERE at < $1 \
                     ORDER BY at LIMIT $2), \
                   gone AS (DELETE FROM webhook_messages w USING old o \
                     WHERE w.endpoint = o.endpoint AND w.number = o.number RETURNING 1), \
                   late AS (SELECT transfer_id FROM webhook_watch WHERE ended_at < $1 LIMIT $2), \
                   over AS (DELETE FROM webhook_watch w USING late l \
                     WHERE w.transfer_id = l.transfer_id RETURNING 1) \
                   SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM over)";
        let db = self.lease().await?;
        let found = written(&db, sql, &[&int(before), &columns::most(limit)]).await?;
        let row = found.first().ok_or_else(|| Cause::of("STORE_DAMAGED"))?;
        Ok(uint(row.try_get(0).map_err(StoreError::from)?))
    }
}

impl WebhookOutbox for Postgres {
    fn progress(&self) -> Fut<'_, Result<Vec<Progress>, Cause>> {
        Box::pin(self.read_pool().webhook_progress())
    }

    fn watched(&self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool().watched(after, limit))
    }

    fn ended_late(
        &self,
        since: Millis,
        after: Serial,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Record>, Cause>> {
        Box::pin(self.read_pool().ended_late(since, after, limit))
    }

    fn case_events(&self, limit: usize) -> Fut<'_, Result<Vec<CaseEvent>, Cause>> {
        Box::pin(self.read_pool().case_events(limit))
    }

    fn case_events_since(
        &self,
        since: Millis,
        limit: usize,
    ) -> Fut<'_, Result<Vec<CaseEvent>, Cause>> {
        Box::pin(self.read_pool().case_events_since(since, limit))
    }

    fn queue(&self, batch: MessageBatch) -> Fut<'_, Result<bool, Cause>> {
        Box::pin(self.read_pool().queue_messages(batch))
    }

    fn claim(&self, query: ClaimQuery) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>> {
        Box::pin(self.read_pool().claim_messages(query))
    }

    fn waiting(&self, of: Vec<BacklogQuery>) -> Fut<'_, Result<Vec<EndpointBacklog>, Cause>> {
        Box::pin(self.read_pool().waiting_messages(of))
    }

    fn tried(&self, tried: Vec<TriedMessage>) -> Fut<'_, Result<(), Cause>> {
        Box::pin(self.read_pool().tried_messages(tried))
    }

    fn messages(
        &self,
        endpoint: Id,
        before: Option<u64>,
        limit: usize,
    ) -> Fut<'_, Result<Vec<WebhookMessage>, Cause>> {
        Box::pin(self.read_pool().webhook_messages(endpoint, before, limit))
    }

    fn message(&self, endpoint: Id, number: u64) -> Fut<'_, Result<Option<WebhookMessage>, Cause>> {
        Box::pin(self.read_pool().webhook_message(endpoint, number))
    }

    fn forget(&self, before: Millis, limit: usize) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(self.read_pool().forget_messages(before, limit))
    }
}
