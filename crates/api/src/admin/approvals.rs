//! The bodies of approvals: proposals that need a second person.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A page of approvals, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approvals {
    /// The approvals of this page.
    pub approvals: Vec<ApprovalRow>,
    /// There may be more: ask with `cursor` set to this.
    pub next: Option<String>,
}

/// Something that takes effect when another person approves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRow {
    /// The id that names the approval.
    #[schema(example = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V")]
    pub id: String,
    /// `RESOLVE`, `RESUME`, `DEPOSIT`, `WITHDRAWAL`, `UNPAUSE`, `STATUS` of a user's account or `ACCOUNT_STATUS` of a
    /// numbered one.
    #[schema(example = "STATUS")]
    pub kind: String,
    /// What it is about: a transfer's id, `service`, or `deposit/` and the `ref`.
    #[schema(example = "account/4001/SPOT")]
    pub subject: String,
    /// What exactly. Of a resume: the number of the halt that it is of, and the breaks that are
    /// accepted. Of a verdict: the answer, the state, the ledger and the leg of the call, and the place
    /// in the history of the event that led to that state. Of a deposit: `user_id`, `asset`, `amount` and `ref`,
    /// and the asset's number and the amount in base units; with `account_number` it goes to that account
    /// of the pipeline.
    pub value: Value,
    /// The reason that the proposer gave.
    #[schema(example = "court order 12 has ended")]
    pub reason: String,
    /// The principal who proposed it: `issuer|sub`.
    #[schema(example = "portage|ops-7")]
    pub by: String,
    /// When it was proposed, RFC 3339.
    #[schema(example = "2026-11-21T09:23:15.121Z")]
    pub at: String,
    /// `PENDING`, `APPROVED`, `REJECTED`, `SUPERSEDED` (a halt or a resume came since, the transfer moved on, or what
    /// it proposes was done by another person) or `LAPSED` (no decision before `expires_at`).
    #[schema(example = "PENDING")]
    pub status: String,
    /// Until when it may be decided, RFC 3339; `ops.approval_hours` after `at`.
    #[schema(example = "2026-11-22T09:23:15.121Z")]
    pub expires_at: String,
    /// Who decided; `journal` where a halt or a resume superseded it, `engine` where anything else did.
    pub decided_by: Option<String>,
    /// When it was decided, RFC 3339; none while it waits and once it lapsed.
    pub decided_at: Option<String>,
}
