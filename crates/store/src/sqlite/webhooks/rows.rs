//! Reads the rows of the webhook tables for their port.

use super::super::admin::{CASE, case_row};
use super::super::columns::{self, int, uint};
use super::super::read::operators::words;
use super::super::rows;
use super::endpoint;
use crate::columns::most;
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis, Serial};
use kernel::ports::admin_queries::Tells;
use kernel::ports::webhooks::{BacklogQuery, CaseEvent, EndpointBacklog, Progress, WebhookMessage};
use kernel::record::Record;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The columns of a message, in the order of [`message`].
pub(super) const MESSAGE: &str = "endpoint, number, id, type, subject, body, at, attempts, due_at, \
    tried_at, delivered_at, status, error";

pub(super) fn message(row: &Row<'_>) -> rusqlite::Result<WebhookMessage> {
    let time = |n: usize| row.get::<_, Option<i64>>(n).map(|at| at.map(uint));
    Ok(WebhookMessage {
        endpoint: endpoint(0, row.get_ref(0)?.as_str()?)?,
        number: uint(row.get(1)?),
        id: words(row, 2)?,
        kind: words(row, 3)?,
        subject: words(row, 4)?,
        body: words(row, 5)?,
        at: uint(row.get(6)?),
        attempts: row.get(7)?,
        due_at: time(8)?,
        tried_at: time(9)?,
        delivered_at: time(10)?,
        status: row.get(11)?,
        error: row.get(12)?,
    })
}

pub(super) fn progress(db: &Connection) -> rusqlite::Result<Vec<Progress>> {
    let sql = "SELECT name, value, version FROM webhook_progress ORDER BY name";
    let read = |row: &Row<'_>| {
        let (value, version) = (uint(row.get(1)?), uint(row.get(2)?));
        Ok(Progress { name: words(row, 0)?, value, version })
    };
    db.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// Watched transfers: those whose end was not found, or those that ended since a time.
pub(super) fn watched(
    db: &Connection,
    flows: &Flows,
    since: Option<Millis>,
    after: Serial,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let which = if since.is_some() { "w.ended_at >= ?3" } else { "w.ended_at IS NULL AND ?3 = 0" };
    let columns: Vec<_> = rows::COLUMNS.split(", ").map(|c| format!("t.{}", c.trim())).collect();
    let sql = format!(
        "SELECT {} FROM webhook_watch w JOIN transfers t USING (transfer_id) \
         WHERE {which} AND w.transfer_id > ?1 ORDER BY w.transfer_id LIMIT ?2",
        columns.join(", ")
    );
    let bounds = params![int(after.0), most(limit), int(since.unwrap_or(0))];
    let mut ask = db.prepare_cached(&sql)?;
    ask.query_map(bounds, |row| rows::record(flows, row))?.collect()
}

fn case_event(row: &Row<'_>) -> rusqlite::Result<CaseEvent> {
    let text = row.get_ref(9)?.as_str()?;
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    let tells = known.ok_or_else(|| columns::damaged(9, "not a half of an episode"))?;
    Ok(CaseEvent { case: case_row(row)?, tells, at: uint(row.get(10)?) })
}

/// The events of cases that are not passed on to endpoints yet, the oldest first.
pub(super) fn case_events(db: &Connection, limit: usize) -> rusqlite::Result<Vec<CaseEvent>> {
    let sql = format!(
        "SELECT {CASE}, d.tells, d.at FROM webhook_deliveries d JOIN cases c USING (case_id) \
         WHERE NOT d.passed_on ORDER BY d.at, d.case_id LIMIT ?"
    );
    db.prepare_cached(&sql)?.query_map([most(limit)], case_event)?.collect()
}

/// The events of cases since a time, the newest first.
pub(super) fn case_events_since(
    db: &Connection,
    since: Millis,
    limit: usize,
) -> rusqlite::Result<Vec<CaseEvent>> {
    let sql = format!(
        "SELECT {CASE}, d.tells, d.at FROM webhook_deliveries d JOIN cases c USING (case_id) \
         WHERE d.at >= ? ORDER BY d.at DESC, d.case_id DESC LIMIT ?"
    );
    db.prepare_cached(&sql)?.query_map([int(since), most(limit)], case_event)?.collect()
}

pub(super) fn waiting(db: &Connection, of: &BacklogQuery) -> rusqlite::Result<EndpointBacklog> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE at >= ?2) FROM webhook_messages \
               WHERE endpoint = ?1 AND due_at IS NOT NULL";
    let read = |row: &Row<'_>| {
        Ok(EndpointBacklog { messages: uint(row.get(0)?), queued_since: uint(row.get(1)?) })
    };
    db.prepare_cached(sql)?.query_row(params![of.endpoint.to_string(), int(of.since)], read)
}

pub(super) fn messages(
    db: &Connection,
    endpoint: Id,
    before: Option<u64>,
    limit: usize,
) -> rusqlite::Result<Vec<WebhookMessage>> {
    let sql = format!(
        "SELECT {MESSAGE} FROM webhook_messages WHERE endpoint = ? AND number < ? \
         ORDER BY number DESC LIMIT ?"
    );
    let bounds = params![endpoint.to_string(), before.map_or(i64::MAX, int), most(limit)];
    db.prepare_cached(&sql)?.query_map(bounds, message)?.collect()
}

pub(super) fn one_message(
    db: &Connection,
    endpoint: Id,
    number: u64,
) -> rusqlite::Result<Option<WebhookMessage>> {
    let sql = format!("SELECT {MESSAGE} FROM webhook_messages WHERE endpoint = ? AND number = ?");
    let key = params![endpoint.to_string(), int(number)];
    db.prepare_cached(&sql)?.query_row(key, message).optional()
}
