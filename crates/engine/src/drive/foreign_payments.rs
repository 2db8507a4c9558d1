//! Stops a chain for money that moved without an attempt, until two persons resume it.

use crate::drive::status_sync::StatusSync;
use crate::plan::chain_stop::{ENGINE, stop};
use crate::state::case_kinds::FOREIGN_PAYMENT;
use crate::state::cases::Cases;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ids::ChainId;
use kernel::operators::{Case, Note, Scope, Severity, Subject};
use kernel::unit::{Put, Unit};
use std::sync::Arc;

/// Writes the stop of a chain with what was found, as one unit.
pub(crate) struct ForeignPayments {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
    status: Arc<StatusSync>,
}

impl ForeignPayments {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        status: &Arc<StatusSync>,
    ) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), cases: cases.clone(), status: status.clone() })
    }

    /// Has a unit stop the chain for what is not trusted; in RAM the chain stands at once. What a case that is open
    /// already does not show becomes a note of it. The case is `None` where nothing is objected to.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn stop_in(
        &self,
        chain: ChainId,
        unit: &mut Unit,
        objections: &[String],
    ) -> Result<Option<Case>, Cause> {
        if objections.is_empty() {
            return Ok(None);
        }
        let (scope, subject) = (Scope::Chain(chain), Subject::Chain(chain));
        let facts: Arc<str> = objections.join("; ").into();
        let reason: Arc<str> = format!("{FOREIGN_PAYMENT}: {facts}").into();
        let open = self.shared.parts.journal.open_cases().await?;
        self.shared.controls.pause(scope);
        let open = open.iter().find(|one| &*one.kind == FOREIGN_PAYMENT && one.subject == subject);
        let more = open.map(|open| Put::Note {
            case: open.number,
            caller: ENGINE.into(),
            note: Note::Comment(facts.clone()),
        });
        let case = Case { kind: FOREIGN_PAYMENT, severity: Severity::Critical, subject, facts };
        unit.then.puts.push(stop(chain, reason.clone()));
        unit.then.puts.push(Put::Pause { scope, reason, caller: ENGINE.into() });
        unit.then.puts.push(more.unwrap_or_else(|| Put::Case(case.clone())));
        Ok(Some(case))
    }

    /// After the write of a unit that stops the chain.
    pub(crate) async fn stop_ends(&self, case: Option<Case>, written: bool) -> Result<(), Cause> {
        let Some(case) = case else { return Ok(()) };
        if let Subject::Chain(chain) = case.subject {
            self.shared.controls.stored(Scope::Chain(chain));
        }
        if written {
            self.cases.noted(&case);
        } else {
            // the pause that stands meanwhile is of this process alone
            self.status.refresh().await?;
        }
        Ok(())
    }
}
