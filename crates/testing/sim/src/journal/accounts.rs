//! The accounts ledger in the simulated journal: each call is a write of its own, unless a unit carries
//! the operation.

use super::state::State;
use super::{Committed, NOT_REPLICATED, Refusal, SimJournal};
use crate::numbered_books::NumberedBooks;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Enlist, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::sync::Arc;

/// The accounts ledger of one process.
#[derive(Debug)]
pub struct SimAccounts {
    journal: Arc<SimJournal>,
}

/// It is the journal's database, so it is always the one that the journal knows.
fn is(books: &NumberedBooks) -> Known {
    Known { identity: Identity(1), incarnation: Incarnation(1), highest: books.highest() }
}

impl SimAccounts {
    pub(super) const fn new(journal: Arc<SimJournal>) -> Self {
        Self { journal }
    }

    fn shown<T: Send + 'static>(
        &self,
        look: impl FnOnce(&NumberedBooks) -> T,
    ) -> Fut<'_, Reply<T>> {
        if let Err(cause) = self.journal.readable() {
            return Box::pin(std::future::ready(Reply::NoAnswer(cause)));
        }
        let state = self.journal.place.now();
        Box::pin(std::future::ready(Reply::Answered(is(&state.accounts), look(&state.accounts))))
    }

    fn written<'a, T: Send + 'a>(
        &'a self,
        subject: Vec<Id>,
        act: impl FnOnce(&mut State, Millis) -> Result<T, Cause> + Send + 'a,
    ) -> Fut<'a, Reply<T>> {
        Box::pin(async move {
            let wrote = self.journal.commit(subject, |state: &mut State, _, at| {
                act(state, at).map(|value| (is(&state.accounts), value))
            });
            let said = match wrote.await {
                Ok(Committed { value, durable: true }) => value,
                Ok(Committed { value, durable: false }) => {
                    value.and(Err(Cause::of(NOT_REPLICATED)))
                }
                Err(Refusal::Full) => Err(Cause::of("FULL")),
                Err(Refusal::Unknown) => Err(Cause::of("COMMIT")),
            };
            match said {
                Ok((known, said)) => Reply::Answered(known, said),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }
}

/// Numbered accounts are listed and changed through the journal.
const NUMBERED: Cause = Cause::of("NUMBERED_ACCOUNTS");

impl Ledger for SimAccounts {
    fn id(&self) -> LedgerId {
        LedgerId::ACCOUNT
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.shown(|_| ())
    }

    fn execute(&self, _: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let subject = ops.iter().map(|op| op.key.id).collect();
        self.written(subject, move |state, at| {
            Ok(ops.iter().map(|op| state.leg(LedgerId::ACCOUNT, op, at)).collect())
        })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.shown(|books| books.query(key))
    }

    fn fence(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.written(vec![key.id], move |state, at| state.fence(LedgerId::ACCOUNT, key, at))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        self.shown(NumberedBooks::totals)
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.shown(|books| {
            let mut above: Vec<_> = books.operations().filter(|o| o.seq > after).cloned().collect();
            above.sort_by_key(|operation| operation.seq);
            above.truncate(limit);
            above
        })
    }

    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.shown(|_| ())
    }

    fn accounts(&self, _: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(std::future::ready(Reply::NoAnswer(NUMBERED)))
    }

    fn status(&self, _: Known, _: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(std::future::ready(Reply::NoAnswer(NUMBERED)))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        Some(self)
    }
}

impl Enlist for SimAccounts {
    fn holds(&self) -> bool {
        false
    }
}
