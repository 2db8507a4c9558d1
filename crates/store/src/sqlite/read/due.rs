//! Gives the scanner the attempts and transfers that are due, and those that the folder's last owner
//! carried when it ended.

use super::attempts::UNATTEMPTED;
use super::due_attempts::HandedAttempts;
use super::transfers;
use crate::columns::flow_names;
use crate::sqlite::columns::int;
use kernel::flow::table::Flows;
use kernel::ids::{FlowId, Millis};
use kernel::ports::journal::{Due, DueQuery};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

/// A row that this process keeps in its own heap is given out only when it is late by this time.
pub(super) const LATE: Millis = 5_000;

/// The work that the scanner has already. There is one worker process, so this is not stored.
#[derive(Debug, Default)]
pub(crate) struct HandedOut {
    /// Transfers that were open when the folder was opened, by flow: deaths and number, the fewest
    /// deaths first.
    orphans: BTreeMap<FlowId, VecDeque<(u8, i64)>>,
    /// Transfers by number with the due time for which they were given out.
    given: BTreeMap<i64, i64>,
    attempts: HandedAttempts,
}

impl HandedOut {
    /// Finds what no worker holds, and drops the last owner's leases. A member of an open attempt comes
    /// with its attempt.
    pub(crate) fn open(db: &Connection, flows: &Flows) -> rusqlite::Result<Self> {
        db.execute("UPDATE due SET leased_by = NULL, leased_until = NULL", [])?;
        let mut orphans: BTreeMap<FlowId, Vec<(u8, i64)>> = BTreeMap::new();
        let alone = format!("t.due_at IS NULL AND {UNATTEMPTED}");
        transfers::each_open(db, flows, &alone, |record| {
            let number = record.serial.map_or(0, |serial| int(serial.0));
            orphans.entry(record.flow).or_default().push((record.head.deaths, number));
            ControlFlow::Continue(())
        })?;
        let sorted = |(flow, mut of): (FlowId, Vec<(u8, i64)>)| {
            of.sort_unstable();
            (flow, of.into())
        };
        let orphans = orphans.into_iter().map(sorted).collect();
        Ok(Self { orphans, given: BTreeMap::new(), attempts: HandedAttempts::open(db)? })
    }

    /// The orphan with the fewest deaths among those of these flows.
    fn next_orphan(&mut self, flows: &[FlowId]) -> Option<i64> {
        let first = |flow: &FlowId| Some((*self.orphans.get(flow)?.front()?, *flow));
        let (_, flow) = flows.iter().filter_map(first).min()?;
        self.orphans.get_mut(&flow)?.pop_front().map(|(_, number)| number)
    }

    /// Gives the work of the query, about as much as its limit.
    pub(crate) fn take(
        &mut self,
        db: &Connection,
        flows: &Flows,
        now: Millis,
        query: &DueQuery,
    ) -> rusqlite::Result<Vec<Due>> {
        let limit = query.limit;
        let attempts = self.attempts.take(db, flows, now, query)?;
        let mut found: Vec<Due> = attempts.into_iter().map(Due::Attempt).collect();
        while found.len() < limit
            && let Some(number) = self.next_orphan(&query.flows)
        {
            if let Some(record) = transfers::by_number(db, flows, number)?
                && !flows.table(record.flow).ends(record.head.state)
            {
                found.push(Due::Orphan(record));
            }
        }
        let sql = "SELECT transfer_id, due_at FROM due \
                   WHERE due_at <= CASE WHEN leased_by IS NULL THEN ?1 ELSE ?2 END";
        let mut ask = db.prepare_cached(sql)?;
        let bounds = params![int(now), int(now.saturating_sub(LATE))];
        let ripe: Vec<(i64, i64)> = ask
            .query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        // a transfer that was given out and is no longer there, or is there for another time, moved
        // on
        let still: BTreeMap<i64, i64> = ripe.iter().copied().collect();
        self.given.retain(|number, due| still.get(number) == Some(due));
        let names = flow_names(flows, &query.flows);
        let sql = format!(
            "SELECT 1 FROM transfers t \
             WHERE t.transfer_id = ? AND t.flow IN ({names}) AND {UNATTEMPTED}"
        );
        let mut asked = db.prepare_cached(&sql)?;
        for (number, due) in ripe {
            if found.len() >= limit {
                break;
            }
            if self.given.get(&number) == Some(&due) || !asked.exists([number])? {
                continue;
            }
            if let Some(record) = transfers::by_number(db, flows, number)? {
                self.given.insert(number, due);
                found.push(Due::Transfer(record));
            }
        }
        Ok(found)
    }
}
