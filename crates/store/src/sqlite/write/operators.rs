//! Writes operators' cases and decisions as rows: cases, notes, halts, pauses, actions, approvals and
//! assets.

use super::batch::WriteBatch;
use crate::audit_chain::AuditChain;
use crate::columns::FORGOTTEN_CASES;
use crate::sqlite::columns::{self, int, subject};
use kernel::ids::{Id, Millis};
use kernel::money::Asset;
use kernel::operators::{
    Accepted, Action, ApprovalStatus, Case, JOURNAL, Note, Proposal, RESUME, Scope, Subject,
};
use kernel::ports::admin_queries::Tells;
use rusqlite::{OptionalExtension, params};

/// The rows of `service_state` that a writer of assets guards.
const ASSETS: &str = "resource/assets";

impl WriteBatch<'_> {
    /// Opens a case, unless one of its kind is open about its subject, and queues its webhook.
    pub(crate) fn case(&self, case: &Case) -> rusqlite::Result<()> {
        let sql = "INSERT INTO cases (kind, severity, subject, req_id, facts, status, opened_at) \
                   VALUES (?, ?, ?, ?, ?, 'OPEN', ?) \
                   ON CONFLICT (kind, subject) WHERE closed_at IS NULL DO NOTHING \
                   RETURNING case_id";
        let row = params![
            case.kind,
            case.severity.name(),
            case.subject.to_string(),
            case.subject.transfer().map(|id| id.to_string()),
            &*case.facts,
            int(self.at),
        ];
        let opened = self.db.prepare_cached(sql)?.query_row(row, |row| row.get(0)).optional()?;
        opened.map_or(Ok(()), |number| self.tell(number, Tells::Opened))
    }

    pub(crate) fn close_case(
        &self,
        kind: &str,
        subject: Subject,
        fact: &str,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE cases SET status = 'CLOSED', closed_at = ?3, closed_by = ?4 \
                   WHERE kind = ?1 AND subject = ?2 AND closed_at IS NULL RETURNING case_id";
        let row = params![kind, subject.to_string(), int(self.at), fact];
        let closed = self.db.prepare_cached(sql)?.query_row(row, |row| row.get(0)).optional()?;
        closed.map_or(Ok(()), |number| self.tell(number, Tells::Closed))
    }

    fn tell(&self, case: i64, tells: Tells) -> rusqlite::Result<()> {
        let sql = "INSERT INTO webhook_deliveries (case_id, tells, at, attempts, due_at) \
                   VALUES (?1, ?2, ?3, 0, ?3)";
        self.db.prepare_cached(sql)?.execute(params![case, tells.name(), int(self.at)])?;
        Ok(())
    }

    /// Forgets cases that were closed before this time, oldest first, and what belongs to them.
    pub(crate) fn forget_cases(&self, before: Millis) -> rusqlite::Result<()> {
        // the cases last: they are what the other two look up
        for table in ["case_notes", "webhook_deliveries", "cases"] {
            let sql = format!(
                "DELETE FROM {table} WHERE case_id IN (SELECT case_id FROM \
                   (SELECT case_id, closed_at FROM cases ORDER BY case_id LIMIT ?2) \
                   WHERE closed_at < ?1 AND case_id < (SELECT max(case_id) FROM cases))"
            );
            self.db.prepare_cached(&sql)?.execute(params![int(before), FORGOTTEN_CASES])?;
        }
        Ok(())
    }

    /// A note of a case that is there.
    pub(crate) fn note(&self, case: u64, caller: &str, note: &Note) -> rusqlite::Result<()> {
        let (kind, text) = match note {
            Note::Assigned(whom) => ("ASSIGNED", whom),
            Note::Comment(words) => ("COMMENT", words),
        };
        let sql = "INSERT INTO case_notes (case_id, at, caller, kind, text) \
                   SELECT case_id, ?2, ?3, ?4, ?5 FROM cases WHERE case_id = ?1";
        let row = params![int(case), int(self.at), caller, kind, &**text];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    pub(crate) fn halt(&mut self, reason: &str) -> rusqlite::Result<()> {
        self.state.halts = self.state.halts.saturating_add(1);
        let sql = "INSERT INTO halts (halt, reason, at) VALUES (?, ?, ?)";
        let row = params![int(self.state.halts), reason, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        if self.state.halted {
            return Ok(());
        }
        self.state.halted = true;
        self.set("halted", reason)
    }

    /// Closes what was proposed of a HALT that is another one now, or none.
    pub(crate) fn supersede(&self) -> rusqlite::Result<()> {
        let sql = "UPDATE approvals SET status = ?1, decided_by = ?2, decided_at = ?3 \
                   WHERE action = ?4 AND status = 'PENDING'";
        let row = params![ApprovalStatus::Superseded.name(), JOURNAL, int(self.at), RESUME];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    pub(crate) fn resume(&mut self, accepted: &[Accepted]) -> rusqlite::Result<()> {
        self.state.halted = false;
        self.db.prepare_cached("DELETE FROM service_state WHERE name = 'halted'")?.execute([])?;
        let lifts = "UPDATE halts SET lifted_at = ? WHERE lifted_at IS NULL";
        self.db.prepare_cached(lifts)?.execute([int(self.at)])?;
        let sql = "INSERT INTO accepted_breaks VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at";
        for Accepted { key, amount } in accepted {
            let row = params![&**key, amount.to_string(), int(self.at)];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        Ok(())
    }

    pub(crate) fn pause(&self, scope: Scope, reason: &str, caller: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO pauses (scope, subject, reason, caller, at) \
                   VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let subject = subject(self.flows, scope);
        let row = params![scope.kind(), subject, reason, caller, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    pub(crate) fn unpause(&self, number: u64) -> rusqlite::Result<()> {
        let sql = "DELETE FROM pauses WHERE pause_id = ?";
        self.db.prepare_cached(sql)?.execute([int(number)])?;
        Ok(())
    }

    /// Adds an action to the operators' chain.
    pub(crate) fn action(&mut self, action: &Action) -> rusqlite::Result<()> {
        let sql = "INSERT INTO operator_actions \
                     (action, subject, value, reason, result, caller, idempotency_key, at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            action.kind,
            &*action.subject,
            &*action.value,
            &*action.reason,
            &*action.result,
            &*action.caller,
            &*action.key,
            int(self.at),
        ])?;
        self.append_to_chain(AuditChain::OperatorActions)
    }

    pub(crate) fn propose(&self, proposal: &Proposal) -> rusqlite::Result<()> {
        let sql = "INSERT INTO approvals (approval_id, action, subject, value, reason, \
                   requested_by, requested_at, status, expires_at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.db.prepare_cached(sql)?.execute(params![
            proposal.id.to_string(),
            proposal.kind,
            &*proposal.subject,
            &*proposal.value,
            &*proposal.reason,
            &*proposal.caller,
            int(self.at),
            ApprovalStatus::Pending.name(),
            int(self.at.saturating_add(proposal.lasts)),
        ])?;
        Ok(())
    }

    /// A decision of what is pending, which was looked at before.
    pub(crate) fn decision(
        &self,
        id: Id,
        stand: ApprovalStatus,
        caller: &str,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE approvals SET status = ?2, decided_by = ?3, decided_at = ?4 \
                   WHERE approval_id = ?1 AND status = 'PENDING'";
        let row = params![id.to_string(), stand.name(), caller, int(self.at)];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    pub(crate) fn asset(&mut self, asset: &Asset) -> rusqlite::Result<()> {
        // the next question asks the table
        self.assets = None;
        let sql = "INSERT INTO assets_tb VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                   ON CONFLICT (asset_id) DO UPDATE SET symbol = ?2, precision = ?3, status = ?4, \
                   internal_transfer_enabled = ?5, min_transfer_amount = ?6, \
                   max_transfer_amount = ?7, daily_amount = ?8";
        self.db.prepare_cached(sql)?.execute(params![
            asset.id.0,
            asset.symbol,
            asset.precision,
            asset.status.name(),
            asset.transferable,
            columns::amount(asset.min),
            asset.max.map(columns::amount),
            asset.daily.map(columns::amount),
        ])?;
        self.set(ASSETS, &asset.symbol)
    }
}
