//! The chains of what belongs to no transfer, as rows. Whoever inserts one calls [`Group::deed`] right
//! after it, which reads it as the proof will.

use super::group::Group;
use super::lane::LANE;
use super::text::{int, uint};
use crate::deeds::{Deeds, Shape};
use kernel::audit::proof::Stored;
use kernel::audit::{Hash, deed, genesis, link};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Where a chain ends: the place of its next entry, and the hash of its last one.
pub(super) type End = (u32, Hash);

/// The ends of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    world: End,
    operators: End,
}

/// Asks for rows as [`read`] takes them; `{number}` in `rest` is the row's number.
pub(super) fn sql(chain: Deeds, rest: &str) -> String {
    let Shape { table, number, event, fields } = chain.shape();
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
pub(super) fn read(chain: Deeds, row: &Row<'_>) -> rusqlite::Result<(u64, Stored)> {
    let field = |n: usize| row.get(7_usize.saturating_add(n));
    let fields = chain.shape().fields.len();
    let texts: Vec<String> = (0..fields).map(field).collect::<rusqlite::Result<_>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (event, caller): (String, String) = (row.get(3)?, row.get(4)?);
    let entry = deed(row.get(1)?, uint(row.get(2)?), &event, &caller, &texts);
    let stored = Stored { entry, hash: row.get(5)?, lane: LANE, unit: uint(row.get(6)?) };
    Ok((uint(row.get(0)?), stored))
}

/// Every entry of a chain, in its order.
pub(super) fn entries(chain: Deeds, db: &Connection) -> rusqlite::Result<Vec<Stored>> {
    let mut ask = db.prepare_cached(&sql(chain, "ORDER BY {number}"))?;
    ask.query_map([], |row| read(chain, row).map(|(_, stored)| stored))?.collect()
}

fn end(chain: Deeds, db: &Connection) -> rusqlite::Result<End> {
    let sql = sql(chain, "ORDER BY {number} DESC LIMIT 1");
    let found = db.query_row(&sql, [], |row| read(chain, row)).optional()?;
    let end = |(_, last): (u64, Stored)| (last.entry.seq.saturating_add(1), last.hash);
    Ok(found.map_or_else(|| (0, genesis(chain.id())), end))
}

/// Where the chains end that the last owner of the folder left.
pub(super) fn last(db: &Connection) -> rusqlite::Result<Last> {
    Ok(Last { world: end(Deeds::World, db)?, operators: end(Deeds::Operators, db)? })
}

impl Group<'_> {
    /// Links the row that was inserted last to its chain, as a member of this write's unit.
    pub(super) fn deed(&mut self, chain: Deeds) -> rusqlite::Result<()> {
        let Shape { table, number, .. } = chain.shape();
        let (at, unit) = (self.db.last_insert_rowid(), self.unit());
        let (seq, prev) = match chain {
            Deeds::World => self.lane.deeds.world,
            Deeds::Operators => self.lane.deeds.operators,
        };
        let this = sql(chain, "WHERE {number} = ?");
        let mut ask = self.db.prepare_cached(&this)?;
        let (_, mut stored) = ask.query_row([at], |row| read(chain, row))?;
        stored.entry.seq = seq;
        let hash = link(prev, &stored.entry);
        let put = format!(
            "UPDATE {table} SET entry = ?2, hash = ?3, audit_unit = ?4 WHERE {number} = ?1"
        );
        self.db.prepare_cached(&put)?.execute(params![at, seq, hash, int(unit)])?;
        let end = (seq.saturating_add(1), hash);
        match chain {
            Deeds::World => self.lane.deeds.world = end,
            Deeds::Operators => self.lane.deeds.operators = end,
        }
        self.entries.push((chain.order(), seq, hash));
        Ok(())
    }
}
