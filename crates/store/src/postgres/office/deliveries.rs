//! Webhooks that are to be told.

use super::super::ask::{one, rows};
use super::super::fault::Fault;
use super::super::people::maybe;
use super::super::session::Pooled;
use super::super::text::{count, int, uint};
use super::lists::{CASE, case_row};
use kernel::ids::Millis;
use kernel::ports::office::{Delivery, Tells};
use tokio_postgres::Row;

/// What is to be tried now, or at a time further away than `longest`: such a time is a clock's
/// mistake. The end of an episode waits for its beginning.
pub(super) async fn due(
    db: &Pooled,
    (now, longest, limit): (Option<i64>, Millis, i64),
) -> Result<Vec<Delivery>, Fault> {
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
pub(super) async fn undelivered(db: &Pooled) -> Result<(u64, Option<Millis>), Fault> {
    let sql = "SELECT count(*), min(at) FROM webhook_deliveries WHERE due_at IS NOT NULL";
    match one(db, sql, &[]).await? {
        Some(row) => Ok((uint(row.try_get(0)?), row.try_get::<_, Option<i64>>(1)?.map(uint))),
        None => Ok((0, None)),
    }
}

fn tells(text: &str) -> Result<Tells, Fault> {
    let known = [Tells::Opened, Tells::Closed].into_iter().find(|tells| tells.name() == text);
    known.ok_or(Fault::Damaged("not a half of an episode"))
}
