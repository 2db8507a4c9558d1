//! Ended transfers, moved out of the way: keys and operations stay, and whoever asks for one by its id
//! or its key is answered from the archive.

use super::Postgres;
use super::ask::{one, rows};
use super::fault::Fault;
use super::read::ended;
use super::text::{int, uint};
use kernel::answer::Cause;
use kernel::ids::Millis;

/// So many transfers move in one transaction: some milliseconds of work.
const AT_ONCE: i64 = 2_000;

impl Postgres {
    /// Moves transfers that ended before a time into the archive, the oldest numbers first: at most
    /// some thousands, so that nobody waits for it. How many; fewer than asked for: there are no
    /// more. Several may run at once.
    ///
    /// # Errors
    /// The cause for which nobody knows; run it again.
    pub async fn archive(&self, before: Millis) -> Result<u64, Cause> {
        let db = self.desk().lease().await?;
        let ended = ended(&self.desk().flows);
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
            let name: String = month.try_get(0).map_err(Fault::from)?;
            let (from, to): (i64, i64) =
                (month.try_get(1).map_err(Fault::from)?, month.try_get(2).map_err(Fault::from)?);
            let sql = format!(
                "CREATE TABLE IF NOT EXISTS transfers_archive_{name} PARTITION OF transfers_archive \
                 FOR VALUES FROM ({from}) TO ({to})"
            );
            db.batch_execute(&sql).await.map_err(Fault::from)?;
        }
        let sql = format!(
            "WITH old AS MATERIALIZED ({old} FOR UPDATE OF t SKIP LOCKED), \
             gone AS (DELETE FROM transfers t USING old WHERE t.transfer_id = old.transfer_id \
               RETURNING t.*), \
             kept AS (INSERT INTO transfers_archive SELECT * FROM gone RETURNING 1) \
             SELECT count(*) FROM kept"
        );
        match one(&db, &sql, &[&int(before)]).await? {
            Some(row) => Ok(uint(row.try_get(0).map_err(Fault::from)?)),
            None => Ok(0),
        }
    }
}
