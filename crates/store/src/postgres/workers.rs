//! Who is at work: leases by the database's clock, and who still moves money under HALT.

use super::ask::{Desk, rows, written};
use super::due::LIVES;
use super::fault::Fault;
use super::text::{self, int};
use kernel::answer::Cause;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::journal::Lease;

/// A worker that ended so long ago has nothing left that anybody waits for.
const FORGOTTEN: Millis = 7 * 86_400_000;

impl Desk {
    /// See [`kernel::ports::journal::Journal::alive`].
    pub(crate) async fn alive(
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
        let (own, halt) = (text::worker(worker.0), stopped.map_or(0, int));
        let row = written(&db, &sql, &[&self.hand(), &own, &int(length), &halt]).await?.pop();
        let Some(row) = row else { return Err(Cause::of("STORE_DAMAGED")) };
        let begun: i64 = row.try_get(0).map_err(Fault::from)?;
        let lost = row.try_get(1).map_err(Fault::from)?;
        let now: i64 = row.try_get(2).map_err(Fault::from)?;
        self.watch.set(now);
        self.replication.required(row.try_get(3).map_err(Fault::from)?);
        if begun == now {
            let sql = "DELETE FROM workers WHERE leased_until < $1";
            let before = now.saturating_sub(int(FORGOTTEN));
            written(&db, sql, &[&before]).await?;
        }
        Ok(Lease { lost, ends: true })
    }

    /// See [`kernel::ports::journal::Journal::leave`].
    pub(crate) async fn leave(&self, worker: WorkerId) -> Result<(), Cause> {
        let db = self.lease().await?;
        let sql = "WITH m AS MATERIALIZED (SELECT coalesce($1::bigint, portage_now()) AS now) \
                   INSERT INTO workers (worker, started_at, leased_until, length, left_at) \
                   SELECT $2, m.now, m.now, 0, m.now FROM m ON CONFLICT (worker) DO UPDATE \
                   SET leased_until = excluded.leased_until, left_at = excluded.left_at";
        let own = text::worker(worker.0);
        written(&db, sql, &[&self.hand(), &own]).await?;
        Ok(())
    }

    /// See [`kernel::ports::journal::Journal::moving`].
    pub(crate) async fn moving(&self, worker: WorkerId) -> Result<Vec<WorkerId>, Cause> {
        let sql = format!(
            "SELECT w.worker FROM workers w, \
             (SELECT coalesce($1::bigint, portage_now()) AS now) m \
             WHERE w.worker <> $2 AND {LIVES} AND w.seen_halt < (SELECT max(halt) FROM halts) \
             AND EXISTS (SELECT FROM service_state WHERE name = 'halted') ORDER BY w.worker"
        );
        let db = self.question().await?;
        let found = rows(&db, &sql, &[&self.hand(), &text::worker(worker.0)]).await?;
        let read = |row: &tokio_postgres::Row| Ok(text::read_worker(row.try_get(0)?));
        Ok(found.iter().map(read).collect::<Result<_, Fault>>()?)
    }
}
