//! How long each swap was in each state, from the history that the journal keeps.

use crate::Outcome;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Milliseconds in each state, sorted, by the state's number.
pub(crate) type Dwell = BTreeMap<i64, Vec<u64>>;

/// The times of the swaps that were given back.
pub(crate) fn read(folder: &Path) -> Outcome<Dwell> {
    let store = |error: rusqlite::Error| format!("the store: {error}");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = Connection::open_with_flags(folder.join("portage.db"), flags).map_err(store)?;
    let sql = "SELECT history FROM transfers WHERE flow = 'swap_in' AND state = -30";
    let mut ask = db.prepare(sql).map_err(store)?;
    let rows = ask.query_map([], |row| row.get::<_, String>(0)).map_err(store)?;
    let mut dwell = Dwell::new();
    for history in rows {
        let entries = entries(&history.map_err(store)?)?;
        for pair in entries.windows(2) {
            let [(state, from), (_, to)] = pair else { continue };
            dwell.entry(*state).or_default().push(to.saturating_sub(*from));
        }
    }
    for times in dwell.values_mut() {
        times.sort_unstable();
    }
    Ok(dwell)
}

/// The states that a history enters, with the time of each.
fn entries(history: &str) -> Outcome<Vec<(i64, u64)>> {
    let bad = |what: String| format!("a history: {what}");
    let all: Vec<Value> =
        serde_json::from_str(&format!("[{history}]")).map_err(|error| bad(error.to_string()))?;
    // an entry is its number, its time, the state before it, and the state that it leads to
    let entry = |entry: &Value| Some((entry.get(3)?.as_i64()?, entry.get(1)?.as_u64()?));
    all.iter().map(|one| entry(one).ok_or_else(|| bad(one.to_string()))).collect()
}
