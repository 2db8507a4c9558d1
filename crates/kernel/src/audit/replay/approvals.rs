//! Compares the rows of approvals with what was proposed and decided.

use super::performed::Performed;
use super::{ActionTable, ReplayFindings, StoredRow, first_from, shown};
use crate::ids::Millis;
use crate::operators::{ActionResult, ApprovalStatus, JOURNAL, RESUME};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The places of the columns.
const ACTION: usize = 0;
const SUBJECT: usize = 1;
const VALUE: usize = 2;
const REASON: usize = 3;
const REQUESTED_BY: usize = 4;
const REQUESTED_AT: usize = 5;
const STATUS: usize = 6;
const DECIDED_BY: usize = 7;
const DECIDED_AT: usize = 8;

/// What was decided about a proposal.
#[derive(Debug, PartialEq, Eq)]
struct Decision {
    status: ApprovalStatus,
    caller: String,
    at: Millis,
}

/// The proposals and decisions of the chain, by the proposal's id.
#[derive(Debug, Default)]
pub(super) struct ApprovalReplay {
    proposed: BTreeMap<String, Performed>,
    decided: BTreeMap<String, Decision>,
}

impl ApprovalReplay {
    pub(super) fn take(&mut self, performed: &Performed) {
        if let Some(ActionResult::Proposed { approval }) = &performed.result {
            self.proposed.insert(approval.to_string(), performed.clone());
        }
        let id = performed.subject.strip_prefix("approval/");
        if let Some((id, status)) = id.zip(performed.result.as_ref().and_then(decides)) {
            let Performed { caller, at, .. } = performed;
            let decision = Decision { status, caller: caller.clone(), at: *at };
            self.decided.insert(id.to_owned(), decision);
        }
    }

    /// Compares the table. `stops`: when a HALT was raised or ended.
    pub(super) fn compare(
        mut self,
        rows: &[StoredRow],
        stops: &BTreeSet<Millis>,
        found: &mut ReplayFindings,
    ) {
        for row in rows {
            let Some(proposed) = self.proposed.remove(&row.key) else {
                let proven = "that it was never proposed".to_owned();
                found.row(ActionTable::Approvals, &row.key, "there is such a row", proven);
                continue;
            };
            as_proposed(row, &proposed, found);
            let decision = self.decided.remove(&row.key);
            let decision = decision.or_else(|| superseded(row, &proposed, stops));
            as_decided(row, decision, found);
        }
        for (id, Performed { caller, at, .. }) in self.proposed {
            let proven = format!("that {caller} proposed it at {at}");
            found.row(ActionTable::Approvals, &id, "it was removed", proven);
        }
    }
}

/// What an action about a proposal decided with that result.
const fn decides(result: &ActionResult) -> Option<ApprovalStatus> {
    match result {
        ActionResult::Refused => Some(ApprovalStatus::Rejected),
        ActionResult::Superseded { .. } => Some(ApprovalStatus::Superseded),
        ActionResult::Resumed { .. }
        | ActionResult::Deposited { .. }
        | ActionResult::Withdrawn { .. }
        | ActionResult::Resolved { .. }
        | ActionResult::WithdrawalAccepted
        | ActionResult::RefundReleased { .. }
        | ActionResult::StatusSet
        | ActionResult::NumberedAccount { .. }
        | ActionResult::Unpaused => Some(ApprovalStatus::Approved),
        ActionResult::Retried
        | ActionResult::Asked { .. }
        | ActionResult::Paused { .. }
        | ActionResult::Halted { .. }
        | ActionResult::Proposed { .. }
        | ActionResult::Proving { .. }
        | ActionResult::LaneRetired { .. }
        | ActionResult::LaneGone { .. }
        | ActionResult::Asset { .. }
        | ActionResult::Unparked
        | ActionResult::Redriven { .. }
        | ActionResult::Reemitted { .. }
        | ActionResult::Sought { .. }
        | ActionResult::Noted
        | ActionResult::Webhook { .. }
        | ActionResult::WebhookDeleted => None,
    }
}

fn as_proposed(row: &StoredRow, proposed: &Performed, found: &mut ReplayFindings) {
    let Performed { at, kind, caller, subject, value, reason, .. } = proposed;
    let at = at.to_string();
    for (place, proven) in [
        (ACTION, kind),
        (SUBJECT, subject),
        (REASON, reason),
        (REQUESTED_BY, caller),
        (REQUESTED_AT, &at),
    ] {
        found.differs(ActionTable::Approvals, row, place, Some(proven));
    }
    let stored = row.field(VALUE).and_then(|text| serde_json::from_str(text).ok());
    if !stored.is_some_and(|stored| holds(&stored, value)) {
        found.column(ActionTable::Approvals, row, VALUE, shown(Some(&value.to_string())));
    }
}

/// Whether a stored proposal has every field of what was asked; the engine adds what it meant: a HALT's number, a
/// state.
fn holds(stored: &Value, asked: &Value) -> bool {
    match (stored, asked) {
        (Value::Object(stored), Value::Object(asked)) => {
            asked.iter().all(|(name, value)| stored.get(name) == Some(value))
        }
        (stored, asked) => stored == asked,
    }
}

/// A HALT and the end of one supersede every proposal of a resume that waits.
fn superseded(row: &StoredRow, proposed: &Performed, stops: &BTreeSet<Millis>) -> Option<Decision> {
    if proposed.kind != RESUME {
        return None;
    }
    let behind = first_from(stops, proposed.at.saturating_add(1));
    // one of the same millisecond came before or behind it
    let same = stops.contains(&proposed.at).then_some(proposed.at);
    let stored = row.field(DECIDED_AT).and_then(|at| at.parse().ok());
    let at = same.filter(|same| Some(*same) == stored).or(behind)?;
    Some(Decision { status: ApprovalStatus::Superseded, caller: JOURNAL.to_owned(), at })
}

fn as_decided(row: &StoredRow, decision: Option<Decision>, found: &mut ReplayFindings) {
    let (status, by, at) = match decision {
        Some(Decision { status, caller, at }) => (status, Some(caller), Some(at.to_string())),
        None => (ApprovalStatus::Pending, None, None),
    };
    found.differs(ActionTable::Approvals, row, STATUS, Some(status.name()));
    found.differs(ActionTable::Approvals, row, DECIDED_BY, by.as_deref());
    found.differs(ActionTable::Approvals, row, DECIDED_AT, at.as_deref());
}
