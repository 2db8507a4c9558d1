//! The shells that carry a lie: everything is passed through but what the twist changes.

use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, FlowId, Id, LedgerId, Millis, UserId, WorkerId};
use kernel::ports::Fut;
use kernel::ports::journal::{Count, Due, Journal, Linked, Snapshot, Standing};
use kernel::ports::ledger::{
    Enlist, Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose,
};
use kernel::record::Record;
use kernel::unit::{Key, Op, Operation, Unit, Wrote};
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
pub(super) struct LedgerShell {
    pub inner: Arc<dyn Ledger>,
    pub twist: Box<dyn LedgerTwist>,
}

impl Ledger for LedgerShell {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }
    fn hello(&self) -> Fut<'_, Heard<()>> {
        self.inner.hello()
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
    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        self.inner.query(known, key)
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        self.inner.fence(known, key)
    }
    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        self.inner.totals()
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        self.inner.operations(after, limit)
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        self.inner.horizon(known, id, open)
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        self.inner.accounts(whose)
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        self.inner.status(known, change)
    }
    fn enlist(&self) -> Option<&dyn Enlist> {
        self.inner.enlist()
    }
}

/// A lie about what a journal writes and brings.
pub(super) trait JournalTwist: Send + Sync {
    /// What is written instead.
    fn write<'a>(&'a self, inner: &'a dyn Journal, units: Vec<Unit>) -> Fut<'a, Vec<Wrote>> {
        inner.write(units)
    }
    /// What is brought instead.
    fn due(&self, found: Vec<Due>) -> Vec<Due> {
        found
    }
}

/// A real journal with a lie around it.
pub(super) struct JournalShell {
    pub inner: Arc<dyn Journal>,
    pub twist: Box<dyn JournalTwist>,
}

impl Journal for JournalShell {
    fn now(&self) -> Millis {
        self.inner.now()
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        self.twist.write(&*self.inner, units)
    }
    fn get(&self, ids: Vec<Id>) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner.get(ids)
    }
    fn bound(
        &self,
        flow: FlowId,
        scope: Arc<str>,
        key: Arc<str>,
    ) -> Fut<'_, Result<Option<Record>, Cause>> {
        self.inner.bound(flow, scope, key)
    }
    fn history(&self, id: Id) -> Fut<'_, Result<Vec<Linked>, Cause>> {
        self.inner.history(id)
    }
    fn due(&self, worker: WorkerId, limit: usize) -> Fut<'_, Result<Vec<Due>, Cause>> {
        let found = self.inner.due(worker, limit);
        Box::pin(async move { found.await.map(|found| self.twist.due(found)) })
    }
    fn open_below(&self, id: Id) -> Fut<'_, Result<Vec<Id>, Cause>> {
        self.inner.open_below(id)
    }
    fn open_of(&self, user: UserId) -> Fut<'_, Result<Vec<Record>, Cause>> {
        self.inner.open_of(user)
    }
    fn counts(&self) -> Fut<'_, Result<Vec<Count>, Cause>> {
        self.inner.counts()
    }
    fn standing(&self) -> Fut<'_, Result<Standing, Cause>> {
        self.inner.standing()
    }
    fn snapshot(&self) -> Fut<'_, Result<Box<dyn Snapshot>, Cause>> {
        self.inner.snapshot()
    }
}
