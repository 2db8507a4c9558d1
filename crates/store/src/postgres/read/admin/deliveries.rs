//! Reads which webhooks about cases are due, for the delivery of cases.

use super::lists::{CASE, case_row};
use crate::postgres::columns::{count, int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::read::operators::maybe;
use crate::postgres::read::read_pool::{one, rows};
use crate::postgres::session::connect::Pooled;
use kernel::ids::Millis;
use kernel::ports::admin_queries::{Delivery, Tells};
use tokio_postgres::Row;

/// What is to be tried now, or at a time further away than `longest`: such a time is a clock's
/// mistake. The end of an episode waits for its beginning.
pub(crate) async fn due(
    db: &Pooled,
    now: Option<i64>,
    longest: Millis,
    limit: i64,
) -> Result<Vec<Delivery>, StoreError> {
    let sql = format!(
        "WITH moment AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now) \
         SELECT {CASE}, d.tells, d.attempts, d.due_at, d.error FROM webhook_deliveries d \
         JOIN cases c USING (case_id), moment m WHERE d.due_at IS NOT NULL \
         AND (d.due_at <= m.now OR d.due_at - $2 > m.now) AND (d.tells = $3 OR NOT EXISTS (SELECT \
           FROM webhook_deliveries b WHERE b.case_id = d.case_id AND b.tells = $3 \
           AND b.due_at IS NOT NULL)) ORDER BY d.due_at, d.at, d.case_id LIMIT $4"
    );
    let read = |row: &Row| {
        let attempts = count(row.try_get(10)?);
        let due_at = row.try_get::<_, Option<i64>>(11)?.map(uint);
        let (case, tells) = (case_row(row)?, tells(row.try_get(9)?)?);
        Ok(Delivery { case, tells, attempts, due_at, error: maybe(row, 12)? })
    };
    let found = rows(db, &sql, &[&now, &int(longest), &Tells::Opened.name(), &limit]).await?;
    found.iter().map(read).collect()
}

/// How many are to be delivered, and since when the oldest of them is.
pub(crate) async fn undelivered(db: &Pooled) -> Result<(u64, Option<Millis>), StoreError> {
    let sql = "SELECT count(*), min(at) FROM webhook_deliveries WHERE due_at IS NOT NULL";
    match one(db, sql, &[]).await? {
        Some(row) => Ok((uint(row.try_get(0)?), row.try_get::<_, Option<i64>>(1)?.map(uint))),
        None => Ok((0, None)),
    }
}

fn tells(text: &str) -> Result<Tells, StoreError> {
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    known.ok_or(StoreError::Damaged("not a half of an episode"))
}
