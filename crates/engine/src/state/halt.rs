//! Raises HALT for any component that finds a reason: no claim and no effect begins until persons resume
//! (`ledgers.md` §3).

use crate::state::cases::Cases;
use crate::state::shared::SharedState;
use kernel::operators::{Action, Case, Severity, Subject};
use kernel::ports::meter::Seen;
use kernel::unit::Put;
use std::sync::Arc;

/// Stops all money of this installation, and opens a case.
pub(crate) struct KillSwitch {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
}

impl KillSwitch {
    pub(crate) fn new(shared: &Arc<SharedState>, cases: &Arc<Cases>) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), cases: cases.clone() })
    }

    /// Stops all money: in RAM at once, in the journal before this returns.
    pub(crate) async fn halt(&self, kind: &'static str, subject: Subject, facts: Arc<str>) {
        self.halt_with(kind, subject, facts, Vec::new()).await;
    }

    /// The same, with what else is written in its unit.
    pub(crate) async fn halt_with(
        &self,
        kind: &'static str,
        subject: Subject,
        facts: Arc<str>,
        mut puts: Vec<Put>,
    ) {
        self.shared.controls.halt(facts.clone());
        self.shared.parts.meter.see(Seen::Halted(true));
        tracing::error!(%facts, "HALT: no money moves until persons resume");
        puts.push(Put::Halt { reason: facts.clone() });
        let halts = puts.iter().filter(|put| matches!(put, Put::Halt { .. })).count();
        let key = self.shared.mint().to_string().into();
        puts.push(Put::Action(Action::halts_of_engine(key, facts.clone(), halts)));
        let case = Case { kind, severity: Severity::Critical, subject, facts };
        if self.cases.noted(&case) {
            self.cases.open_case(case, puts).await;
        } else {
            self.cases.insist(puts).await;
        }
        self.shared.controls.halt_stored();
    }
}
