//! What belongs to no transfer and yet to the audit: external movements and operators' actions.
//!
//! Each is a row of a table of its own and an entry of a chain (`kernel::audit`). Whoever inserts a
//! row calls [`Group::deed`] right after it, which reads it as the proof will.

use super::group::Group;
use super::lane::LANE;
use super::text::uint;
use kernel::audit::proof::Stored;
use kernel::audit::{self, Hash, deed, genesis, link};
use kernel::ids::Id;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// One of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deeds {
    /// Money from the world and back.
    World,
    /// What operators did.
    Operators,
}

/// Where a chain ends: the place of its next entry, and the hash of its last one.
pub(super) type End = (u32, Hash);

/// The ends of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    world: End,
    operators: End,
}

impl Deeds {
    /// The chain's id.
    pub(super) const fn id(self) -> Id {
        match self {
            Self::World => audit::WORLD,
            Self::Operators => audit::OPERATORS,
        }
    }

    /// The chain of that id.
    pub(super) fn of(id: Id) -> Option<Self> {
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

    /// Asks for rows as [`Self::read`] takes them.
    pub(super) fn sql(self, rest: &str) -> String {
        let (table, number, event, fields) = self.shape();
        let fields: Vec<_> =
            fields.iter().map(|field| format!("coalesce(CAST({field} AS TEXT), '')")).collect();
        format!(
            "SELECT {number}, coalesce(entry, 4294967295), at, {event}, caller, \
             coalesce(hash, zeroblob(32)), coalesce(audit_unit, 0), {} FROM {table} {}",
            fields.join(", "),
            rest.replace("{number}", number)
        )
    }

    /// The row's number and its entry.
    pub(super) fn read(self, row: &Row<'_>) -> rusqlite::Result<(u64, Stored)> {
        let (.., fields) = self.shape();
        let field = |n: usize| row.get(7_usize.saturating_add(n));
        let texts: Vec<String> = (0..fields.len()).map(field).collect::<rusqlite::Result<_>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (event, caller): (String, String) = (row.get(3)?, row.get(4)?);
        let entry = deed(row.get(1)?, uint(row.get(2)?), &event, &caller, &texts);
        let stored = Stored { entry, hash: row.get(5)?, lane: LANE, unit: uint(row.get(6)?) };
        Ok((uint(row.get(0)?), stored))
    }

    /// Every entry of the chain, in its order.
    pub(super) fn entries(self, db: &Connection) -> rusqlite::Result<Vec<Stored>> {
        let mut ask = db.prepare_cached(&self.sql("ORDER BY {number}"))?;
        ask.query_map([], |row| self.read(row).map(|(_, stored)| stored))?.collect()
    }

    fn last(self, db: &Connection) -> rusqlite::Result<End> {
        let sql = self.sql("ORDER BY {number} DESC LIMIT 1");
        let found = db.query_row(&sql, [], |row| self.read(row)).optional()?;
        let end = |(_, last): (u64, Stored)| (last.entry.seq.saturating_add(1), last.hash);
        Ok(found.map_or_else(|| (0, genesis(self.id())), end))
    }
}

/// Where the chains end that the last owner of the folder left.
pub(super) fn last(db: &Connection) -> rusqlite::Result<Last> {
    Ok(Last { world: Deeds::World.last(db)?, operators: Deeds::Operators.last(db)? })
}

impl Group<'_> {
    /// Links the row that was inserted last to its chain, as a member of this write's unit.
    pub(super) fn deed(&mut self, deeds: Deeds) -> rusqlite::Result<()> {
        let (table, number, ..) = deeds.shape();
        let (at, unit) = (self.db.last_insert_rowid(), self.unit());
        let (seq, prev) = match deeds {
            Deeds::World => self.lane.deeds.world,
            Deeds::Operators => self.lane.deeds.operators,
        };
        let sql = deeds.sql("WHERE {number} = ?");
        let read = |row: &Row<'_>| deeds.read(row);
        let (_, mut stored) = self.db.prepare_cached(&sql)?.query_row([at], read)?;
        stored.entry.seq = seq;
        let hash = link(prev, &stored.entry);
        let sql = format!(
            "UPDATE {table} SET entry = ?2, hash = ?3, audit_unit = ?4 WHERE {number} = ?1"
        );
        self.db.prepare_cached(&sql)?.execute(params![at, seq, hash, super::text::int(unit)])?;
        let end = (seq.saturating_add(1), hash);
        match deeds {
            Deeds::World => self.lane.deeds.world = end,
            Deeds::Operators => self.lane.deeds.operators = end,
        }
        self.entries.push((deeds.order(), seq, hash));
        Ok(())
    }
}
