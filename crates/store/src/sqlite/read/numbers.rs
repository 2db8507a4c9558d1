//! Reads transfers by the numbers that the writer gave them.

use crate::columns::most;
use crate::sqlite::admin::first_at;
use crate::sqlite::columns::{int, uint};
use crate::sqlite::rows;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, Millis, Serial};
use kernel::ports::journal::TransferPage;
use rusqlite::{Connection, params};

/// The highest number of a transfer. One process numbers them, and a reader sees no half of a write.
fn last(db: &Connection) -> rusqlite::Result<Serial> {
    let sql = "SELECT max(transfer_id) FROM transfers";
    let last: Option<i64> = db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(Serial(last.map_or(0, uint)))
}

pub(crate) fn before_time(db: &Connection, at: Millis) -> rusqlite::Result<Serial> {
    match first_at(db, at)? {
        Some(first) => Ok(Serial(uint(first.saturating_sub(1)))),
        None => last(db),
    }
}

pub(crate) fn transfers_after(
    db: &Connection,
    flows: &Flows,
    after: Serial,
    flow: Option<FlowId>,
    limit: usize,
) -> rusqlite::Result<TransferPage> {
    let complete = last(db)?;
    let of_flow = if flow.is_some() { "flow = ?2" } else { "?2 IS NULL" };
    let sql = format!(
        "SELECT {} FROM transfers WHERE transfer_id > ?1 AND {of_flow} \
         ORDER BY transfer_id LIMIT ?3",
        rows::COLUMNS
    );
    let bounds = params![int(after.0), flow.map(|flow| flows.table(flow).flow), most(limit)];
    let mut ask = db.prepare_cached(&sql)?;
    let found = ask.query_map(bounds, |row| rows::record(flows, row))?;
    Ok(TransferPage { records: found.collect::<Result<_, _>>()?, complete })
}
