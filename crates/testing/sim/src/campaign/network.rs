//! The network to a ledger: it drops, delays, holds, duplicates, garbles and refuses, and may fall
//! silent or lead elsewhere.
//!
//! What is on the wire outlives the process that sent it: it arrives in the next one's time.

use super::Knob;
use super::fault_rates::FaultRates;
use super::oracles::Oracles;
use super::stats::Stats;
use crate::world::{Crash, Sim, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Enlist, Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong with one request that may have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    LostRequest,
    LostReply,
    Delayed,
    Held,
    Twice,
    TwiceLate,
    Garbage,
    Short,
    PanicBefore,
    PanicAfter,
    Refused,
    CrashBefore,
    CrashAfter,
}

impl Trouble {
    /// Every trouble that a call may meet.
    pub(super) const ALL: [Self; 13] = [
        Self::LostRequest,
        Self::LostReply,
        Self::Delayed,
        Self::Held,
        Self::Twice,
        Self::TwiceLate,
        Self::Garbage,
        Self::Short,
        Self::PanicBefore,
        Self::PanicAfter,
        Self::Refused,
        Self::CrashBefore,
        Self::CrashAfter,
    ];

    /// How often it happens.
    pub(super) const fn knob(self) -> Knob {
        match self {
            Self::LostRequest => Knob::LostRequest,
            Self::LostReply => Knob::LostReply,
            Self::Delayed => Knob::Delayed,
            Self::Held => Knob::Held,
            Self::Twice => Knob::Twice,
            Self::TwiceLate => Knob::TwiceLate,
            Self::Garbage => Knob::Garbage,
            Self::Short => Knob::Short,
            Self::PanicBefore => Knob::PanicBefore,
            Self::PanicAfter => Knob::PanicAfter,
            Self::Refused => Knob::Refused,
            Self::CrashBefore => Knob::CallCrashBefore,
            Self::CrashAfter => Knob::CallCrashAfter,
        }
    }

    /// Its name in the counts.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::LostRequest => "request lost",
            Self::LostReply => "reply lost",
            Self::Delayed => "delayed",
            Self::Held => "held and late",
            Self::Twice => "twice",
            Self::TwiceLate => "twice, late",
            Self::Garbage => "garbage",
            Self::Short => "short reply",
            Self::PanicBefore => "panic before",
            Self::PanicAfter => "panic after",
            Self::Refused => "refused",
            Self::CrashBefore => "crash before send",
            Self::CrashAfter => "crash, reply unread",
        }
    }
}

/// A request on the wire.
#[derive(Debug, Clone)]
struct Message {
    arrives: Millis,
    known: Known,
    ops: Arc<[Op]>,
}

/// What a link is made of.
#[derive(Clone)]
pub(super) struct LinkParts {
    pub sim: Sim,
    pub crash: Crash,
    pub stats: Stats,
    pub oracles: Oracles,
    /// The longest delay of one message.
    pub delay: Millis,
    pub troubles: FaultRates<Trouble>,
    /// What keeps questions from being answered.
    pub questions: FaultRates<()>,
}

/// A ledger at the end of a bad link.
pub(super) struct NetworkLink {
    id: LedgerId,
    holds: Option<bool>,
    inner: Mutex<Option<Arc<dyn Ledger>>>,
    link_parts: LinkParts,
    wire: Mutex<Vec<Message>>,
    silent: Mutex<bool>,
    misread: Mutex<bool>,
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn timeout<T>() -> Reply<T> {
    Reply::NoAnswer(Cause::of("TIMEOUT"))
}

/// The word of the answers to a request, where they are all alike.
fn words(reply: &Reply<Vec<Answer>>) -> &'static str {
    match reply {
        Reply::Answered(_, answers) => answers.first().map_or("nothing", Answer::word),
        Reply::OtherLedger(_) | Reply::NoAnswer(_) => "unknown",
    }
}

impl NetworkLink {
    /// The link to a ledger of this kind; it leads nowhere yet.
    pub(super) fn new(ledger: &dyn Ledger, link_parts: LinkParts) -> Self {
        Self {
            id: ledger.id(),
            holds: ledger.enlist().map(Enlist::holds),
            inner: Mutex::new(None),
            link_parts,
            wire: Mutex::default(),
            silent: Mutex::default(),
            misread: Mutex::default(),
        }
    }

