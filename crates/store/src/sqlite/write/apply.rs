//! Writes one unit as rows, after the rules have decided it.

use super::batch::WriteBatch;
use crate::sqlite::columns::{self, int};
use kernel::money::Amount;
use kernel::rules::{self, Plan, Stopped};
use kernel::unit::{Unit, Written, Wrote};
use rusqlite::params;

impl WriteBatch<'_> {
    /// Writes a unit, or says why nothing of it was written. An error of SQLite leaves the
    /// transaction to be rolled back.
    pub(crate) fn apply(&mut self, unit: &Unit) -> rusqlite::Result<Wrote> {
        let flows = self.flows;
        match rules::unit(self, flows, unit) {
            Ok(plan) => self.write(plan).map(Wrote::Written),
            Err(Stopped::Answer(wrote)) => Ok(wrote),
            Err(Stopped::Error(error)) => Err(error),
        }
    }

    fn write(&mut self, mut plan: Plan<'_>) -> rusqlite::Result<Written> {
        self.post(std::mem::take(&mut plan.posting))?;
        self.mark(&plan)?;
        for put in plan.puts() {
            self.put(put)?;
        }
        for change in plan.attempts.values() {
            self.change_attempt(change)?;
        }
        if plan.supersedes() {
            self.supersede()?;
        }
        // what a put forgets is counted from nothing again
        for (spend, spent) in &plan.days {
            self.days.put(*spend, *spent);
        }
        let serial = self.transfers(plan.changes)?;
        Ok(Written { at: self.at, serial, fork: plan.fork })
    }

    /// Writes counters after this unit, and the marks that guards leave behind.
    fn mark(&mut self, plan: &Plan<'_>) -> rusqlite::Result<()> {
        for (name, sum) in &plan.counters {
            self.set(&format!("counter/{name}"), &columns::amount(Amount(*sum)))?;
        }
        let sql = "INSERT INTO inbox (consumer, event_id, at) VALUES (?, ?, ?)";
        for (consumer, event) in &plan.inbox {
            let row = params![consumer, format!("{event:032x}"), int(self.at)];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        Ok(())
    }
}
