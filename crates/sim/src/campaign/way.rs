//! The way to a ledger: it drops, delays, holds, duplicates, garbles and refuses, and may fall
//! silent or lead elsewhere.
//!
//! What is on the wire outlives the process that sent it: it arrives in the next one's time.

use super::Knob;
use super::tally::Tally;
use super::weather::Weather;
use super::witness::Witness;
use crate::world::{Crash, Sim, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::{
    Enlist, Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose,
};
use kernel::unit::{Key, Op, Operation};
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
struct Letter {
    arrives: Millis,
    known: Known,
    ops: Arc<[Op]>,
}

/// What a way is made of.
#[derive(Clone)]
pub(super) struct Kit {
    pub sim: Sim,
    pub crash: Crash,
    pub tally: Tally,
    pub witness: Witness,
    /// The longest delay.
    pub delay: Millis,
    pub troubles: Weather<Trouble>,
    /// What keeps questions from being answered.
    pub questions: Weather<()>,
}

/// A ledger at the end of a bad way.
pub(super) struct Way {
    id: LedgerId,
    holds: Option<bool>,
    inner: Mutex<Option<Arc<dyn Ledger>>>,
    kit: Kit,
    wire: Mutex<Vec<Letter>>,
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

fn timeout<T>() -> Heard<T> {
    Heard::Nothing(Cause::of("TIMEOUT"))
}

/// The word of the answers to a request, where they are all alike.
fn words(heard: &Heard<Vec<Answer>>) -> &'static str {
    match heard {
        Heard::Said(_, answers) => answers.first().map_or("nothing", Answer::word),
        Heard::Wrong(_) | Heard::Nothing(_) => "unknown",
    }
}

impl Way {
    /// The way to a ledger of this kind; it leads nowhere yet.
    pub(super) fn new(ledger: &dyn Ledger, kit: Kit) -> Self {
        Self {
            id: ledger.id(),
            holds: ledger.enlist().map(Enlist::holds),
            inner: Mutex::new(None),
            kit,
            wire: Mutex::default(),
            silent: Mutex::default(),
            misread: Mutex::default(),
        }
    }

    /// The way leads to this ledger from now on; nowhere where there is none.
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

    /// Nothing is in the way any more.
    pub(super) fn calm(&self) {
        self.silence(false);
        self.misread(false);
    }

    /// The sums as they are read here.
    fn read(&self, heard: Heard<Vec<(AssetId, Totals)>>) -> Heard<Vec<(AssetId, Totals)>> {
        let Heard::Said(known, mut totals) = heard else { return heard };
        if *held(&self.misread)
            && let Some((_, first)) = totals.first_mut()
        {
            self.kit.tally.fault("sums misread");
            first.users += 1;
            first.world -= 1;
        }
        Heard::Said(known, totals)
    }

    /// Whatever is on the wire arrives in its time.
    pub(super) fn deliver(self: &Arc<Self>) {
        let letters = held(&self.wire).clone();
        letters.into_iter().for_each(|letter| self.carry(letter));
    }

    fn post(self: &Arc<Self>, known: Known, ops: Arc<[Op]>) {
        let wait = 1 + self.kit.troubles.below(self.kit.delay);
        let letter = Letter { arrives: self.kit.sim.time().saturating_add(wait), known, ops };
        held(&self.wire).push(letter.clone());
        self.carry(letter);
    }

    fn carry(self: &Arc<Self>, letter: Letter) {
        let way = self.clone();
        let wait = letter.arrives.saturating_sub(self.kit.sim.time());
        self.kit.sim.start(async move {
            way.kit.sim.sleep(wait).await;
            let open = |on_wire: &Letter| {
                on_wire.arrives != letter.arrives || !Arc::ptr_eq(&on_wire.ops, &letter.ops)
            };
            held(&way.wire).retain(open);
            let inner = held(&way.inner).clone();
            if let Some(inner) = inner {
                inner.execute(letter.known, letter.ops).await;
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
        if self.kit.questions.draw().is_some() {
            self.kit.tally.fault("question unanswered");
            return Err(Cause::of("TIMEOUT"));
        }
        self.reach()
    }

    /// A trouble that met a request whose answer would have been this.
    fn met(&self, trouble: Trouble, ops: &[Op], word: &str) {
        let Some(op) = ops.first() else { return };
        let state = self.kit.witness.state(op.key.id);
        self.kit.tally.cell(format!("{} | {state} | {word}", trouble.name()));
    }

    async fn call(self: Arc<Self>, known: Known, ops: Arc<[Op]>) -> Heard<Vec<Answer>> {
        breath().await;
        let Some(trouble) = self.kit.troubles.draw() else {
            let Ok(inner) = self.reach() else { return timeout() };
            let heard = inner.execute(known, ops).await;
            breath().await;
            return heard;
        };
        if let Some(lost) = self.before(trouble, known, &ops).await {
            return lost;
        }
        let Ok(inner) = self.reach() else { return timeout() };
        let heard = inner.execute(known, ops.clone()).await;
        self.met(trouble, &ops, words(&heard));
        breath().await;
        self.after(trouble, heard).await
    }

    /// What happens on the way there; some where the request does not arrive for now.
    async fn before(
        self: &Arc<Self>,
        trouble: Trouble,
        known: Known,
        ops: &Arc<[Op]>,
    ) -> Option<Heard<Vec<Answer>>> {
        let Kit { tally, crash, sim, delay, .. } = &self.kit;
        match trouble {
            Trouble::LostRequest | Trouble::Held => {
                tally.fault(trouble.name());
                self.met(trouble, ops, "unknown");
                if trouble == Trouble::Held {
                    self.post(known, ops.clone());
                }
                return Some(timeout());
            }
            Trouble::PanicBefore => {
                tally.fault(trouble.name());
                self.met(trouble, ops, "unknown");
                panic("the port panics before it asks");
            }
            Trouble::CrashBefore => {
                self.met(trouble, ops, "unknown");
                die(crash, "crashed before a call").await;
            }
            Trouble::Delayed => {
                tally.fault(trouble.name());
                sim.sleep(1 + self.kit.troubles.below(*delay)).await;
            }
            Trouble::Twice => {
                if let Ok(inner) = self.reach() {
                    inner.execute(known, ops.clone()).await;
                }
            }
            Trouble::TwiceLate => self.post(known, ops.clone()),
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
            self.kit.witness.may_fence(op.key.id);
            if let Heard::Said(_, Stored::Found(_)) = inner.fence(known, op.key).await {
                self.kit.tally.fault(Trouble::Refused.name());
            }
        }
    }

    /// What happens on the way back.
    async fn after(&self, trouble: Trouble, heard: Heard<Vec<Answer>>) -> Heard<Vec<Answer>> {
        let Kit { tally, crash, .. } = &self.kit;
        let said = matches!(heard, Heard::Said(..));
        let counted = || {
            if said {
                tally.fault(trouble.name());
            }
        };
        match (trouble, heard) {
            (Trouble::LostReply, _) => {
                counted();
                timeout()
            }
            (Trouble::Garbage, Heard::Said(known, answers)) => {
                counted();
                let garbage = Answer::Unknown(Cause::of("GARBAGE"));
                Heard::Said(known, vec![garbage; answers.len()])
            }
            (Trouble::Short, Heard::Said(known, mut answers)) => {
                counted();
                answers.pop();
                Heard::Said(known, answers)
            }
            (Trouble::PanicAfter, _) => {
                counted();
                panic("the port panics when it was done")
            }
            (Trouble::CrashAfter, heard) => {
                die(crash, "crashed after a call").await;
                heard
            }
            (_, heard) => heard,
        }
    }
}

/// The engine's end of a way.
pub(super) struct End(pub(super) Arc<Way>);

/// Asks the ledger a question, unless it is gone.
macro_rules! asked {
    ($self:ident, $inner:ident => $ask:expr) => {
        Box::pin(async move {
            match $self.0.asked() {
                Ok($inner) => $ask.await,
                Err(cause) => Heard::Nothing(cause),
            }
        })
    };
}

impl Ledger for End {
    fn id(&self) -> LedgerId {
        self.0.id
    }

    fn know(&self, assets: &[Asset]) {
        let inner = held(&self.0.inner).clone();
        inner.iter().for_each(|inner| inner.know(assets));
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        asked!(self, inner => inner.hello())
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(self.0.clone().call(known, ops))
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        asked!(self, inner => inner.query(known, key))
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let heard = match self.0.reach() {
                Ok(inner) => inner.fence(known, key).await,
                Err(cause) => return Heard::Nothing(cause),
            };
            // the tombstone stands, and nobody hears of it
            if self.0.kit.questions.draw().is_some() {
                self.0.kit.tally.fault("fence unanswered");
                return timeout();
            }
            heard
        })
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        asked!(self, inner => async { self.0.read(inner.totals().await) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        asked!(self, inner => inner.operations(after, limit))
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        asked!(self, inner => inner.horizon(known, id, open))
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        asked!(self, inner => inner.accounts(whose))
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        asked!(self, inner => inner.status(known, change))
    }

    fn enlist(&self) -> Option<&dyn Enlist> {
        self.0.holds.map(|_| {
            let enlisted: &dyn Enlist = self;
            enlisted
        })
    }
}

impl Enlist for End {
    fn holds(&self) -> bool {
        self.0.holds.unwrap_or(false)
    }
}
