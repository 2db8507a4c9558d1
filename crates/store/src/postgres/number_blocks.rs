//! Finds the number up to which no write is still under way, for readers that go through transfers by
//! number. A write takes its block of numbers when it begins, and a write with a lower block may commit
//! after one with a higher. So a write announces, before it takes its block, the least number that it
//! may get; a reader that goes on behind a number stays below the least number that is announced.
//!
//! The announcement is an advisory lock that ends with the transaction. The reader reads the next block
//! first, then the announcements, and begins its instant last. A number below the next block was taken
//! before the first query, and its announcement was there before that. Where the second query does not
//! find the announcement, its transaction has ended, and the instant shows what it wrote: a transaction
//! releases its locks after it becomes visible.

use super::columns::uint;
use super::error::StoreError;
use super::read::read_pool::one;
use super::session::connect::Pooled;
use kernel::ids::Serial;

/// The first number of the next block.
const NEXT: &str = "CASE WHEN is_called THEN last_value + 1024 ELSE last_value END";

/// Announces the least number that this transaction may get, as the lock of that number below zero:
/// every other lock of one number is above.
pub(crate) fn announce() -> String {
    format!("SELECT pg_advisory_xact_lock_shared(-({NEXT})) FROM transfer_blocks")
}

/// The least number that is announced. A lock's number stands in two halves.
const ANNOUNCED: &str = "SELECT min(-key) FROM (SELECT (classid::bigint << 32) | objid::bigint AS key \
    FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND database = \
    (SELECT oid FROM pg_database WHERE datname = current_database())) AS locks WHERE key < 0";

/// The highest number up to which nothing is still being written, as an instant that begins after
/// this shows it.
///
/// # Errors
/// It does not answer.
pub(crate) async fn complete(db: &Pooled) -> Result<Serial, StoreError> {
    let number = async |sql: &str| -> Result<Option<i64>, StoreError> {
        let row = one(db, sql, &[]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
    };
    let next = number(&format!("SELECT {NEXT} FROM transfer_blocks")).await?;
    let announced = number(ANNOUNCED).await?;
    let next = next.unwrap_or(0);
    let least = announced.filter(|announced| *announced < next).unwrap_or(next);
    Ok(Serial(uint(least.saturating_sub(1))))
}
