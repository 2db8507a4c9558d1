//! Holds the counters and flags that the writer carries from one journal write to the next.

use super::audit_chain::{self, ChainEnds};
use crate::sqlite::columns::{int, read_id, uint};
use crate::sqlite::outbox;
use kernel::ids::{Id, Millis};
use rusqlite::{Connection, OptionalExtension};

/// The writer's lane in `audit_units` and in the books. There is one writer.
pub(crate) const LANE: u64 = 0;

/// Counters and flags. A copy is changed by a write and takes this one's place when it is durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriterState {
    /// The time of the last write.
    pub at: Millis,
    /// The last number of a transfer.
    pub serial: u64,
    /// The last number of a write that opened transfers.
    pub batch: i64,
    /// The last number of an operation at Funding.
    pub seq: u64,
    /// The last row of `audit_units`.
    pub audit: u64,
    /// The ends of the chains that belong to no transfer.
    pub chains: ChainEnds,
    /// The highest id of a transfer: what lies above it was never opened.
    pub opened: Option<Id>,
    /// The highest id with an operation: what lies above it has none.
    pub operated: Option<Id>,
    /// The last place that was given in the outbox.
    pub outbox: u64,
    /// No claim is written.
    pub halted: bool,
    /// The number of the last halt.
    pub halts: u64,
    /// Ids at or below it are not opened any more.
    pub horizon: Option<Id>,
}

/// The higher of what is known and another id.
pub(crate) fn higher(known: Option<Id>, id: Id) -> Option<Id> {
    known.filter(|known| *known > id).or(Some(id))
}

impl WriterState {
    /// Reads what the last owner of the folder left.
    pub(crate) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let most = |sql: &str| -> rusqlite::Result<i64> {
            db.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).map(Option::unwrap_or_default)
        };
        let state = |name: &str| -> rusqlite::Result<Option<String>> {
            let sql = "SELECT value FROM service_state WHERE name = ?";
            db.query_row(sql, [name], |row| row.get(0)).optional()
        };
        let highest = |sql: &str| -> rusqlite::Result<Option<Id>> {
            let text: Option<String> = db.query_row(sql, [], |row| row.get(0))?;
            text.map(|text| read_id(0, &text)).transpose()
        };
        let sql = "SELECT value, at FROM service_state WHERE name = 'writer'";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
        let (seq, at) = db.query_row(sql, [], read).optional()?.unwrap_or_default();
        let audit = most(&format!("SELECT max(n) FROM audit_units WHERE lane = {}", int(LANE)))?;
        let batches = most(
            "SELECT max(batch) FROM transfers WHERE transfer_id > (SELECT max(transfer_id) FROM transfers) - 1",
        )?;
        Ok(Self {
            at: uint(at),
            serial: uint(most("SELECT max(transfer_id) FROM transfers")?),
            batch: batches,
            seq: seq.parse().unwrap_or(0),
            audit: uint(audit),
            chains: audit_chain::last(db)?,
            opened: highest("SELECT max(req_id) FROM transfers")?,
            operated: highest("SELECT max(req_id) FROM operations")?,
            outbox: outbox::last_place(db)?,
            halted: state("halted")?.is_some(),
            halts: uint(most("SELECT max(halt) FROM halts")?),
            horizon: state("horizon")?.and_then(|text| text.parse().ok()),
        })
    }
}
