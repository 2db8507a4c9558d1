//! The Funding ledger in the simulated journal: each call is a write of its own, unless a unit
//! carries the operation.

use super::state::State;
use super::{Made, NOT_REPLICATED, Refusal, SimJournal};
use crate::books::Books;
use kernel::answer::{Answer, Cause};
use kernel::code::Code;
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Enlist, External, Heard, Holding, Identity, Incarnation, Known, Ledger, Moved, StatusChange,
    Stored, Totals, Whose, World,
};
use kernel::unit::{Key, Op, Operation};
use std::sync::Arc;

/// The ledger.
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

    fn shown<T: Send + 'static>(&self, look: impl FnOnce(&Books) -> T) -> Fut<'_, Heard<T>> {
        if let Err(cause) = self.journal.readable() {
            return Box::pin(std::future::ready(Heard::Nothing(cause)));
        }
        let state = self.journal.place.now();
        Box::pin(std::future::ready(Heard::Said(is(&state.books), look(&state.books))))
    }

    async fn written<T>(
        &self,
        about: Vec<Id>,
        act: impl FnOnce(&mut State, Millis) -> Result<T, Cause>,
    ) -> Result<(Known, T), Cause> {
        let wrote = self.journal.commit(about, |state: &mut State, _, at| {
            act(state, at).map(|value| (is(&state.books), value))
        });
        match wrote.await {
            Ok(Made { value, durable: true }) => value,
            Ok(Made { value, durable: false }) => value.and(Err(Cause::of(NOT_REPLICATED))),
            Err(Refusal::Full) => Err(Cause::of("FULL")),
            Err(Refusal::Unknown) => Err(Cause::of("COMMIT")),
        }
    }

    fn asked<'a, T: Send + 'a>(
        &'a self,
        about: Vec<Id>,
        act: impl FnOnce(&mut Books, Millis) -> Result<T, Cause> + Send + 'a,
    ) -> Fut<'a, Heard<T>> {
        Box::pin(async move {
            match self.written(about, |state, at| act(&mut state.books, at)).await {
                Ok((known, said)) => Heard::Said(known, said),
                Err(cause) => Heard::Nothing(cause),
            }
        })
    }
}

impl Ledger for SimFunding {
    fn id(&self) -> LedgerId {
        LedgerId::FUNDING
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        self.shown(|_| ())
    }

    fn execute(&self, _: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        let about = ops.iter().map(|op| op.key.id).collect();
        self.asked(about, move |books, _| Ok(ops.iter().map(|op| books.decide(op).0).collect()))
    }

    fn query(&self, _: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        if let Err(cause) = self.journal.readable() {
            return Box::pin(std::future::ready(Heard::Nothing(cause)));
        }
        let state = self.journal.place.now();
        let heard = match state.books.query(key) {
            Ok(stored) => Heard::Said(is(&state.books), stored),
            Err(cause) => Heard::Nothing(cause),
        };
        Box::pin(std::future::ready(heard))
    }

    fn fence(&self, _: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        self.asked(vec![key.id], move |books, _| books.fence(key))
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        self.shown(Books::totals)
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        self.shown(|books| books.operations(after, limit))
    }

    fn horizon(&self, _: Known, _: Id, _: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        self.shown(|_| ())
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        self.shown(|books| books.holdings(whose))
    }

    fn status(&self, _: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        self.asked(Vec::new(), move |books, _| Ok(books.set_status(&change)))
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
            let book = |state: &mut State, at| state.books.external(&movement, at);
            self.written(Vec::new(), book).await.map(|(_, moved)| moved)
        })
    }
}

impl World for SimFunding {
    fn external(&self, movement: External) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let book = |state: &mut State, at| match state.books.booked(&movement) {
                None if state.halted.is_some() => Ok(Moved::Refused(Code::Halted)),
                _ => state.books.external(&movement, at),
            };
            self.written(Vec::new(), book).await.map(|(_, moved)| moved)
        })
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        let booked =
            self.journal.readable().map(|()| self.journal.place.now().books.booked(&movement));
        Box::pin(std::future::ready(booked))
    }
}