    /// The link leads to this ledger from now on; nowhere where there is none.
    pub(super) fn lead(&self, inner: Option<Arc<dyn Ledger>>) {
        *held(&self.inner) = inner;
    }

    /// Nothing is answered any more, or again.
    pub(super) fn silence(&self, silent: bool) {
        *held(&self.silent) = silent;
    }

    /// The ledger's sums are read wrong from now on, or right again.
    pub(super) fn misread(&self, wrong: bool) {
        *held(&self.misread) = wrong;
    }

    /// Nothing is disturbed any more.
    pub(super) fn calm(&self) {
        self.silence(false);
        self.misread(false);
    }

    /// The sums as they are read here.
    fn read(&self, reply: Reply<Vec<(AssetId, Totals)>>) -> Reply<Vec<(AssetId, Totals)>> {
        let Reply::Answered(known, mut totals) = reply else { return reply };
        if *held(&self.misread)
            && let Some((_, first)) = totals.first_mut()
        {
            self.link_parts.stats.fault("sums misread");
            first.users += 1;
            first.world -= 1;
        }
        Reply::Answered(known, totals)
    }

    /// Whatever is on the wire arrives in its time.
    pub(super) fn deliver(self: &Arc<Self>) {
        let messages = held(&self.wire).clone();
        messages.into_iter().for_each(|message| self.deliver_one(message));
    }

    fn send(self: &Arc<Self>, known: Known, ops: Arc<[Op]>) {
        let wait = 1 + self.link_parts.troubles.below(self.link_parts.delay);
        let message =
            Message { arrives: self.link_parts.sim.time().saturating_add(wait), known, ops };
        held(&self.wire).push(message.clone());
        self.deliver_one(message);
    }

    fn deliver_one(self: &Arc<Self>, message: Message) {
        let link = self.clone();
        let wait = message.arrives.saturating_sub(self.link_parts.sim.time());
        self.link_parts.sim.start(async move {
            link.link_parts.sim.sleep(wait).await;
            let open = |on_wire: &Message| {
                on_wire.arrives != message.arrives || !Arc::ptr_eq(&on_wire.ops, &message.ops)
            };
            held(&link.wire).retain(open);
            let inner = held(&link.inner).clone();
            if let Some(inner) = inner {
                inner.execute(message.known, message.ops).await;
            }
        });
    }

    /// The ledger, unless it is gone or silent.
    fn reach(&self) -> Result<Arc<dyn Ledger>, Cause> {
        let inner = held(&self.inner).clone();
        inner.filter(|_| !*held(&self.silent)).ok_or(Cause::of("TIMEOUT"))
    }

    /// The ledger, for a question.
    fn asked(&self) -> Result<Arc<dyn Ledger>, Cause> {
        if self.link_parts.questions.draw().is_some() {
            self.link_parts.stats.fault("question unanswered");
            return Err(Cause::of("TIMEOUT"));
        }
        self.reach()
    }

    /// A trouble that met a request whose answer would have been this.
    fn met(&self, trouble: Trouble, ops: &[Op], word: &str) {
        let Some(op) = ops.first() else { return };
        let state = self.link_parts.oracles.state(op.key.id);
        self.link_parts.stats.cell(format!("{} | {state} | {word}", trouble.name()));
    }

    async fn call(self: Arc<Self>, known: Known, ops: Arc<[Op]>) -> Reply<Vec<Answer>> {
        breath().await;
        let Some(trouble) = self.link_parts.troubles.draw() else {
            let Ok(inner) = self.reach() else { return timeout() };
            let reply = inner.execute(known, ops).await;
            breath().await;
            return reply;
        };
        if let Some(lost) = self.before(trouble, known, &ops).await {
            return lost;
        }
        let Ok(inner) = self.reach() else { return timeout() };
        let reply = inner.execute(known, ops.clone()).await;
        self.met(trouble, &ops, words(&reply));
        breath().await;
        self.after(trouble, reply).await
    }

