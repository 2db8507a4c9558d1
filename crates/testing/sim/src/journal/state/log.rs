//! Logs the rows of operators in the order of writing, for observers; the journal itself does not read it.

use kernel::ids::Id;
use kernel::unit::Put;
use std::sync::Arc;

/// The order of operators' rows, which the tables of the journal do not keep.
#[derive(Debug, Clone, Default)]
pub(in crate::journal) struct OperatorLog {
    /// The (principal, key) of each action.
    pub actions: Vec<(Arc<str>, Arc<str>)>,
    /// The ids of proposals, in the order of their writing.
    pub proposed: Vec<Id>,
    /// Each proposal that was decided.
    pub decided: Vec<Id>,
    /// Number of HALTs that were written, those among them that found one standing.
    pub halts: u64,
    /// How often a HALT that stood was lifted.
    pub resumes: u64,
}

impl OperatorLog {
    /// A row is written, while a HALT stands or not.
    pub(super) fn add(&mut self, put: &Put, halted: bool) {
        if let Put::Action(action) = put {
            self.actions.push((action.caller.clone(), action.key.clone()));
        }
        if let Put::Propose(proposal) = put {
            self.proposed.push(proposal.id);
        }
        if let Put::Decide { id, .. } = put {
            self.decided.push(*id);
        }
        self.halts += u64::from(matches!(put, Put::Halt { .. }));
        self.resumes += u64::from(halted && matches!(put, Put::Resume { .. }));
    }
}
