//! Renews and ends the leases of workers by the database's clock, and lists those of other workers.

use super::due::LIVES;
use super::read_pool::{ReadPool, rows, written};
use crate::postgres::columns::{self, int, uint};
use crate::postgres::error::StoreError;
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::journal::{Lease, OtherLease};

/// The age after which the row of an ended worker is deleted: no component waits for it.
const FORGOTTEN: Millis = 7 * 86_400_000;

impl ReadPool {
    pub(crate) async fn renew_lease(
        &self,
        worker: WorkerId,
        length: Millis,
        stopped: Option<u64>,
    ) -> Result<Lease, Cause> {
        self.health.writers()?;
        let db = self.lease().await?;
        let sql = format!(
            "WITH m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now), \
             was AS (SELECT {LIVES} AS lives FROM workers w, m WHERE w.worker = $2) \
             INSERT INTO workers AS w (worker, started_at, leased_until, length, seen_halt) \
             SELECT $2, m.now, m.now + $3, $3, $4 FROM m \
             ON CONFLICT (worker) DO UPDATE SET leased_until = excluded.leased_until, \
               length = excluded.length, seen_halt = excluded.seen_halt, left_at = NULL \
             RETURNING started_at, coalesce((SELECT NOT lives FROM was), false), \
               (SELECT now FROM m), current_setting('synchronous_standby_names') <> ''"
        );
        let (own, halt) = (columns::worker(worker.0), stopped.map_or(0, int));
        let row = written(&db, &sql, &[&self.manual_now(), &own, &int(length), &halt]).await?.pop();
        let Some(row) = row else { return Err(Cause::of("STORE_DAMAGED")) };
        let begun: i64 = row.try_get(0).map_err(StoreError::from)?;
        let lost = row.try_get(1).map_err(StoreError::from)?;
        let now: i64 = row.try_get(2).map_err(StoreError::from)?;
        self.clock.set(now);
        self.replication.required(row.try_get(3).map_err(StoreError::from)?);
        if begun == now {
            let sql = "DELETE FROM workers WHERE leased_until < $1";
            let before = now.saturating_sub(int(FORGOTTEN));
            written(&db, sql, &[&before]).await?;
        }
        Ok(Lease { lost, ends: true })
    }

    pub(crate) async fn end_lease(&self, worker: WorkerId) -> Result<(), Cause> {
        let db = self.lease().await?;
        let sql = "WITH m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now) \
                   INSERT INTO workers (worker, started_at, leased_until, length, left_at) \
                   SELECT $2, m.now, m.now, 0, m.now FROM m ON CONFLICT (worker) DO UPDATE \
                   SET leased_until = excluded.leased_until, left_at = excluded.left_at";
        let own = columns::worker(worker.0);
        written(&db, sql, &[&self.manual_now(), &own]).await?;
        Ok(())
    }

    pub(crate) async fn other_leases(&self, worker: WorkerId) -> Result<Vec<OtherLease>, Cause> {
        // each write gives the row another `xmin`
        let sql = "SELECT worker, xmin::text::bigint, length, seen_halt FROM workers \
                   WHERE worker <> $1 AND left_at IS NULL ORDER BY worker";
        let db = self.question().await?;
        let found = rows(&db, sql, &[&columns::worker(worker.0)]).await?;
        let read = |row: &tokio_postgres::Row| {
            Ok(OtherLease {
                worker: columns::read_worker(row.try_get(0)?),
                renewal: uint(row.try_get(1)?),
                length: uint(row.try_get(2)?),
                obeys: uint(row.try_get(3)?),
            })
        };
        Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
    }
}
