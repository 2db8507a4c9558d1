//! Stops a chain after a fact that only three things explain: a key that is used elsewhere, a chain port
//! that is wrong, or a journal that was restored to an earlier time. Claims and sends on the chain stop
//! until two persons resume them; intake, questions, proofs and all other chains go on.

use crate::chains::Chains;
use crate::plan::chain_stop::ENGINE;
use crate::plan::chain_stop::stop;
use crate::state::case_kinds::{CHAIN_CONTRADICTION, EVENTS_MISMATCH, VERDICT_REFUSED};
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{ChainId, Id};
use kernel::operators::{Case, Paused, Scope, Severity, Subject};
use kernel::ports::chain::FOREIGN_FORM;
use kernel::unit::Put;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// True for a pause that the engine itself set on a chain: money depends on what it saw.
pub(crate) fn is_engine_stop(paused: &Paused) -> bool {
    let own = &*paused.caller == ENGINE || paused.caller.starts_with("engine:");
    own && matches!(paused.scope, Scope::Chain(_))
}

/// The reasons that this process has told the journal: a look that finds the same again is no new one.
#[derive(Debug, Default)]
pub(crate) struct StopReasons(Mutex<BTreeSet<Arc<str>>>);

impl StopReasons {
    /// The most reasons that are remembered. Beyond it the memory begins anew, and one reason is counted
    /// twice.
    const MOST: usize = 1_000;

    fn is_new(&self, reason: &Arc<str>) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(reason.clone())
    }
}

impl Chains {
    /// Stops claims and sends on a chain, in RAM at once, and opens a case.
    pub(crate) fn stop_chain(self: &Arc<Self>, kind: &'static str, chain: ChainId, facts: String) {
        let scope = Scope::Chain(chain);
        self.shared.controls.pause(scope);
        let reason: Arc<str> = format!("{kind}: {facts}").into();
        let (severity, subject) = (Severity::Critical, Subject::Chain(chain));
        let case = Case { kind, severity, subject, facts: facts.into() };
        let mut puts = vec![Put::Pause { scope, reason: reason.clone(), caller: ENGINE.into() }];
        let pool = self.pool(chain);
        puts.extend(pool.filter(|pool| pool.stops.is_new(&reason)).map(|_| stop(chain, reason)));
        tracing::error!(chain = chain.name(), "claims and sends stand until persons lift it");
        let fresh = self.cases.noted(&case);
        let chains = self.clone();
        let run = async move {
            if fresh {
                chains.cases.open_case(case, puts).await;
            } else {
                chains.cases.insist(puts).await;
            }
            chains.shared.controls.stored(scope);
        };
        self.shared.parts.spawn.spawn(Background::Case.task(), Box::pin(run));
    }

    /// Stops the chain where a look at an attempt found what conservation excludes: a transaction that did
    /// not do what its members say, or bytes that are not of the attempt. The attempt stays open, and no
    /// other chain stops.
    pub(crate) fn look_stops_chain(self: &Arc<Self>, attempt: &Attempt, cause: &Cause) {
        let kind = match cause.class {
            EVENTS_MISMATCH => EVENTS_MISMATCH,
            FOREIGN_FORM => CHAIN_CONTRADICTION,
            _ => return,
        };
        let found = cause.detail.as_deref().filter(|_| cause.class == kind);
        let found = found.map_or_else(|| cause.to_string(), str::to_owned);
        self.stop_chain(kind, attempt.chain, format!("{found}; {}", described(attempt)));
    }

    /// Refuses verdicts that cannot be right: nothing moves, and a case is opened.
    pub(crate) fn refused_verdicts(&self, attempt: &Attempt, why: &str) {
        self.cases.case(Case {
            kind: VERDICT_REFUSED,
            severity: Severity::Critical,
            subject: Subject::Attempt(attempt.id),
            facts: format!("{}; {}", why, described(attempt)).into(),
        });
    }
}

/// An attempt as text: where it is, and which transfers it carries.
pub(crate) fn described(attempt: &Attempt) -> String {
    let Attempt { id, chain, lane, lock, members, forms, sent, .. } = attempt;
    let names: Vec<String> = forms.iter().map(|form| hex(&form.name)).collect();
    format!(
        "attempt {} on {}, lane {lane}, lock {lock}, {} members, {}forms {}",
        Id(id.0),
        chain.name(),
        members.len(),
        if *sent { "sent, " } else { "" },
        names.join(" ")
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
