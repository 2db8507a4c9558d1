//! Reads resources and counters, which are values of `service_state` by name.

use crate::sqlite::columns;
use kernel::ports::journal::Resource;
use rusqlite::{Connection, OptionalExtension, Row};
use std::collections::BTreeMap;
use std::sync::Arc;

const RESOURCE: &str = "resource/";
const COUNTER: &str = "counter/";

/// The resource of that name.
pub(crate) fn resource(db: &Connection, name: &str) -> rusqlite::Result<Option<Resource>> {
    let sql = "SELECT name, version, value FROM service_state WHERE name = ?";
    db.prepare_cached(sql)?.query_row([format!("{RESOURCE}{name}")], read).optional()
}

/// Resources whose names begin like this, by name.
pub(crate) fn resources(db: &Connection, prefix: &str) -> rusqlite::Result<Vec<Resource>> {
    let sql = "SELECT name, version, value FROM service_state \
               WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 ORDER BY name";
    let mut ask = db.prepare_cached(sql)?;
    ask.query_map([format!("{RESOURCE}{prefix}")], read)?.collect()
}

/// The value of a counter.
pub(crate) fn counter(db: &Connection, name: &str) -> rusqlite::Result<u128> {
    let sql = "SELECT value FROM service_state WHERE name = ?";
    let mut ask = db.prepare_cached(sql)?;
    let value: Option<String> =
        ask.query_row([format!("{COUNTER}{name}")], |row| row.get(0)).optional()?;
    value.map_or(Ok(0), |value| columns::read_amount(0, &value).map(|amount| amount.0))
}

/// The counters whose names begin like this.
pub(crate) fn counters(
    db: &Connection,
    prefix: &str,
) -> rusqlite::Result<BTreeMap<Arc<str>, u128>> {
    let sql = "SELECT name, value FROM service_state \
               WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1";
    let mut ask = db.prepare_cached(sql)?;
    let rows = ask.query_map([format!("{COUNTER}{prefix}")], |row| {
        let name = row.get_ref(0)?.as_str()?;
        let name = name.strip_prefix(COUNTER).unwrap_or(name).into();
        Ok((name, columns::read_amount(1, row.get_ref(1)?.as_str()?)?.0))
    })?;
    rows.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Resource> {
    let name = row.get_ref(0)?.as_str()?;
    let name = name.strip_prefix(RESOURCE).unwrap_or(name).into();
    Ok(Resource { name, version: row.get(1)?, value: row.get_ref(2)?.as_str()?.into() })
}
