//! Writes operators' cases and decisions as rows: cases, notes, halts, pauses, actions, approvals and
//! assets.

use super::SingleTransaction;
use crate::audit_chain::AuditChain;
use crate::columns::FORGOTTEN_CASES;
use crate::postgres::columns::{int, small, subject, uuid};
use crate::postgres::error::StoreError;
use kernel::ids::{Id, Millis};
use kernel::money::Asset;
use kernel::operators::{
    Accepted, Action, ApprovalStatus, Case, JOURNAL, Note, Proposal, RESUME, Scope, Subject,
};
use kernel::ports::admin_queries::Tells;

/// The row of `service_state` that a writer of assets guards.
const ASSETS: &str = "resource/assets";

impl SingleTransaction<'_> {
    /// Opens a case, unless one of its kind is open about its subject, and queues its webhook.
    pub(crate) async fn case(&self, case: &Case) -> Result<(), StoreError> {
        let sql = "INSERT INTO cases (kind, severity, subject, req_id, facts, status, opened_at) \
                   VALUES ($1, $2, $3, $4, $5, 'OPEN', $6) \
                   ON CONFLICT (kind, subject) WHERE closed_at IS NULL DO NOTHING \
                   RETURNING case_id";
        let (subject, transfer) = (case.subject.to_string(), case.subject.transfer().map(uuid));
        let (severity, at) = (case.severity.name(), self.at());
        let opened = self
            .row(sql, &[&case.kind, &severity, &subject, &transfer, &&*case.facts, &at])
            .await?;
        match opened {
            Some(row) => self.queue_delivery(row.try_get(0)?, Tells::Opened).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn close_case(
        &self,
        kind: &str,
        subject: Subject,
        fact: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE cases SET status = 'CLOSED', closed_at = $3, closed_by = $4 \
                   WHERE kind = $1 AND subject = $2 AND closed_at IS NULL RETURNING case_id";
        let closed = self.row(sql, &[&kind, &subject.to_string(), &self.at(), &fact]).await?;
        match closed {
            Some(row) => self.queue_delivery(row.try_get(0)?, Tells::Closed).await,
            None => Ok(()),
        }
    }

    async fn queue_delivery(&self, case: i64, tells: Tells) -> Result<(), StoreError> {
        let sql = "INSERT INTO webhook_deliveries (case_id, tells, at, attempts, due_at) \
                   VALUES ($1, $2, $3, 0, $3)";
        self.execute(sql, &[&case, &tells.name(), &self.at()]).await?;
        Ok(())
    }

    /// A note of a case that is there.
    pub(crate) async fn note(
        &self,
        case: u64,
        caller: &str,
        note: &Note,
    ) -> Result<(), StoreError> {
        let (kind, words) = match note {
            Note::Assigned(whom) => ("ASSIGNED", whom),
            Note::Comment(words) => ("COMMENT", words),
        };
        let sql = "INSERT INTO case_notes (case_id, at, caller, kind, text) \
                   SELECT case_id, $2, $3, $4, $5 FROM cases WHERE case_id = $1";
        self.execute(sql, &[&int(case), &self.at(), &caller, &kind, &&**words]).await?;
        Ok(())
    }

    /// Forgets cases that were closed before this time, oldest first, and what belongs to them.
    pub(crate) async fn forget_cases(&self, before: Millis) -> Result<(), StoreError> {
        let sql = "WITH old AS MATERIALIZED (SELECT case_id FROM \
                       (SELECT case_id, closed_at FROM cases ORDER BY case_id LIMIT $2) first \
                       WHERE closed_at < $1 AND case_id < (SELECT max(case_id) FROM cases)), \
                     notes AS (DELETE FROM case_notes WHERE case_id IN (SELECT case_id FROM old)), \
                     told AS (DELETE FROM webhook_deliveries WHERE case_id IN (SELECT case_id FROM old)) \
                   DELETE FROM cases WHERE case_id IN (SELECT case_id FROM old)";
        self.execute(sql, &[&int(before), &FORGOTTEN_CASES]).await?;
        Ok(())
    }

    /// The next halt, with its reason. The first one that stands is why nothing moves.
    pub(crate) async fn halt(&mut self, reason: &str) -> Result<(), StoreError> {
        let flags = &mut self.workspace.flags;
        flags.halts = flags.halts.saturating_add(1);
        let (number, stood) = (int(flags.halts), std::mem::replace(&mut flags.halted, true));
        let sql = "INSERT INTO halts (halt, reason, at) VALUES ($1, $2, $3)";
        self.execute(sql, &[&number, &reason, &self.at()]).await?;
        if stood { Ok(()) } else { self.set("halted", reason).await }
    }

    /// Closes what was proposed of a HALT that is another one now, or none.
    pub(crate) async fn supersede(&self) -> Result<(), StoreError> {
        let sql = "UPDATE approvals SET status = $1, decided_by = $2, decided_at = $3 \
                   WHERE action = $4 AND status = 'PENDING'";
        let superseded = ApprovalStatus::Superseded.name();
        self.execute(sql, &[&superseded, &JOURNAL, &self.at(), &RESUME]).await?;
        Ok(())
    }

    pub(crate) async fn resume(&mut self, accepted: &[Accepted]) -> Result<(), StoreError> {
        self.workspace.flags.halted = false;
        self.execute("DELETE FROM service_state WHERE name = 'halted'", &[]).await?;
        let lifts = "UPDATE halts SET lifted_at = $1 WHERE lifted_at IS NULL";
        self.execute(lifts, &[&self.at()]).await?;
        let sql = "INSERT INTO accepted_breaks (key, amount, at) \
                   VALUES ($1, ($2::text)::numeric, $3) \
                   ON CONFLICT (key, amount) DO UPDATE SET at = excluded.at";
        for Accepted { key, amount } in accepted {
            self.execute(sql, &[&&**key, &amount.to_string(), &self.at()]).await?;
        }
        Ok(())
    }

    pub(crate) async fn pause(
        &self,
        scope: Scope,
        reason: &str,
        caller: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO pauses (scope, subject, reason, caller, at) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let subject = subject(self.flows, scope);
        self.execute(sql, &[&scope.kind(), &subject, &reason, &caller, &self.at()]).await?;
        Ok(())
    }

    /// Adds an action to the operators' chain.
    pub(crate) async fn action(&mut self, action: &Action) -> Result<(), StoreError> {
        let sql = "INSERT INTO operator_actions \
                     (action, subject, value, reason, result, caller, idempotency_key, at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING action_id";
        let Action { caller, key, kind, subject, value, reason, result } = action;
        let at = self.at();
        let row = self
            .row(
                sql,
                &[kind, &&**subject, &&**value, &&**reason, &&**result, &&**caller, &&**key, &at],
            )
            .await?
            .ok_or(StoreError::Damaged("an action without a number"))?;
        self.append_to_chain(AuditChain::OperatorActions, row.try_get(0)?).await
    }

    pub(crate) async fn propose(&self, proposal: &Proposal) -> Result<(), StoreError> {
        let sql = "INSERT INTO approvals (approval_id, action, subject, value, reason, \
                   requested_by, requested_at, status, expires_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let Proposal { id, kind, subject, value, reason, caller, lasts } = proposal;
        let (id, at, stand) = (uuid(*id), self.at(), ApprovalStatus::Pending.name());
        let expires = int(self.workspace.put.saturating_add(*lasts));
        self.execute(
            sql,
            &[&id, kind, &&**subject, &&**value, &&**reason, &&**caller, &at, &stand, &expires],
        )
        .await?;
        Ok(())
    }

    /// A decision of what is pending, which was looked at before.
    pub(crate) async fn decision(
        &self,
        id: Id,
        stand: ApprovalStatus,
        caller: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE approvals SET status = $2, decided_by = $3, decided_at = $4 \
                   WHERE approval_id = $1 AND status = 'PENDING'";
        let decided = self.execute(sql, &[&uuid(id), &stand.name(), &caller, &self.at()]).await?;
        if decided == 1 { Ok(()) } else { Err(StoreError::AssumptionFailed) }
    }

    pub(crate) async fn asset(&mut self, asset: &Asset) -> Result<(), StoreError> {
        let sql = "INSERT INTO assets_tb VALUES ($1, $2, $3, $4, $5, ($6::text)::numeric, \
                     ($7::text)::numeric, ($8::text)::numeric) \
                   ON CONFLICT (asset_id) DO UPDATE SET symbol = excluded.symbol, \
                   precision = excluded.precision, status = excluded.status, \
                   internal_transfer_enabled = excluded.internal_transfer_enabled, \
                   min_transfer_amount = excluded.min_transfer_amount, \
                   max_transfer_amount = excluded.max_transfer_amount, \
                   daily_amount = excluded.daily_amount";
        let text = |amount: kernel::money::Amount| amount.0.to_string();
        let (number, precision) = (small(asset.id.0), i16::from(asset.precision));
        let (min, max, daily) = (text(asset.min), asset.max.map(text), asset.daily.map(text));
        let status = asset.status.name();
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
            [&number, &asset.symbol, &precision, &status, &asset.transferable, &min, &max, &daily];
        self.execute(sql, &row).await?;
        self.workspace.flags.assets.insert(asset.id);
        self.set(ASSETS, &asset.symbol).await
    }
}
