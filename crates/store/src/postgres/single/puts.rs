//! Writes the rare changes of a unit, with one statement for each.

use super::SingleTransaction;
use crate::postgres::columns::{self, int, small};
use crate::postgres::error::StoreError;
use kernel::ids::{Day, LedgerId};
use kernel::operation::Known;
use kernel::ports::ledger::External;
use kernel::unit::Put;
use uuid::Uuid;

/// The number of rows that one write forgets: few enough that no write waits long for it.
const AT_ONCE: i64 = 10_000;

impl SingleTransaction<'_> {
    /// Writes one put, unless the workspace does.
    pub(crate) async fn put(&mut self, put: &Put) -> Result<(), StoreError> {
        match put {
            Put::Open(_)
            | Put::Head { .. }
            | Put::Receipt { .. }
            | Put::Attempt(_)
            | Put::AttemptHead { .. }
            | Put::Form(..)
            | Put::Resource { .. }
            | Put::Raise { .. }
            | Put::Add { .. }
            | Put::Take { .. }
            | Put::Count(_)
            | Put::Uncount(_)
            | Put::Account { .. } => {}
            Put::Adopt { ledger, known } => self.adopt(*ledger, known).await?,
            Put::AdoptAfterLoss { ledger, known } => {
                self.forget_above(*ledger, known.highest).await?;
                self.adopt(*ledger, known).await?;
            }
            Put::Own { ledger, worker, identity } => {
                let ended = "UPDATE workers SET leased_until = 0 WHERE worker <> $2 \
                             AND worker = (SELECT worker FROM ledger_owners WHERE ledger = $1)";
                let sql = "INSERT INTO ledger_owners (ledger, epoch, worker, identity) \
                           VALUES ($1, 1, $2, $3) ON CONFLICT (ledger) DO UPDATE SET \
                           epoch = ledger_owners.epoch + 1, worker = excluded.worker, \
                           identity = excluded.identity";
                let (ledger, worker) = (i16::from(ledger.0), columns::worker(worker.0));
                self.execute(ended, &[&ledger, &worker]).await?;
                self.execute(sql, &[&ledger, &worker, &Uuid::from_u128(identity.0)]).await?;
            }
            Put::Horizon(id) => {
                if self.workspace.flags.horizon.is_none_or(|horizon| horizon < *id) {
                    self.set("horizon", &id.to_string()).await?;
                }
            }
            Put::Case(case) => self.case(case).await?,
            Put::Close { kind, subject, fact } => self.close_case(kind, *subject, fact).await?,
            Put::Note { case, caller, note } => self.note(*case, caller, note).await?,
            Put::Halt { reason } => self.halt(reason).await?,
            Put::Resume { accepted } => self.resume(accepted).await?,
            Put::Pause { scope, reason, caller } => self.pause(*scope, reason, caller).await?,
            Put::Unpause(number) => {
                self.execute("DELETE FROM pauses WHERE pause_id = $1", &[&int(*number)]).await?;
            }
            Put::Action(action) => self.action(action).await?,
            Put::Propose(proposal) => self.propose(proposal).await?,
            Put::Decide { id, stand, caller } => self.decision(*id, *stand, caller).await?,
            Put::Asset(asset) => self.asset(asset).await?,
            Put::ForgetDays(before) => self.forget_days(*before).await?,
            Put::ForgetCases(before) => self.forget_cases(*before).await?,
        }
        Ok(())
    }

    /// Sets a named value.
    pub(crate) async fn set(&self, name: &str, value: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO service_state (name, value, version, at) VALUES ($1, $2, 1, $3) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value, \
                   version = service_state.version + 1, at = excluded.at";
        self.execute(sql, &[&name, &value, &self.at()]).await?;
        Ok(())
    }

    /// No higher number of this ledger counts any more: neither one that an incarnation was adopted with
    /// nor one that a lane stored.
    async fn forget_above(&self, ledger: LedgerId, highest: u64) -> Result<(), StoreError> {
        let (ledger, highest) = (i16::from(ledger.0), int(highest));
        for table in ["ledgers_tb", "ledger_lanes"] {
            let sql = format!(
                "UPDATE {table} SET highest = $2 WHERE ledger = $1 AND highest > $2::bigint"
            );
            self.execute(&sql, &[&ledger, &highest]).await?;
        }
        Ok(())
    }

    async fn adopt(&self, ledger: LedgerId, known: &Known) -> Result<(), StoreError> {
        let ledger = i16::from(ledger.0);
        let incarnation = Uuid::from_u128(known.incarnation.0);
        let sql = "UPDATE ledgers_tb SET current = false WHERE ledger = $1";
        self.execute(sql, &[&ledger]).await?;
        let sql = "INSERT INTO ledgers_tb \
                     (ledger, incarnation, identity, highest, current, adopted_at) \
                   VALUES ($1, $2, $3, greatest($4::bigint, \
                     (SELECT max(highest) FROM ledgers_tb WHERE ledger = $1), \
                     (SELECT max(highest) FROM ledger_lanes WHERE ledger = $1)), true, $5) \
                   ON CONFLICT (ledger, incarnation) \
                   DO UPDATE SET current = true, highest = excluded.highest";
        let identity = Uuid::from_u128(known.identity.0);
        let (highest, at) = (int(known.highest), self.at());
        self.execute(sql, &[&ledger, &incarnation, &identity, &highest, &at]).await?;
        Ok(())
    }

    async fn forget_days(&self, before: Day) -> Result<(), StoreError> {
        let sql = "DELETE FROM limits_tb WHERE (day, user_id, asset_id) IN \
                     (SELECT day, user_id, asset_id FROM limits_tb WHERE day < $1 \
                      ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)";
        self.execute(sql, &[&small(before.0), &AT_ONCE]).await?;
        // one that another process deletes at this moment is no reason to wait
        let sql = "DELETE FROM service_state WHERE name IN (SELECT name FROM service_state \
                     WHERE name >= $1 AND name < $2 FOR UPDATE SKIP LOCKED)";
        for (from, to) in External::forgotten_counters(before) {
            let (from, to) = (format!("counter/{from}"), format!("counter/{to}"));
            self.execute(sql, &[&from, &to]).await?;
        }
        Ok(())
    }
}
