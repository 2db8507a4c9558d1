//! The wrapper of wrong builds that forget results of a ledger: it executes a forgotten operation again under
//! another id, since the real ledger forgets nothing.

use super::held;
use crate::world::Sim;
use kernel::answer::Answer;
use kernel::ids::{Id, Millis};
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use testkit::wrapper::LedgerWrapper;

/// The results, as the lie keeps them over all processes of a run.
#[derive(Default)]
pub(super) struct StoredCalls {
    /// The last under each key: under which id it is stored, what it was, and since when.
    last: BTreeMap<Key, (Id, Answer, Millis)>,
    /// The id that each of the other ids stands for.
    first: BTreeMap<Id, Id>,
}

/// A ledger that forgets the results of this kind and age, in milliseconds.
pub(super) struct Forgets {
    pub inner: Arc<dyn Ledger>,
    pub forgets: fn(&Answer, Millis) -> bool,
    pub sim: Sim,
    pub kept: Arc<Mutex<StoredCalls>>,
}

impl Forgets {
    /// The operation, under the id that it is stored under, or under a new one.
    fn renamed(&self, op: &Op, now: Millis) -> Op {
        let mut kept = held(&self.kept);
        let id = match kept.last.get(&op.key) {
            None => return op.clone(),
            Some((id, answer, at)) if (self.forgets)(answer, now.saturating_sub(*at)) => {
                Id(id.0 ^ (1 << kept.first.len().checked_rem(79).unwrap_or(0)))
            }
            Some((id, ..)) => *id,
        };
        kept.first.insert(id, op.key.id);
        Op { key: Key { id, ..op.key }, ..op.clone() }
    }
}

impl LedgerWrapper for Forgets {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let now = Clock::now(&self.sim);
        let asked: Arc<[Op]> = ops.iter().map(|op| self.renamed(op, now)).collect();
        Box::pin(async move {
            let reply = self.inner.execute(known, asked.clone()).await;
            if let Reply::Answered(_, answers) = &reply {
                for ((op, asked), answer) in ops.iter().zip(&*asked).zip(answers) {
                    // a refund is of the withdraw under its own id
                    if op.key.leg.refusable() && !matches!(answer, Answer::Unknown(_)) {
                        let result = (asked.key.id, answer.clone(), now);
                        held(&self.kept).last.insert(op.key, result);
                    }
                }
            }
            reply
        })
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move {
            let mut reply = self.inner.operations(after, limit).await;
            if let Reply::Answered(_, listed) = &mut reply {
                for key in listed.iter_mut().map(|operation| &mut operation.op.key) {
                    key.id = held(&self.kept).first.get(&key.id).copied().unwrap_or(key.id);
                }
            }
            reply
        })
    }
}
