//! The network to a ledger: it loses requests and replies, delays, garbles, and may lead elsewhere.

use crate::event_log::{EventLog, LoggedEvent};
use crate::world::{Crash, SplitMix, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Enlist, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong with one call that may have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The request never arrives.
    LoseRequest,
    /// The effect exists, and its reply never arrives.
    LoseReply,
    /// The request arrives so much later.
    Late(Millis),
    /// The effect exists, and the reply cannot be read.
    Garbage,
    /// The effect exists, and the reply is short of one answer.
    Short,
    /// The port panics before it asks.
    PanicBefore,
    /// The port panics when the effect exists.
    PanicAfter,
    /// Our process dies before it asks.
    CrashBefore,
    /// Our process dies when the effect exists.
    CrashAfter,
}

impl Trouble {
    /// What keeps the caller from knowing, and leaves its process alive.
    pub const HINDRANCES: [Self; 7] = [
        Self::LoseRequest,
        Self::LoseReply,
        Self::Late(60_000),
        Self::Garbage,
        Self::Short,
        Self::PanicBefore,
        Self::PanicAfter,
    ];

    /// Whether the ledger hears of the request at all.
    const fn arrives(self) -> bool {
        match self {
            Self::LoseRequest | Self::PanicBefore | Self::CrashBefore => false,
            Self::LoseReply
            | Self::Late(_)
            | Self::Garbage
            | Self::Short
            | Self::PanicAfter
            | Self::CrashAfter => true,
        }
    }
}

