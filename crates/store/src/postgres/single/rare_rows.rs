//! Reads the rows that the rules ask for only in a unit with a rare change, one by one and under their
//! locks.

use super::SingleTransaction;
use crate::postgres::columns::{read_amount, read_stand, uint, uuid};
use crate::postgres::error::StoreError;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operation::Known;
use kernel::operators::{ApprovalStatus, Proposal};
use kernel::ports::ledger::Authority;
use kernel::rules::{self, Request};
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// The advisory lock of a name that has no row yet is this and the name's hash.
const NAMES: i32 = 0x506f_7275;

impl SingleTransaction<'_> {
    /// Adds to the workspace what a batch's own questions left out.
    pub(crate) async fn read_rare_rows(&mut self, unit: &Unit) -> Result<(), StoreError> {
        for guard in &unit.guards {
            self.read_guard(guard).await?;
        }
        for put in unit.thens().flat_map(|then| &then.puts) {
            if let Put::Adopt { ledger, known } | Put::AdoptAfterLoss { ledger, known } = put {
                let followed = self.superseded(*ledger, known).await?;
                self.workspace.rare.superseded.insert((*ledger, known.incarnation), followed);
            }
            if let Put::Action(action) = put {
                self.read_action(&action.caller, &action.key).await?;
            }
            if let Put::Propose(Proposal { id, .. }) | Put::Decide { id, .. } = put {
                let stand = self.approval_status(*id).await?;
                self.workspace.rare.approvals.insert(*id, stand);
            }
        }
        Ok(())
    }

    async fn read_guard(&mut self, guard: &Guard) -> Result<(), StoreError> {
        match guard {
            Guard::NoPastAction { caller, key } => self.read_action(caller, key).await?,
            Guard::Pending(id) => {
                let stand = self.approval_status(*id).await?;
                self.workspace.rare.approvals.insert(*id, stand);
            }
            Guard::Fresh(_)
            | Guard::Account { .. }
            | Guard::Attempt { .. }
            | Guard::LockFree { .. }
            | Guard::Resource { .. }
            | Guard::AtMost { .. }
            | Guard::AtLeast { .. }
            | Guard::Unbound { .. }
            | Guard::Inbox { .. }
            | Guard::Transfer { .. }
            | Guard::NotHalted
            | Guard::Halt(_)
            | Guard::Incarnation { .. }
            | Guard::Owner { .. }
            | Guard::DayCount { .. }
            | Guard::DayAmount { .. } => {}
        }
        Ok(())
    }

    /// Reads the rows for a movement: its counter, or the proposal that approves it.
    pub(super) async fn read_external_request(
        &mut self,
        request: &Request,
    ) -> Result<(), StoreError> {
        if let Some(name) = rules::counter(request, self.workspace.at) {
            let counter = self.counter(&name).await?;
            self.workspace.rare.counters.insert(name, counter);
        }
        if let Authority::Approved(approved) = &request.authority {
            let stand = self.approval_status(approved.proposal).await?;
            self.workspace.rare.approvals.insert(approved.proposal, stand);
            self.read_action(&approved.action.caller, &approved.action.key).await?;
        }
        Ok(())
    }

    async fn read_action(&mut self, caller: &Arc<str>, key: &Arc<str>) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM operator_actions WHERE caller = $1 AND idempotency_key = $2";
        let exists = self.exists(sql, &[&&**caller, &&**key]).await?;
        self.workspace.rare.actions.insert((caller.clone(), key.clone()), exists);
        Ok(())
    }

    /// True where another incarnation followed this one.
    async fn superseded(&self, ledger: LedgerId, known: &Known) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM ledgers_tb WHERE ledger = $1 AND incarnation = $2 AND NOT current";
        let incarnation = Uuid::from_u128(known.incarnation.0);
        self.exists(sql, &[&i16::from(ledger.0), &incarnation]).await
    }

    /// A named value's version, its row locked; 0 where it does not exist.
    pub(crate) async fn version(&self, name: &str) -> Result<u64, StoreError> {
        let sql = "SELECT version FROM service_state WHERE name = $1 FOR UPDATE";
        let row = self.named(sql, name).await?;
        Ok(row.map_or(Ok(0), |row| row.try_get(0).map(uint))?)
    }

    /// A named counter, its row locked; 0 where it was never raised.
    pub(crate) async fn counter(&self, name: &str) -> Result<u128, StoreError> {
        let sql = "SELECT value FROM service_state WHERE name = $1 FOR UPDATE";
        let row = self.named(sql, &format!("counter/{name}")).await?;
        row.map_or(Ok(0), |row| Ok(read_amount(row.try_get(0)?)?.0))
    }

    /// A named row, locked. One that is not there yet cannot be locked: its name is, so that of two
    /// who would be the first to write it one finds what the other wrote.
    async fn named(&self, sql: &str, name: &str) -> Result<Option<Row>, StoreError> {
        if let Some(row) = self.row(sql, &[&name]).await? {
            return Ok(Some(row));
        }
        let lock = "SELECT 1 FROM pg_advisory_xact_lock($1, hashtext($2))";
        self.row(lock, &[&NAMES, &name]).await?;
        self.row(sql, &[&name]).await
    }

    /// How an approval is stored, and until when it may be decided; its row is locked.
    async fn approval_status(
        &self,
        id: Id,
    ) -> Result<Option<(ApprovalStatus, Millis)>, StoreError> {
        let sql = "SELECT status, expires_at FROM approvals WHERE approval_id = $1 FOR UPDATE";
        let row = self.row(sql, &[&uuid(id)]).await?;
        row.map(|row| Ok((read_stand(row.try_get(0)?)?, uint(row.try_get(1)?)))).transpose()
    }
}
