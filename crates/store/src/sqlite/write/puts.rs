//! Writes the rows of a unit that belong to no transfer: receipts, resources, the incarnations and
//! owners of ledgers, the horizon, and operators' decisions.

use super::batch::WriteBatch;
use crate::sqlite::columns::int;
use crate::sqlite::ledger_owners;
use kernel::ids::LedgerId;
use kernel::operation::{Known, Operation};
use kernel::rules::StateReader;
use kernel::unit::Put;
use rusqlite::params;

impl WriteBatch<'_> {
    /// Writes one put. Transfers, attempts, counters, counts and accounts were gathered before.
    pub(crate) fn put(&mut self, put: &Put) -> rusqlite::Result<()> {
        match put {
            Put::Open(_)
            | Put::Head { .. }
            | Put::Attempt(_)
            | Put::AttemptHead { .. }
            | Put::Form(..)
            | Put::Raise { .. }
            | Put::Add { .. }
            | Put::Take { .. }
            | Put::Count(_)
            | Put::Uncount(_)
            | Put::Account { .. } => Ok(()),
            Put::Receipt { ledger, operation } => self.receipt(*ledger, operation),
            Put::Resource { name, value } => self.set(&format!("resource/{name}"), value),
            Put::Adopt { ledger, known } => self.adopt(*ledger, known),
            Put::AdoptAfterLoss { ledger, known } => self.adopt_after_loss(*ledger, known),
            Put::Own { ledger, worker, identity } => {
                self.set(&ledger_owners::name(*ledger), &ledger_owners::value(*worker, *identity))
            }
            Put::Horizon(id) => {
                if self.state.horizon.is_some_and(|horizon| horizon >= *id) {
                    return Ok(());
                }
                self.state.horizon = Some(*id);
                self.set("horizon", &id.to_string())
            }
            Put::Case(case) => self.case(case),
            Put::Close { kind, subject, fact } => self.close_case(kind, *subject, fact),
            Put::Note { case, caller, note } => self.note(*case, caller, note),
            Put::Halt { reason } => self.halt(reason),
            Put::Resume { accepted } => self.resume(accepted),
            Put::Pause { scope, reason, caller } => self.pause(*scope, reason, caller),
            Put::Unpause(number) => self.unpause(*number),
            Put::Action(action) => self.action(action),
            Put::Propose(proposal) => self.propose(proposal),
            Put::Decide { id, stand, caller } => self.decision(*id, *stand, caller),
            Put::Asset(asset) => self.asset(asset),
            Put::ForgetDays(before) => self.forget_days(*before),
            Put::ForgetCases(before) => self.forget_cases(*before),
        }
    }

    fn receipt(&mut self, ledger: LedgerId, operation: &Operation) -> rusqlite::Result<()> {
        let highest = self.highest.entry(ledger).or_default();
        if *highest < operation.seq {
            *highest = operation.seq;
        }
        // the same receipt again: what contradicts it was refused before
        let key = operation.op.key;
        if self.legs(key.id)?.iter().any(|(at, stored)| *at == ledger && stored.op.key == key) {
            return Ok(());
        }
        self.store(ledger, operation)
    }

    fn adopt(&mut self, ledger: LedgerId, known: &Known) -> rusqlite::Result<()> {
        let before = crate::sqlite::read::transfers::current(self.db, ledger)?
            .map_or(0, |known| known.highest);
        let highest = if before > known.highest { before } else { known.highest };
        self.make_current(ledger, &Known { highest, ..*known })
    }

    fn adopt_after_loss(&mut self, ledger: LedgerId, known: &Known) -> rusqlite::Result<()> {
        // a receipt of this very batch is of what the ledger no longer has
        self.highest.remove(&ledger);
        self.make_current(ledger, known)
    }

    fn make_current(&self, ledger: LedgerId, known: &Known) -> rusqlite::Result<()> {
        let sql = "UPDATE ledgers_tb SET current = 0 WHERE ledger = ?";
        self.db.prepare_cached(sql)?.execute([ledger.0])?;
        let sql = "INSERT INTO ledgers_tb \
                     (ledger, incarnation, identity, highest, current, adopted_at) \
                   VALUES (?1, ?2, ?3, ?4, 1, ?5) \
                   ON CONFLICT (ledger, incarnation) DO UPDATE SET current = 1, highest = ?4";
        let incarnation = format!("{:032x}", known.incarnation.0);
        let identity = format!("{:032x}", known.identity.0);
        let row = params![ledger.0, incarnation, identity, int(known.highest), int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}
