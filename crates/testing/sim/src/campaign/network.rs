//! Simulates the network to a ledger: it drops, delays, holds, duplicates, garbles and refuses messages, stops
//! answering, or leads to another ledger.
//!
//! A message on the network outlives the process that sent it: it may arrive while the next process runs.

use super::Knob;
use super::fault_rates::FaultRates;
use super::oracles::Oracles;
use super::stats::Stats;
use crate::ledger::LedgerRoute;
use crate::world::{Crash, Sim, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, LedgerId, Millis};
use kernel::operation::{Key, Known, Op};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{Ledger, Reply, Stored, Totals};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testkit::wrapper::LedgerWrapper;

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
    pub route: LedgerRoute,
    link_parts: LinkParts,
    wire: Mutex<Vec<Message>>,
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
    /// The link to this ledger; it leads nowhere yet.
    pub(super) fn new(id: LedgerId, link_parts: LinkParts) -> Self {
        let LinkParts { questions, stats, .. } = link_parts.clone();
        let loses = move || {
            let lost = questions.draw().is_some();
            if lost {
                stats.fault("question unanswered");
            }
            lost
        };
        let (wire, misread) = (Mutex::default(), Mutex::default());
        Self { route: LedgerRoute::new(id, loses), link_parts, wire, misread }
    }

    /// The ledger's sums are read wrong from now on, or right again.
    pub(super) fn misread(&self, wrong: bool) {
        *held(&self.misread) = wrong;
    }

    /// Nothing is disturbed any more.
    pub(super) fn calm(&self) {
        self.route.silence(false);
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
            if let Some(inner) = link.route.leads_to() {
                inner.execute(message.known, message.ops).await;
            }
        });
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
            let Ok(inner) = self.route.reach() else { return timeout() };
            let reply = inner.execute(known, ops).await;
            breath().await;
            return reply;
        };
        if let Some(lost) = self.before(trouble, known, &ops).await {
            return lost;
        }
        let Ok(inner) = self.route.reach() else { return timeout() };
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
                if let Ok(inner) = self.route.reach() {
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
        let Ok(inner) = self.route.reach() else { return };
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

impl LedgerWrapper for LinkEnd {
    fn inner(&self) -> &dyn Ledger {
        &self.0.route
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(self.0.clone().call(known, ops))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let reply = match self.0.route.reach() {
                Ok(ledger) => ledger.fence(known, key).await,
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
        Box::pin(async move { self.0.read(self.inner().totals().await) })
    }
}
