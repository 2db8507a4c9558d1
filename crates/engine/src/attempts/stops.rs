//! What stops a chain by itself: facts that only a key used elsewhere, a port that is wrong or a journal that
//! was set back can explain. Claims and sends of the chain stand until a person resumes them; intake,
//! questions, proofs and every other chain go on.

use crate::Engine;
use crate::alerts::cases::ENGINE;
use crate::tasks::Background;
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{ChainId, Id};
use kernel::operators::{Case, Scope, Severity, Subject};
use kernel::ports::chain::FOREIGN_FORM;
use kernel::unit::Put;
use std::sync::Arc;

/// The chain has spent more of a lane's locks than the journal knows attempts.
pub(crate) const LANE_AHEAD: &str = kernel::ports::chain::LANE_AHEAD;
/// A transaction that no attempt has names transfers, and does not pay what they wait for.
pub(crate) const FOREIGN_PAYMENT: &str = "FOREIGN_PAYMENT";
/// A form that does not pay what its members say, or a lock that was used before.
pub(crate) const CHAIN_CONTRADICTION: &str = "CHAIN_CONTRADICTION";
/// A final transaction did less, or another thing, than its members say.
pub(crate) const EVENTS_MISMATCH: &str = kernel::ports::chain::EVENTS_MISMATCH;
/// What the port calls a proof cannot be one.
pub(crate) const VERDICT_REFUSED: &str = "VERDICT_REFUSED";

impl Engine {
    /// Stops claims and sends of a chain, in RAM at once, and asks a person.
    pub(crate) fn stop_chain(self: &Arc<Self>, kind: &'static str, chain: ChainId, facts: String) {
        let scope = Scope::Chain(chain);
        self.controls.pause(scope);
        let reason: Arc<str> = format!("{kind}: {facts}").into();
        let (severity, subject) = (Severity::Critical, Subject::Chain(chain));
        let case = Case { kind, severity, subject, facts: facts.into() };
        let pause = Put::Pause { scope, reason, caller: ENGINE.into() };
        tracing::error!(chain = chain.name(), "claims and sends stand until a person lifts it");
        let fresh = self.noted(&case);
        let engine = self.clone();
        let run = async move {
            if fresh {
                engine.open_case(case, vec![pause]).await;
            } else {
                engine.insist(vec![pause]).await;
            }
            engine.controls.stored(scope);
        };
        self.parts.spawn.spawn(Background::Case.task(), Box::pin(run));
    }

    /// Stops the chain where a look at an attempt found what conservation excludes: a transaction that did not
    /// do what its members say, or bytes that are not of the attempt. It stays open, and nothing else stops.
    pub(crate) fn look_stops_chain(self: &Arc<Self>, attempt: &Attempt, cause: &Cause) {
        let kind = match cause.class {
            EVENTS_MISMATCH => EVENTS_MISMATCH,
            FOREIGN_FORM => CHAIN_CONTRADICTION,
            _ => return,
        };
        self.stop_chain(kind, attempt.chain, format!("{cause}; {}", described(attempt)));
    }

    /// Verdicts that are none: nothing moves, and a person is asked.
    pub(crate) fn refused_verdicts(self: &Arc<Self>, attempt: &Attempt, why: &str) {
        self.case(Case {
            kind: VERDICT_REFUSED,
            severity: Severity::Critical,
            subject: Subject::Attempt(attempt.id),
            facts: format!("{}; {}", why, described(attempt)).into(),
        });
    }
}

/// An attempt in words: where it is, and what it is about.
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
