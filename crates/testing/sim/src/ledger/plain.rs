//! An outside ledger in memory, with the contract's identity checks and nothing else.
//!
//! Its books represent its disk: [`Plain::restart`] is another incarnation over the same books, [`Plain::copy`] a
//! second copy of the folder.

use crate::books::Books;
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Identity, Incarnation, Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use ledger_contract::Profile;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ledger. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub struct Plain {
    id: LedgerId,
    identity: Identity,
    incarnation: Incarnation,
    books: Arc<Mutex<Books>>,
}

impl Plain {
    pub fn new(id: LedgerId, profile: Profile, identity: u128) -> Self {
        let books = Arc::new(Mutex::new(Books::new(profile)));
        Self { id, identity: Identity(identity), incarnation: Incarnation(1), books }
    }

    /// The same ledger after a restart; the one before must no longer be used.
    pub fn restart(&self) -> Self {
        let incarnation = Incarnation(self.incarnation.0 + 1);
        let books = self.books.clone();
        Self { id: self.id, identity: self.identity, incarnation, books }
    }

    /// A copy of what it has now, which goes its own way as that incarnation.
    pub fn copy(&self, incarnation: u128) -> Self {
        let books = Arc::new(Mutex::new(self.books().clone()));
        let incarnation = Incarnation(incarnation);
        Self { id: self.id, identity: self.identity, incarnation, books }
    }

    /// What it has, for oracles and for setting up.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is(&self, books: &Books) -> Known {
        let (identity, incarnation) = (self.identity, self.incarnation);
        Known { identity, incarnation, highest: books.highest() }
    }

    /// Does what is asked where the request means this ledger.
    fn asked<T>(&self, known: Known, act: impl FnOnce(&mut Books) -> Result<T, Cause>) -> Reply<T> {
        let mut books = self.books();
        let is = self.is(&books);
        let same = (known.identity, known.incarnation) == (is.identity, is.incarnation);
        if !same || known.highest > is.highest {
            return Reply::OtherLedger(is);
        }
        match act(&mut books) {
            Ok(said) => Reply::Answered(self.is(&books), said),
            Err(cause) => Reply::NoAnswer(cause),
        }
    }

    fn shown<T>(&self, look: impl FnOnce(&Books) -> T) -> Reply<T> {
        let books = self.books();
        Reply::Answered(self.is(&books), look(&books))
    }
}

fn now<T: Send + 'static>(reply: Reply<T>) -> Fut<'static, Reply<T>> {
    Box::pin(std::future::ready(reply))
}

impl Ledger for Plain {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        now(self.shown(|_| ()))
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        now(self.asked(known, |books| Ok(ops.iter().map(|op| books.decide(op)).collect())))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        now(self.asked(known, |books| books.query(key)))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        now(self.asked(known, |books| books.fence(key)))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        now(self.shown(Books::totals))
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        now(self.shown(|books| books.operations(after, limit)))
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        now(self.asked(known, |books| {
            books.forget(id, &open);
            Ok(())
        }))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        now(self.shown(|books| books.holdings(whose)))
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        now(self.asked(known, |books| Ok(books.set_status(&change))))
    }
}
