//! Guards that are rare: asked of the database one by one.

use super::super::fault::Fault;
use super::super::text::{read_amount, read_stand, uuid};
use super::Alone;
use kernel::people::Stand;
use kernel::unit::Guard;
use std::collections::BTreeMap;
use uuid::Uuid;

impl Alone<'_> {
    /// True where the guard holds, or is one that the board looks at.
    pub(super) async fn holds(&self, guard: &Guard) -> Result<bool, Fault> {
        Ok(match guard {
            Guard::Attempt { id, version } => {
                let sql = "SELECT version FROM attempts WHERE attempt_id = $1 FOR UPDATE";
                let row = self.row(sql, &[&Uuid::from_u128(id.0)]).await?;
                let stored = row.map_or(Ok(0), |row| row.try_get::<_, i32>(0))?;
                super::super::text::count(stored) == *version
            }
            Guard::Resource { name, version } => {
                self.version(&format!("resource/{name}")).await? == i64::from(*version)
            }
            Guard::Inbox { consumer, event } => {
                let sql = "SELECT 1 FROM inbox WHERE consumer = $1 AND event_id = $2";
                !self.exists(sql, &[consumer, &Uuid::from_u128(*event)]).await?
            }
            Guard::AtMost { name, n, limit } => {
                let sum = self.counter(name).await?.checked_add(*n);
                sum.is_some_and(|sum| sum <= *limit)
            }
            Guard::Unacted { caller, key } => !self.has_acted(caller, key).await?,
            Guard::Pending(id) => self.stand(*id).await? == Some(Stand::Pending),
            Guard::Fresh(_)
            | Guard::Unbound { .. }
            | Guard::Transfer { .. }
            | Guard::NotHalted
            | Guard::Incarnation { .. }
            | Guard::Owner { .. }
            | Guard::DayCount { .. }
            | Guard::DayAmount { .. } => true,
        })
    }

    /// What guards leave behind once their unit is written. Two of one unit on the same counter, or
    /// the same event, are seen here: the row count tells.
    pub(super) async fn mark(&self, guards: &[Guard]) -> Result<(), Fault> {
        let mut sums: BTreeMap<&str, (u128, u128)> = BTreeMap::new();
        for guard in guards {
            match guard {
                Guard::Inbox { consumer, event } => {
                    let sql = "INSERT INTO inbox (consumer, event_id, at) VALUES ($1, $2, $3)";
                    self.execute(sql, &[consumer, &Uuid::from_u128(*event), &self.at()]).await?;
                }
                Guard::AtMost { name, n, limit } => {
                    let (sum, most) = sums.entry(name).or_insert((0, *limit));
                    *sum = sum.saturating_add(*n);
                    if *limit < *most {
                        *most = *limit;
                    }
                }
                Guard::Fresh(_)
                | Guard::Unbound { .. }
                | Guard::Transfer { .. }
                | Guard::Attempt { .. }
                | Guard::Resource { .. }
                | Guard::NotHalted
                | Guard::Incarnation { .. }
                | Guard::Owner { .. }
                | Guard::DayCount { .. }
                | Guard::DayAmount { .. }
                | Guard::Unacted { .. }
                | Guard::Pending(_) => {}
            }
        }
        for (name, (n, _)) in sums {
            let sum = self.counter(name).await?.saturating_add(n);
            self.set(&format!("counter/{name}"), &sum.to_string()).await?;
        }
        Ok(())
    }

    /// A named value's version, its row locked; 0 where it does not exist.
    pub(super) async fn version(&self, name: &str) -> Result<i64, Fault> {
        let sql = "SELECT version FROM service_state WHERE name = $1 FOR UPDATE";
        let row = self.row(sql, &[&name]).await?;
        Ok(row.map_or(Ok(0), |row| row.try_get(0))?)
    }

    /// A named counter, its row locked; 0 where it was never raised.
    pub(super) async fn counter(&self, name: &str) -> Result<u128, Fault> {
        let sql = "SELECT value FROM service_state WHERE name = $1 FOR UPDATE";
        let row = self.row(sql, &[&format!("counter/{name}")]).await?;
        row.map_or(Ok(0), |row| Ok(read_amount(row.try_get(0)?)?.0))
    }

    /// Sets a named value.
    pub(super) async fn set(&self, name: &str, value: &str) -> Result<(), Fault> {
        let sql = "INSERT INTO service_state (name, value, version, at) VALUES ($1, $2, 1, $3) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value, \
                   version = service_state.version + 1, at = excluded.at";
        self.execute(sql, &[&name, &value, &self.at()]).await?;
        Ok(())
    }

    /// True where (principal, key) did something.
    pub(super) async fn has_acted(&self, caller: &str, key: &str) -> Result<bool, Fault> {
        let sql = "SELECT 1 FROM operator_actions WHERE caller = $1 AND idempotency_key = $2";
        self.exists(sql, &[&caller, &key]).await
    }

    /// How an approval stands; its row is locked.
    pub(super) async fn stand(&self, id: kernel::ids::Id) -> Result<Option<Stand>, Fault> {
        let sql = "SELECT status FROM approvals WHERE approval_id = $1 FOR UPDATE";
        let row = self.row(sql, &[&uuid(id)]).await?;
        row.map(|row| Ok(read_stand(row.try_get(0)?)?)).transpose()
    }
}