#[derive(Default)]
struct Plan {
    calls: u64,
    planned: BTreeMap<u64, Trouble>,
    rate: Option<(u64, SplitMix)>,
    /// The other side is gone: nothing is answered.
    silent: bool,
    /// Every request arrives twice.
    twice: bool,
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

/// A ledger at the end of a bad link.
pub struct Faulty {
    id: LedgerId,
    /// Whether the ledger that it led to last is part of the journal's writes, and holds there.
    holds: Mutex<Option<bool>>,
    inner: Mutex<Option<Arc<dyn Ledger>>>,
    clock: Arc<dyn Clock>,
    crash: Crash,
    plan: Mutex<Plan>,
    event_log: Mutex<EventLog>,
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Faulty {
    /// A link to this ledger that leads nowhere yet, and on which nothing goes wrong.
    pub fn new(id: LedgerId, clock: Arc<dyn Clock>, crash: Crash) -> Self {
        let (holds, inner) = (Mutex::default(), Mutex::default());
        let (plan, event_log) = (Mutex::default(), Mutex::default());
        Self { id, holds, inner, clock, crash, plan, event_log }
    }

    fn plan_now(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link leads to this ledger from now on.
    pub fn lead(&self, inner: Arc<dyn Ledger>) {
        let holds = inner.enlist().map(Enlist::holds);
        *self.holds.lock().unwrap_or_else(PoisonError::into_inner) = holds;
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(inner);
    }

    /// The ledger that it leads to, if there is one.
    pub fn leads_to(&self) -> Option<Arc<dyn Ledger>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is asked from now on is told there.
    pub fn tell(&self, event_log: EventLog) {
        *self.event_log.lock().unwrap_or_else(PoisonError::into_inner) = event_log;
    }

    fn told(&self, n: u64, ops: &[Op]) {
        let event_log = self.event_log.lock().unwrap_or_else(PoisonError::into_inner);
        if event_log.is_on() {
            let keys = ops.iter().map(|op| op.key).collect();
            event_log.add(LoggedEvent::Call { ledger: self.id, n, keys });
        }
    }

    /// The link leads nowhere from now on, and keeps nothing of where it led.
    pub fn cut(&self) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// So many calls that may have an effect were begun.
    pub fn calls(&self) -> u64 {
        self.plan_now().calls
    }

    /// The n-th such call, counted from 0, goes wrong.
    pub fn plan(&self, n: u64, trouble: Trouble) {
        self.plan_now().planned.insert(n, trouble);
    }

    /// One such call in `of` goes wrong in some way that leaves our process alive; 0: none.
    pub fn rate(&self, of: u64, seed: u64) {
        self.plan_now().rate = (of > 0).then_some((of, SplitMix(seed)));
    }

    /// Nothing is answered any more, or again.
    pub fn silence(&self, silent: bool) {
        self.plan_now().silent = silent;
    }

    /// Every request that may have an effect arrives twice, or once.
    pub fn twice(&self, twice: bool) {
        self.plan_now().twice = twice;
    }

    /// The number of the call that begins now, and what goes wrong with it.
    fn begin(&self) -> (u64, Option<Trouble>) {
        let mut plan = self.plan_now();
        let n = plan.calls;
        plan.calls += 1;
        let planned = plan.planned.remove(&n);
        let drawn = plan.rate.as_mut().and_then(|(of, draws)| {
            let unlucky = draws.once_in(1, *of);
            let all = u64::try_from(Trouble::HINDRANCES.len()).unwrap_or(1);
            let at = usize::try_from(draws.next() % all).unwrap_or(0);
            Trouble::HINDRANCES.get(at).copied().filter(|_| unlucky)
        });
        (n, planned.or(drawn))
    }

    /// The ledger, unless it is gone.
    fn reach(&self) -> Result<Arc<dyn Ledger>, Cause> {
        self.leads_to().filter(|_| !self.plan_now().silent).ok_or(Cause::of("TIMEOUT"))
    }

    async fn call(&self, known: Known, ops: Arc<[Op]>) -> Reply<Vec<Answer>> {
        breath().await;
        let (n, trouble) = self.begin();
        self.told(n, &ops);
        match trouble {
            Some(Trouble::PanicBefore) => panic("the port panics before it asks"),
            Some(Trouble::CrashBefore) => die(&self.crash, "crashed before a call").await,
            Some(Trouble::Late(ms)) => self.clock.sleep(ms).await,
            Some(
                Trouble::LoseRequest
                | Trouble::LoseReply
                | Trouble::Garbage
                | Trouble::Short
                | Trouble::PanicAfter
                | Trouble::CrashAfter,
            )
            | None => {}
        }
        if trouble.is_some_and(|trouble| !trouble.arrives()) {
            return Reply::NoAnswer(Cause::of("TIMEOUT"));
        }
        let inner = match self.reach() {
            Ok(inner) => inner,
            Err(cause) => return Reply::NoAnswer(cause),
        };
        if self.plan_now().twice {
            inner.execute(known, ops.clone()).await;
        }
        let reply = inner.execute(known, ops).await;
        breath().await;
        match (trouble, reply) {
            (Some(Trouble::LoseReply), _) => Reply::NoAnswer(Cause::of("TIMEOUT")),
            (Some(Trouble::Garbage), Reply::Answered(known, answers)) => {
                let garbage = Answer::Unknown(Cause::of("GARBAGE"));
                Reply::Answered(known, vec![garbage; answers.len()])
            }
            (Some(Trouble::Short), Reply::Answered(known, mut answers)) => {
                answers.pop();
                Reply::Answered(known, answers)
            }
            (Some(Trouble::PanicAfter), _) => panic("the port panics when it was done"),
            (Some(Trouble::CrashAfter), reply) => {
                die(&self.crash, "crashed after a call").await;
                reply
            }
            (_, reply) => reply,
        }
    }
}

/// Asks the ledger, unless it is gone.
macro_rules! reached {
    ($self:ident, $inner:ident => $ask:expr) => {
        Box::pin(async move {
            match $self.reach() {
                Ok($inner) => $ask.await,
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    };
}

impl Ledger for Faulty {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn know(&self, assets: &[Asset]) {
        if let Ok(inner) = self.reach() {
            inner.know(assets);
        }
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        reached!(self, inner => inner.hello())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(self.call(known, ops))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        reached!(self, inner => inner.query(known, key))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        reached!(self, inner => inner.fence(known, key))
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        reached!(self, inner => inner.totals())
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        reached!(self, inner => inner.operations(after, limit))
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        reached!(self, inner => inner.horizon(known, id, open))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        reached!(self, inner => inner.accounts(whose))
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        reached!(self, inner => inner.status(known, change))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        let holds = *self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.map(|_| {
            let enlisted: &dyn Enlist = self;
            enlisted
        })
    }
}

impl Enlist for Faulty {
    fn holds(&self) -> bool {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(false)
    }
}
