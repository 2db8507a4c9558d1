//! Gives the scanner open attempts: those that are due, and those that the folder's last owner carried
//! when it ended.

use super::attempts;
use super::due::LATE;
use crate::sqlite::columns::int;
use kernel::attempt::Attempt;
use kernel::flow::table::Flows;
use kernel::ids::Millis;
use kernel::ports::journal::DueQuery;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// The attempts that the scanner has already. There is one worker process, so this is not stored.
#[derive(Debug, Default)]
pub(crate) struct HandedAttempts {
    /// Attempts with the due time for which they were given out; `None`: they had none.
    given: BTreeMap<String, Option<i64>>,
}

impl HandedAttempts {
    /// Drops the last owner's leases.
    pub(crate) fn open(db: &Connection) -> rusqlite::Result<Self> {
        db.execute("UPDATE attempts SET leased_by = NULL WHERE closed_at IS NULL", [])?;
        Ok(Self::default())
    }

    /// Gives the attempts of the query, no more than its limit.
    pub(crate) fn take(
        &mut self,
        db: &Connection,
        flows: &Flows,
        now: Millis,
        query: &DueQuery,
    ) -> rusqlite::Result<Vec<Attempt>> {
        let sql = "SELECT attempt_id, flow, due_at FROM attempts WHERE closed_at IS NULL AND ( \
                     due_at IS NULL AND leased_by IS NULL \
                     OR due_at <= CASE WHEN leased_by IS NULL THEN ?1 ELSE ?2 END) \
                   ORDER BY due_at, serial";
        let bounds = params![int(now), int(now.saturating_sub(LATE))];
        let mut ask = db.prepare_cached(sql)?;
        let ripe: Vec<(String, String, Option<i64>)> = ask
            .query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        // one that was given out and is no longer there, or is there for another time, moved on
        let still: BTreeMap<&String, Option<i64>> =
            ripe.iter().map(|(id, _, due)| (id, *due)).collect();
        self.given.retain(|id, due| still.get(id) == Some(due));
        let mut found = Vec::new();
        for (id, flow, due) in ripe {
            if found.len() >= query.limit {
                break;
            }
            let asked = flows.named(&flow).is_some_and(|flow| query.flows.contains(&flow));
            if !asked || self.given.get(&id) == Some(&due) {
                continue;
            }
            if let Some(attempt) = attempts::by_id(db, flows, &id)? {
                self.given.insert(id, due);
                found.push(Attempt { due_at: None, ..attempt });
            }
        }
        Ok(found)
    }
}
