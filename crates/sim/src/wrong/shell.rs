//! The shell that carries a lie about what a ledger executes and answers.

use crate::shell::LedgerShell;
use kernel::answer::Answer;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Known, Ledger};
use kernel::unit::Op;
use std::sync::Arc;

/// A lie about what a ledger executes and answers.
pub(super) trait LedgerTwist: Send + Sync {
    /// What is executed instead.
    fn ops(&self, ops: Arc<[Op]>) -> Arc<[Op]> {
        ops
    }
    /// What is answered instead.
    fn answer(&self, _op: &Op, answer: Answer) -> Answer {
        answer
    }
}

/// A real ledger with a lie around it.
pub(super) struct Twisted {
    pub inner: Arc<dyn Ledger>,
    pub twist: Box<dyn LedgerTwist>,
}

impl LedgerShell for Twisted {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            match self.inner.execute(known, self.twist.ops(ops.clone())).await {
                Heard::Said(said, answers) => {
                    let pairs = ops.iter().zip(answers);
                    Heard::Said(said, pairs.map(|(op, a)| self.twist.answer(op, a)).collect())
                }
                Heard::Nothing(cause) => {
                    let one = |op| self.twist.answer(op, Answer::Unknown(cause.clone()));
                    let answers: Vec<_> = ops.iter().map(one).collect();
                    let honest = answers.iter().all(|a| matches!(a, Answer::Unknown(_)));
                    if honest { Heard::Nothing(cause) } else { Heard::Said(known, answers) }
                }
                wrong @ Heard::Wrong(_) => wrong,
            }
        })
    }
}
