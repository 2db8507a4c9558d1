//! What two persons accepted of the breaks. A row of the journal counts only where an action of the audit
//! accepted it: rows that another program writes excuse nothing, and are breaks themselves.

use kernel::answer::Cause;
use kernel::operators::Accepted;
use kernel::ports::journal::{Journal, ServiceStatus};
use kernel::reconcile;

/// The rows of accepted breaks, as the actions of the audit bear them out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcceptedBreaks {
    /// What was accepted, in the order of acceptance.
    pub named: Vec<Accepted>,
    /// The rows that no action accepted.
    pub unnamed: Vec<Accepted>,
}

impl AcceptedBreaks {
    /// Compares the rows that this status has with the actions.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn read(journal: &dyn Journal, status: &ServiceStatus) -> Result<Self, Cause> {
        let rows = &status.accepted;
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let mut named = reconcile::named(&journal.resumes().await?);
        let unnamed = rows.iter().filter(|row| !named.contains(row)).cloned().collect();
        // what was accepted and has no row any more excuses nothing
        named.retain(|one| rows.contains(one));
        Ok(Self { named, unnamed })
    }
}
