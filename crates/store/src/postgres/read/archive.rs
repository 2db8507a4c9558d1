//! Moves ended transfers into the archive, in small parts. Their keys and operations stay, and a query
//! for one by its id or its key is answered from the archive.

use super::read_pool::{one, rows, written};
use super::transfers::ended;
use crate::postgres::Postgres;
use crate::postgres::columns::{int, uint};
use crate::postgres::error::StoreError;
use crate::postgres::session::connect::Pooled;
use kernel::answer::Cause;
use kernel::ids::Millis;

/// The number of transfers that move in one transaction: some milliseconds of work.
const AT_ONCE: i64 = 2_000;

impl Postgres {
    /// Moves transfers that ended before a time into the archive, the oldest numbers first: at most
    /// some thousands, so that no write waits long for it. How many; fewer than asked for: there
    /// are no more. Several may run at once.
    ///
    /// # Errors
    /// The cause for which the outcome is unknown; run it again.
    pub async fn archive(&self, before: Millis) -> Result<u64, Cause> {
        let db = self.read_pool().lease().await?;
        let ended = ended(&self.read_pool().flows);
        let old = format!(
            "SELECT t.transfer_id, t.created_at FROM transfers t \
             WHERE t.updated_at < $1 AND ({ended}) \
             AND NOT EXISTS (SELECT FROM due d WHERE d.transfer_id = t.transfer_id) \
             ORDER BY t.transfer_id LIMIT {AT_ONCE}"
        );
        let months = format!(
            "SELECT to_char(m, 'YYYY_MM'), (extract(epoch FROM m) * 1000)::bigint, \
             (extract(epoch FROM m + interval '1 month') * 1000)::bigint \
             FROM (SELECT DISTINCT date_trunc('month', to_timestamp(created_at / 1000.0) \
               AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS m FROM ({old}) old) months"
        );
        for month in rows(&db, &months, &[&int(before)]).await? {
            let name: String = month.try_get(0).map_err(StoreError::from)?;
            let (from, to): (i64, i64) = (
                month.try_get(1).map_err(StoreError::from)?,
                month.try_get(2).map_err(StoreError::from)?,
            );
            partition(&db, &format!("transfers_archive_{name}"), from, to).await?;
        }
        let sql = format!(
            "WITH old AS MATERIALIZED ({old} FOR UPDATE OF t SKIP LOCKED), \
             gone AS (DELETE FROM transfers t USING old WHERE t.transfer_id = old.transfer_id \
               RETURNING t.*), \
             kept AS (INSERT INTO transfers_archive SELECT * FROM gone RETURNING 1) \
             SELECT count(*) FROM kept"
        );
        match written(&db, &sql, &[&int(before)]).await?.pop() {
            Some(row) => Ok(uint(row.try_get(0).map_err(StoreError::from)?)),
            None => Ok(0),
        }
    }
}

/// Makes the partition of a month, where there is none. It is made apart and then attached: that
/// keeps no reader of the archive waiting, as `CREATE TABLE … PARTITION OF` does, which takes the
/// archive for itself and lets all others queue behind. The constraint spares the attaching a look
/// at all rows.
async fn partition(db: &Pooled, name: &str, from: i64, to: i64) -> Result<(), StoreError> {
    if attached(db, name).await? {
        return Ok(());
    }
    let sql = format!(
        "CREATE TABLE IF NOT EXISTS {name} (LIKE transfers_archive, CONSTRAINT {name}_month \
           CHECK (created_at >= {from} AND created_at < {to})); \
         ALTER TABLE transfers_archive ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"
    );
    match db.batch(&sql).await {
        Ok(()) => Ok(()),
        // another process was faster
        Err(_) if attached(db, name).await? => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn attached(db: &Pooled, name: &str) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass($1)";
    Ok(one(db, sql, &[&name]).await?.is_some())
}
