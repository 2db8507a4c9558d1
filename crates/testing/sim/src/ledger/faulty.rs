//! The faulty network to a ledger: it loses requests and replies, delays and garbles them, or leads to another
//! ledger.

use super::route::LedgerRoute;
use crate::event_log::{EventLog, LoggedEvent};
use crate::world::{Crash, SplitMix, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::ids::{LedgerId, Millis};
use kernel::operation::{Known, Op};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testkit::wrapper::LedgerWrapper;

/// What goes wrong with one call that may have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The request never arrives.
    LoseRequest,
    /// The effect exists, and its reply never arrives.
    LoseReply,
    /// The request arrives this time later.
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
    /// Every request arrives twice.
    twice: bool,
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

/// A ledger at the end of a bad link.
pub struct Faulty {
    pub(crate) route: LedgerRoute,
    clock: Arc<dyn Clock>,
    crash: Crash,
    plan: Mutex<Plan>,
    event_log: Mutex<EventLog>,
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("id", &self.route.id()).finish_non_exhaustive()
    }
}

impl Faulty {
    /// A link to this ledger that leads nowhere yet, and on which nothing goes wrong.
    pub fn new(id: LedgerId, clock: Arc<dyn Clock>, crash: Crash) -> Self {
        let (plan, event_log) = (Mutex::default(), Mutex::default());
        Self { route: LedgerRoute::new(id, || false), clock, crash, plan, event_log }
    }

    fn plan_now(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is asked from now on is told there.
    pub fn tell(&self, event_log: EventLog) {
        *self.event_log.lock().unwrap_or_else(PoisonError::into_inner) = event_log;
    }

    fn told(&self, n: u64, ops: &[Op]) {
        let event_log = self.event_log.lock().unwrap_or_else(PoisonError::into_inner);
        if event_log.is_on() {
            let keys = ops.iter().map(|op| op.key).collect();
            event_log.add(LoggedEvent::Call { ledger: self.route.id(), n, keys });
        }
    }

    /// Number of calls that were begun and may have an effect.
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
        let inner = match self.route.reach() {
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

impl LedgerWrapper for Faulty {
    fn inner(&self) -> &dyn Ledger {
        &self.route
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(self.call(known, ops))
    }
}
