//! The Funding ledger in the simulated journal: each call is a write of its own, unless a unit
//! carries the operation.

use super::state::State;
use super::{Committed, NOT_REPLICATED, Refusal, SimJournal};
use crate::books::Books;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Authority, Enlist, External, Holding, Ledger, Moved, Reply, StatusChange, Stored, Totals,
    Whose, World,
};
use kernel::rules::Request;
use std::sync::Arc;

#[derive(Debug)]
pub struct SimFunding {
    journal: Arc<SimJournal>,
}

/// It is the journal's database, so it is always the one that the journal knows.
const fn is(books: &Books) -> Known {
    Known { identity: Identity(1), incarnation: Incarnation(1), highest: books.highest() }
}

impl SimFunding {
    pub(super) const fn new(journal: Arc<SimJournal>) -> Self {
        Self { journal }
    }

    fn shown<T: Send + 'static>(&self, look: impl FnOnce(&Books) -> T) -> Fut<'_, Reply<T>> {
        if let Err(cause) = self.journal.readable() {
            return Box::pin(std::future::ready(Reply::NoAnswer(cause)));
        }
        let state = self.journal.place.now();
        Box::pin(std::future::ready(Reply::Answered(is(&state.books), look(&state.books))))
    }

    async fn written<T>(
        &self,
        subject: Vec<Id>,
        act: impl FnOnce(&mut State, Millis) -> Result<T, Cause>,
    ) -> Result<(Known, T), Cause> {
        let wrote = self.journal.commit(subject, |state: &mut State, _, at| {
            act(state, at).map(|value| (is(&state.books), value))
        });
        match wrote.await {
            Ok(Committed { value, durable: true }) => value,
            Ok(Committed { value, durable: false }) => value.and(Err(Cause::of(NOT_REPLICATED))),
            Err(Refusal::Full) => Err(Cause::of("FULL")),
            Err(Refusal::Unknown) => Err(Cause::of("COMMIT")),
        }
    }

    fn asked<'a, T: Send + 'a>(
        &'a self,
        subject: Vec<Id>,
        act: impl FnOnce(&mut State, Millis) -> Result<T, Cause> + Send + 'a,
    ) -> Fut<'a, Reply<T>> {
        Box::pin(async move {
            match self.written(subject, act).await {
                Ok((known, said)) => Reply::Answered(known, said),
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    }
}

impl Ledger for SimFunding {
    fn id(&self) -> LedgerId {
        LedgerId::FUNDING
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.shown(|_| ())
    }

    fn execute(&self, _: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        let subject = ops.iter().map(|op| op.key.id).collect();
        self.asked(subject, move |state, at| {
            Ok(ops.iter().map(|op| state.leg(LedgerId::FUNDING, op, at)).collect())
        })
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        if let Err(cause) = self.journal.readable() {
            return Box::pin(std::future::ready(Reply::NoAnswer(cause)));
        }
        let state = self.journal.place.now();
        let reply = match state.books.query(key) {
            Ok(stored) => Reply::Answered(is(&state.books), stored),
            Err(cause) => Reply::NoAnswer(cause),
        };
        Box::pin(std::future::ready(reply))
    }

    fn fence(&self, _: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.asked(vec![key.id], move |state, at| state.fence(LedgerId::FUNDING, key, at))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        self.shown(Books::totals)
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.shown(|books| books.operations(after, limit))
    }

    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.shown(|_| ())
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        self.shown(|books| books.holdings(whose))
    }

    fn status(&self, _: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        self.asked(Vec::new(), move |state, _| Ok(state.books.set_status(&change)))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        Some(self)
    }
}

impl Enlist for SimFunding {
    fn holds(&self) -> bool {
        true
    }
}

impl SimFunding {
    /// Books a movement whatever stands, as a store does whose rules know of no HALT: for a wrong
    /// build that asks elsewhere.
    pub fn unguarded(&self, movement: External) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let request = Request { movement, authority: Authority::Alone };
            let book = |state: &mut State, at| Ok(state.unguarded(&request, at));
            self.written(Vec::new(), book).await.map(|(_, moved)| moved)
        })
    }
}

impl World for SimFunding {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let request = Request { movement, authority };
            let book = |state: &mut State, at| Ok(state.external(&request, at));
            self.written(Vec::new(), book).await.map(|(_, moved)| moved)
        })
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        let booked = self.journal.readable().map(|()| self.journal.place.now().booked(&movement));
        Box::pin(std::future::ready(booked))
    }
}
