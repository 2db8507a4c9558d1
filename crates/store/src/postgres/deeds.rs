//! What belongs to no transfer and yet to the audit: external movements and operators' actions.
//!
//! Each is a row of a table of its own and an entry of a chain (`kernel::audit`), at the place that
//! `entry` says: numbers of rows may have gaps and come in another order, places do not. What is
//! hashed is what [`Deeds::read`] makes of the row: numbers in plain digits.

use super::ask::rows;
use super::fault::Fault;
use super::text::{int, uint};
use deadpool_postgres::Client;
use kernel::audit::proof::Stored;
use kernel::audit::{self, Hash, deed};
use kernel::ids::Id;
use tokio_postgres::Row;

/// One of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deeds {
    /// Money from the world and back.
    World,
    /// What operators did.
    Operators,
}

impl Deeds {
    /// The chain's id.
    pub(crate) const fn id(self) -> Id {
        match self {
            Self::World => audit::WORLD,
            Self::Operators => audit::OPERATORS,
        }
    }

    /// The chain of that id.
    pub(crate) fn of(id: Id) -> Option<Self> {
        [Self::World, Self::Operators].into_iter().find(|deeds| deeds.id() == id)
    }

    /// Its place in a unit's digest: before every transfer, which count from 1.
    pub(super) const fn order(self) -> i64 {
        match self {
            Self::World => -1,
            Self::Operators => 0,
        }
    }

    /// The table, its row's number, the word for what was done, and every column that is hashed
    /// besides.
    pub(super) const fn shape(
        self,
    ) -> (&'static str, &'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::World => (
                "externals",
                "operation_id",
                "direction",
                &[
                    "operation_id",
                    "reference",
                    "user_id",
                    "asset_id",
                    "amount",
                    "available",
                    "reason",
                ],
            ),
            Self::Operators => (
                "operator_actions",
                "action_id",
                "action",
                &["subject", "value", "reason", "idempotency_key", "result"],
            ),
        }
    }

    /// Asks for rows as [`Self::read`] takes them; `{number}` in `rest` is the row's number. A row
    /// without a place, which somebody put there, reads as if it stood behind all others.
    pub(crate) fn sql(self, rest: &str) -> String {
        let (table, number, event, fields) = self.shape();
        let fields: Vec<_> =
            fields.iter().map(|field| format!("coalesce({field}::text, '')")).collect();
        format!(
            "SELECT {number}, coalesce(entry, 4294967295), at, {event}, caller, \
             coalesce(hash, ''::bytea), coalesce(audit_lane, 0), coalesce(audit_unit, 0), \
             ARRAY[{}] FROM {table} {}",
            fields.join(", "),
            rest.replace("{number}", number)
        )
    }

    /// The row's number and its entry.
    pub(crate) fn read(self, row: &Row) -> Result<(u64, Stored), Fault> {
        let fields: Vec<&str> = row.try_get(8)?;
        let seq = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
        let (event, caller) = (row.try_get(3)?, row.try_get(4)?);
        let entry = deed(seq, uint(row.try_get(2)?), event, caller, &fields);
        let hash: &[u8] = row.try_get(5)?;
        let stored = Stored {
            entry,
            // whatever is no hash reads as zeros: the proof then names whose it was
            hash: Hash::try_from(hash).unwrap_or_default(),
            lane: u64::try_from(row.try_get::<_, i32>(6)?).unwrap_or(0),
            unit: uint(row.try_get(7)?),
        };
        Ok((uint(row.try_get(0)?), stored))
    }

    /// Every entry of the chain, in its order.
    pub(super) async fn entries(self, db: &Client) -> Result<Vec<Stored>, Fault> {
        let found = rows(db, &self.sql("ORDER BY entry"), &[]).await?;
        found.iter().map(|row| self.read(row).map(|(_, stored)| stored)).collect()
    }

    /// Entries by their places, each with the number one above its place: below it lies what was
    /// read. Those without a place come behind all others.
    pub(super) async fn places(
        self,
        db: &Client,
        above: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Stored)>, Fault> {
        let sql = format!(
            "({}) UNION ALL ({})",
            self.sql("WHERE entry >= $1 ORDER BY entry LIMIT $2"),
            self.sql("WHERE entry IS NULL AND $1 <= 4294967295 LIMIT $2"),
        );
        let found = rows(db, &sql, &[&int(above), &super::text::most(limit)]).await?;
        let read = |row: &Row| {
            let (_, stored) = self.read(row)?;
            Ok((u64::from(stored.entry.seq).saturating_add(1), stored))
        };
        let mut found: Vec<(u64, Stored)> = found.iter().map(read).collect::<Result<_, Fault>>()?;
        found.sort_by_key(|(number, _)| *number);
        found.truncate(limit);
        Ok(found)
    }
}
