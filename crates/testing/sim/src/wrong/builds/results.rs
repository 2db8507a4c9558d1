//! Wrong builds that forget the results of a ledger.

use super::again::{Forgets, StoredCalls};
use super::{Lie, held, woven};
use kernel::answer::Answer;
use kernel::ids::{Id, Millis};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use testkit::wrapper::{LedgerWrapper, Wrapper};

/// How long [`kept_for_a_while`] keeps a result, by the wall clock of its process: ten minutes.
const WHILE: Millis = 600_000;

/// No idempotency: whatever comes again is executed again.
pub(super) fn none_kept() -> Lie {
    forgetting(|_, _| true)
}

/// A refusal that is not sticky: what was refused is tried anew when it comes again.
pub(super) fn no_refusal_kept() -> Lie {
    forgetting(|answer, _| matches!(answer, Answer::Rejected(..)))
}

/// Results are forgotten by the clock of a process, not by a stored horizon.
pub(super) fn kept_for_a_while() -> Lie {
    forgetting(|_, age| age > WHILE)
}

fn forgetting(forgets: fn(&Answer, Millis) -> bool) -> Lie {
    let kept: Arc<Mutex<StoredCalls>> = Arc::default();
    Lie::far(move |sim, inner| {
        let (sim, kept) = (sim.clone(), kept.clone());
        Arc::new(Wrapper(Forgets { inner, forgets, sim, kept }))
    })
}

/// A key of the transfer alone: its second leg is answered with the result of its first.
pub(super) fn by_transfer_alone() -> Lie {
    let kept = Arc::default();
    Lie::far(move |_, inner| Arc::new(Wrapper(LegForgotten { inner, kept: Arc::clone(&kept) })))
}

struct LegForgotten {
    inner: Arc<dyn Ledger>,
    kept: Arc<Mutex<BTreeMap<Id, Answer>>>,
}

impl LedgerWrapper for LegForgotten {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let own = ops.iter().map(|op| held(&self.kept).get(&op.key.id).cloned()).collect();
        Box::pin(async move {
            let reply = woven(self, known, ops.clone(), own).await;
            if let Reply::Answered(_, answers) = &reply {
                let said = |answer: &Answer| !matches!(answer, Answer::Unknown(_));
                let pairs = ops.iter().zip(answers).filter(|(_, answer)| said(answer));
                held(&self.kept).extend(pairs.map(|(op, answer)| (op.key.id, answer.clone())));
            }
            reply
        })
    }
}
