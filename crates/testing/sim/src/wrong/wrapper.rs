//! The wrapper of wrong builds that change what a ledger executes and answers.

use kernel::answer::Answer;
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use std::sync::Arc;
use testkit::wrapper::LedgerWrapper;

/// A lie about what a ledger executes and answers.
pub(super) trait LedgerMutation: Send + Sync {
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
pub(super) struct MutatedLedger {
    pub inner: Arc<dyn Ledger>,
    pub mutation: Box<dyn LedgerMutation>,
}

impl LedgerWrapper for MutatedLedger {
    fn inner(&self) -> &dyn Ledger {
        &*self.inner
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            match self.inner.execute(known, self.mutation.ops(ops.clone())).await {
                Reply::Answered(said, answers) => {
                    let pairs = ops.iter().zip(answers);
                    Reply::Answered(
                        said,
                        pairs.map(|(op, a)| self.mutation.answer(op, a)).collect(),
                    )
                }
                Reply::NoAnswer(cause) => {
                    let one = |op| self.mutation.answer(op, Answer::Unknown(cause.clone()));
                    let answers: Vec<_> = ops.iter().map(one).collect();
                    let honest = answers.iter().all(|a| matches!(a, Answer::Unknown(_)));
                    if honest { Reply::NoAnswer(cause) } else { Reply::Answered(known, answers) }
                }
                wrong @ Reply::OtherLedger(_) => wrong,
            }
        })
    }
}
