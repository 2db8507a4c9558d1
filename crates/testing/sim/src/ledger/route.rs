//! The route of a link to a ledger: it leads to one ledger after another, and nowhere between them.

use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Enlist, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A ledger as a link reaches it. No call is answered while it leads nowhere or is silent.
pub(crate) struct LedgerRoute {
    id: LedgerId,
    leads_to: Mutex<Option<Arc<dyn Ledger>>>,
    /// Whether the ledger that it led to last is part of the journal's writes, and holds there.
    holds: Mutex<Option<bool>>,
    silent: AtomicBool,
    /// Whether a question, which has no effect, is lost.
    loses: Box<dyn Fn() -> bool + Send + Sync>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LedgerRoute {
    /// A route that leads nowhere yet.
    pub(crate) fn new(id: LedgerId, loses: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let (leads_to, holds, silent) = (Mutex::default(), Mutex::default(), AtomicBool::default());
        Self { id, leads_to, holds, silent, loses: Box::new(loses) }
    }

    /// It leads to this ledger from now on; nowhere where there is none.
    pub(crate) fn lead(&self, ledger: Option<Arc<dyn Ledger>>) {
        if let Some(ledger) = &ledger {
            *held(&self.holds) = ledger.enlist().map(Enlist::holds);
        }
        *held(&self.leads_to) = ledger;
    }

    /// The ledger itself, whether it answers or not.
    pub(crate) fn leads_to(&self) -> Option<Arc<dyn Ledger>> {
        held(&self.leads_to).clone()
    }

    /// Nothing is answered any more, or again.
    pub(crate) fn silence(&self, silent: bool) {
        self.silent.store(silent, Ordering::SeqCst);
    }

    /// The ledger, unless it is gone or silent.
    pub(crate) fn reach(&self) -> Result<Arc<dyn Ledger>, Cause> {
        let silent = self.silent.load(Ordering::SeqCst);
        self.leads_to().filter(|_| !silent).ok_or(Cause::of("TIMEOUT"))
    }

    /// The ledger, for a question.
    fn asked(&self) -> Result<Arc<dyn Ledger>, Cause> {
        if (self.loses)() { Err(Cause::of("TIMEOUT")) } else { self.reach() }
    }
}

/// Does this at the ledger, unless it cannot be reached.
macro_rules! reached {
    ($reach:expr, $ledger:ident => $request:expr) => {
        Box::pin(async move {
            match $reach {
                Ok($ledger) => $request.await,
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    };
}

impl Ledger for LedgerRoute {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn know(&self, assets: &[Asset]) {
        self.leads_to().iter().for_each(|ledger| ledger.know(assets));
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        reached!(self.asked(), ledger => ledger.hello())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        reached!(self.reach(), ledger => ledger.execute(known, ops))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        reached!(self.asked(), ledger => ledger.query(known, key))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        reached!(self.reach(), ledger => ledger.fence(known, key))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        reached!(self.asked(), ledger => ledger.totals())
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        reached!(self.asked(), ledger => ledger.operations(after, limit))
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        reached!(self.asked(), ledger => ledger.horizon(known, id, open))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        reached!(self.asked(), ledger => ledger.accounts(whose))
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        reached!(self.asked(), ledger => ledger.status(known, change))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        let enlisted: &dyn Enlist = self;
        held(&self.holds).map(|_| enlisted)
    }
}

impl Enlist for LedgerRoute {
    fn holds(&self) -> bool {
        held(&self.holds).unwrap_or(false)
    }
}