    /// What happens on the way to the ledger; some where the request does not arrive for now.
    async fn before(
        self: &Arc<Self>,
        trouble: Trouble,
        known: Known,
        ops: &Arc<[Op]>,
    ) -> Option<Reply<Vec<Answer>>> {
        let LinkParts { stats, crash, sim, delay, .. } = &self.link_parts;
        match trouble {
            Trouble::LostRequest | Trouble::Held => {
                stats.fault(trouble.name());
                self.met(trouble, ops, "unknown");
                if trouble == Trouble::Held {
                    self.send(known, ops.clone());
                }
                return Some(timeout());
            }
            Trouble::PanicBefore => {
                stats.fault(trouble.name());
                self.met(trouble, ops, "unknown");
                panic("the port panics before it asks");
            }
            Trouble::CrashBefore => {
                self.met(trouble, ops, "unknown");
                die(crash, "crashed before a call").await;
            }
            Trouble::Delayed => {
                stats.fault(trouble.name());
                sim.sleep(1 + self.link_parts.troubles.below(*delay)).await;
            }
            Trouble::Twice => {
                if let Ok(inner) = self.reach() {
                    inner.execute(known, ops.clone()).await;
                }
            }
            Trouble::TwiceLate => self.send(known, ops.clone()),
            Trouble::Refused => self.refuse(known, ops).await,
            Trouble::LostReply
            | Trouble::Garbage
            | Trouble::Short
            | Trouble::PanicAfter
            | Trouble::CrashAfter => {}
        }
        None
    }

    /// The ledger makes up its mind against them, for ever.
    async fn refuse(&self, known: Known, ops: &[Op]) {
        let Ok(inner) = self.reach() else { return };
        for op in ops.iter().filter(|op| op.key.leg.refusable()) {
            self.link_parts.oracles.may_fence(op.key.id);
            if let Reply::Answered(_, Stored::Found(_)) = inner.fence(known, op.key).await {
                self.link_parts.stats.fault(Trouble::Refused.name());
            }
        }
    }

    /// What happens on the way back.
    async fn after(&self, trouble: Trouble, reply: Reply<Vec<Answer>>) -> Reply<Vec<Answer>> {
        let LinkParts { stats, crash, .. } = &self.link_parts;
        let said = matches!(reply, Reply::Answered(..));
        let counted = || {
            if said {
                stats.fault(trouble.name());
            }
        };
        match (trouble, reply) {
            (Trouble::LostReply, _) => {
                counted();
                timeout()
            }
            (Trouble::Garbage, Reply::Answered(known, answers)) => {
                counted();
                let garbage = Answer::Unknown(Cause::of("GARBAGE"));
                Reply::Answered(known, vec![garbage; answers.len()])
            }
            (Trouble::Short, Reply::Answered(known, mut answers)) => {
                counted();
                answers.pop();
                Reply::Answered(known, answers)
            }
            (Trouble::PanicAfter, _) => {
                counted();
                panic("the port panics when it was done")
            }
            (Trouble::CrashAfter, reply) => {
                die(crash, "crashed after a call").await;
                reply
            }
            (_, reply) => reply,
        }
    }
}

/// The engine's end of a link.
pub(super) struct LinkEnd(pub(super) Arc<NetworkLink>);

/// Asks the ledger a question, unless it is gone.
macro_rules! asked {
    ($self:ident, $inner:ident => $ask:expr) => {
        Box::pin(async move {
            match $self.0.asked() {
                Ok($inner) => $ask.await,
                Err(cause) => Reply::NoAnswer(cause),
            }
        })
    };
}

impl Ledger for LinkEnd {
    fn id(&self) -> LedgerId {
        self.0.id
    }

    fn know(&self, assets: &[Asset]) {
        let inner = held(&self.0.inner).clone();
        inner.iter().for_each(|inner| inner.know(assets));
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        asked!(self, inner => inner.hello())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(self.0.clone().call(known, ops))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        asked!(self, inner => inner.query(known, key))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let reply = match self.0.reach() {
                Ok(inner) => inner.fence(known, key).await,
                Err(cause) => return Reply::NoAnswer(cause),
            };
            // the tombstone is stored, and no caller hears of it
            if self.0.link_parts.questions.draw().is_some() {
                self.0.link_parts.stats.fault("fence unanswered");
                return timeout();
            }
            reply
        })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        asked!(self, inner => async { self.0.read(inner.totals().await) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        asked!(self, inner => inner.operations(after, limit))
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        asked!(self, inner => inner.horizon(known, id, open))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        asked!(self, inner => inner.accounts(whose))
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        asked!(self, inner => inner.status(known, change))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        self.0.holds.map(|_| {
            let enlisted: &dyn Enlist = self;
            enlisted
        })
    }
}

impl Enlist for LinkEnd {
    fn holds(&self) -> bool {
        self.0.holds.unwrap_or(false)
    }
}
