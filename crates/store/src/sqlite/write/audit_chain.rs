//! Adds rows to the audit chains, whose entries belong to no transfer. Each statement that inserts such
//! a row is followed at once by [`WriteBatch::append_to_chain`], which reads the row as the proof will
//! read it.

use super::batch::WriteBatch;
use super::writer_state::LANE;
use crate::audit_chain::{AuditChain, ChainTable};
use crate::sqlite::columns::{int, uint};
use kernel::audit::proof::StoredEntry;
use kernel::audit::{Hash, action_entry, genesis, link};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// The end of a chain: the place of its next entry, and the hash of its last one.
pub(crate) type ChainEnd = (u32, Hash);

/// The ends of both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainEnds {
    external_movements: ChainEnd,
    operator_actions: ChainEnd,
}

/// Asks for rows as [`read`] takes them; `{number}` in `rest` is the row's number.
pub(crate) fn sql(chain: AuditChain, rest: &str) -> String {
    let ChainTable { table, number, event, fields } = chain.table();
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
pub(crate) fn read(chain: AuditChain, row: &Row<'_>) -> rusqlite::Result<(u64, StoredEntry)> {
    let field = |n: usize| row.get(7_usize.saturating_add(n));
    let fields = chain.table().fields.len();
    let texts: Vec<String> = (0..fields).map(field).collect::<rusqlite::Result<_>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (event, caller): (String, String) = (row.get(3)?, row.get(4)?);
    let entry = action_entry(row.get(1)?, uint(row.get(2)?), &event, &caller, &texts);
    let stored = StoredEntry { entry, hash: row.get(5)?, lane: LANE, unit: uint(row.get(6)?) };
    Ok((uint(row.get(0)?), stored))
}

/// Every entry of a chain, in its order.
pub(crate) fn entries(chain: AuditChain, db: &Connection) -> rusqlite::Result<Vec<StoredEntry>> {
    let mut ask = db.prepare_cached(&sql(chain, "ORDER BY {number}"))?;
    ask.query_map([], |row| read(chain, row).map(|(_, stored)| stored))?.collect()
}

fn end(chain: AuditChain, db: &Connection) -> rusqlite::Result<ChainEnd> {
    let sql = sql(chain, "ORDER BY {number} DESC LIMIT 1");
    let found = db.query_row(&sql, [], |row| read(chain, row)).optional()?;
    let end = |(_, last): (u64, StoredEntry)| (last.entry.seq.saturating_add(1), last.hash);
    Ok(found.map_or_else(|| (0, genesis(chain.id())), end))
}

/// Reads the ends of the chains, as the last owner of the folder left them.
pub(crate) fn last(db: &Connection) -> rusqlite::Result<ChainEnds> {
    Ok(ChainEnds {
        external_movements: end(AuditChain::ExternalMovements, db)?,
        operator_actions: end(AuditChain::OperatorActions, db)?,
    })
}

impl WriteBatch<'_> {
    /// Links the row that was inserted last to its chain, as a member of this write's unit.
    pub(crate) fn append_to_chain(&mut self, chain: AuditChain) -> rusqlite::Result<()> {
        let ChainTable { table, number, .. } = chain.table();
        let (at, unit) = (self.db.last_insert_rowid(), self.unit());
        let (seq, prev) = match chain {
            AuditChain::ExternalMovements => self.state.chains.external_movements,
            AuditChain::OperatorActions => self.state.chains.operator_actions,
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
            AuditChain::ExternalMovements => self.state.chains.external_movements = end,
            AuditChain::OperatorActions => self.state.chains.operator_actions = end,
        }
        self.entries.push((chain.order(), seq, hash));
        Ok(())
    }
}
