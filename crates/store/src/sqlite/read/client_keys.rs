//! Reads the table of clients' keys beside the transfers, for reconciliation.

use crate::columns;
use crate::sqlite::columns::{most, uint};
use kernel::ids::Serial;
use kernel::ports::journal::{KeyRow, UnmatchedKey};
use rusqlite::{Connection, Row};

/// The columns that [`key_row`] reads, of a row of `transfers`.
pub(super) const COLUMNS: &str = "cid IS NOT NULL, (SELECT k.transfer_id FROM keys k \
    WHERE k.flow = transfers.flow AND k.scope = transfers.scope AND k.cid = transfers.cid)";

/// Reads the two columns from this one on.
pub(super) fn key_row(row: &Row<'_>, at: usize) -> rusqlite::Result<KeyRow> {
    Ok(columns::key_row(row.get(at)?, row.get(at.saturating_add(1))?))
}

/// Rows to which no transfer belongs.
pub(super) fn unmatched(db: &Connection, limit: usize) -> rusqlite::Result<Vec<UnmatchedKey>> {
    let sql = "SELECT flow, scope, cid, transfer_id FROM keys k WHERE NOT EXISTS ( \
               SELECT 1 FROM transfers t WHERE t.transfer_id = k.transfer_id \
               AND t.flow = k.flow AND t.scope = k.scope AND t.cid = k.cid) LIMIT ?";
    let read = |row: &Row<'_>| {
        let serial = Serial(uint(row.get(3)?));
        Ok(UnmatchedKey { flow: row.get(0)?, scope: row.get(1)?, key: row.get(2)?, serial })
    };
    db.prepare_cached(sql)?.query_map([most(limit)], read)?.collect()
}
