//! What belongs to no transfer and yet to the audit: external movements and operators' actions.
//!
//! Each is a row of a table of its own and an entry of a chain (`kernel::audit`). Whoever inserts a
//! row calls [`Alone::deed`] right after it, which reads it as the proof will; its transaction holds
//! the chains' lock from its beginning.

use super::super::fault::Fault;
use super::super::text::{int, uint};
use super::Alone;
use kernel::audit::proof::Stored;
use kernel::audit::{self, Hash, deed, genesis, link};
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
    const fn order(self) -> i64 {
        match self {
            Self::World => -1,
            Self::Operators => 0,
        }
    }

    /// The table, its row's number, the word for what was done, and every column that is hashed
    /// besides.
    const fn shape(self) -> (&'static str, &'static str, &'static str, &'static [&'static str]) {
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

    /// Asks for rows as [`Self::read`] takes them; `{number}` in `rest` is the row's number.
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
}

impl Alone<'_> {
    /// Links the row of that number to its chain, as a member of this write's unit.
    pub(super) async fn deed(&mut self, deeds: Deeds, number: i64) -> Result<(), Fault> {
        let (table, column, ..) = deeds.shape();
        let last = deeds.sql("WHERE entry IS NOT NULL ORDER BY entry DESC LIMIT 1");
        let last = self.row(&last, &[]).await?.map(|row| deeds.read(&row)).transpose()?;
        let end = |(_, last): (u64, Stored)| (last.entry.seq.saturating_add(1), last.hash);
        let (seq, prev) = last.map_or_else(|| (0, genesis(deeds.id())), end);
        let this = self.row(&deeds.sql("WHERE {number} = $1"), &[&number]).await?;
        let (_, mut stored) = deeds.read(&this.ok_or(Fault::Damaged("a deed without a row"))?)?;
        stored.entry.seq = seq;
        let hash = link(prev, &stored.entry);
        let sql = format!(
            "UPDATE {table} SET entry = $2, hash = $3, audit_lane = $4, audit_unit = $5 \
             WHERE {column} = $1"
        );
        let unit = int(self.board.numbers.unit);
        let (entry, lane) = (i64::from(seq), self.board.numbers.lane);
        self.execute(&sql, &[&number, &entry, &hash.as_slice(), &lane, &unit]).await?;
        self.board.changes.entries.push((deeds.order(), seq, hash));
        Ok(())
    }
}
