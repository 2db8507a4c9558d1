//! The life of a flow as types: a flow is an enum of states and one exhaustive `match`.

use crate::agreed::Agreed;
use crate::answer::Evidence;
use crate::flow::booking::Booking;
use crate::message::{Emission, Message};
use crate::record::{Facts, Record};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

pub use crate::flow::share::Share;

/// States, acts and rules are words: each has a list of all values, a stored number and the source's
/// spelling.
pub trait Word: Copy + Eq + Debug + 'static {
    /// Every value; the place in this list is the value's index, which is never stored.
    const ALL: &'static [Self];
    /// The source's own spelling.
    fn name(self) -> &'static str;
    /// The stored number. Never reused, never ordered on.
    fn code(self) -> i16;
}

/// Declares an enum of words: `words!(pub State { Init = 0 "INIT", … })`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($value:ident = $code:literal $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($value),* }
        impl $crate::flow::life::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$value),*];
            fn name(self) -> &'static str { match self { $(Self::$value => $text),* } }
            fn code(self) -> i16 { match self { $(Self::$value => $code),* } }
        }
    };
}

/// No value: the rules of a flow that decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Never {}

impl Word for Never {
    const ALL: &'static [Self] = &[];
    fn name(self) -> &'static str {
        match self {}
    }
    fn code(self) -> i16 {
        match self {}
    }
}

/// What happens in a state. Each kind of step spells every answer that it can get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<S, A, R = Never> {
    /// Write the intent before the call that it allows.
    Claim {
        /// The state that calls.
        to: S,
    },
    /// A pure rule over the record and gathered facts; *not yet* stays without a trace.
    Decide {
        /// The rule that is asked.
        rule: R,
        /// The state after the rule says yes.
        yes: S,
        /// The state after the rule says no.
        no: S,
    },
    /// A keyed leg at a ledger, or a question.
    Call {
        /// The act that is made.
        act: A,
        /// The state after [`Via::Done`]: the effect exists.
        done: S,
        /// The effect never will.
        rejected: S,
        /// The outcome is not known.
        unknown: S,
    },
    /// A once-act on a chain, answered for each member of its attempt.
    Send {
        /// The act that is made.
        act: A,
        /// The effect exists and is final.
        done: S,
        /// The effect never will.
        rejected: S,
        /// This attempt can never land.
        dead: S,
        /// The outcome is not known.
        unknown: S,
    },
    /// A leg that cannot be refused: a refund at a ledger.
    Push {
        /// The act that is made.
        act: A,
        /// The state after [`Via::Done`]: the effect exists.
        done: S,
        /// The outcome is not known.
        unknown: S,
    },
    /// Final, for ever: nothing leads on from here.
    End,
}

/// Where the money is while a transfer is in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Still, or again, at its source.
    AtSource,
    /// Has left the source and has not reached the target.
    InFlight,
    /// It has arrived at its target.
    AtTarget,
    /// Kept by us as fees.
    Fees,
    /// Held for a person.
    Quarantine,
}

/// How an act may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The other side knows our key: the same call again is harmless.
    Repeatable,
    /// Needs a stored intent; a second one is a second effect.
    Once,
    /// Only asks: it changes nothing at the other side.
    Question,
}

/// One effect on one ledger or chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Leg {
    /// Takes from the source: holds it, or debits at once.
    Withdraw,
    /// Gives to the target.
    Deposit,
    /// Turns a hold into a debit.
    Settle,
    /// Gives back to the source.
    Refund,
    /// Both sides at once inside one system.
    Move,
    /// Takes money aside for a person.
    Quarantine,
    /// Costs us something and moves none of the transfer's money.
    Cost,
}

impl Leg {
    /// Every leg, in the order of their declaration.
    pub const ALL: &'static [Self] = &[
        Self::Withdraw,
        Self::Deposit,
        Self::Settle,
        Self::Refund,
        Self::Move,
        Self::Quarantine,
        Self::Cost,
    ];

    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Withdraw => "WITHDRAW",
            Self::Deposit => "DEPOSIT",
            Self::Settle => "SETTLE",
            Self::Refund => "REFUND",
            Self::Move => "MOVE",
            Self::Quarantine => "QUARANTINE",
            Self::Cost => "COST",
        }
    }

    /// The leg of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|leg| leg.name() == text)
    }

    /// A ledger may refuse it, and then keeps the refusal.
    pub const fn refusable(self) -> bool {
        matches!(self, Self::Withdraw | Self::Deposit | Self::Move)
    }

    /// A ledger elsewhere may be asked to fence it (`ledgers.md` §1).
    pub const fn fenceable(self) -> bool {
        matches!(self, Self::Withdraw | Self::Deposit)
    }

    /// Giving, giving back and setting aside: at most one of them may ever have an effect.
    pub const fn never_with(self, other: Self) -> bool {
        const fn group(leg: Leg) -> u8 {
            match leg {
                Leg::Deposit | Leg::Move => 1,
                Leg::Refund => 2,
                Leg::Quarantine => 3,
                Leg::Withdraw | Leg::Settle | Leg::Cost => 0,
            }
        }
        group(self) != 0 && group(other) != 0 && group(self) != group(other)
    }

    /// Which (from, to) places `done` of this leg may lead between.
    pub const fn moves(self) -> &'static [(Place, Place)] {
        use Place::{AtSource, AtTarget, InFlight, Quarantine};
        match self {
            Self::Withdraw => &[(AtSource, InFlight)],
            Self::Deposit => &[(InFlight, AtTarget)],
            Self::Refund => &[(InFlight, AtSource)],
            Self::Move => &[(AtSource, AtTarget)],
            Self::Quarantine => &[(Quarantine, Quarantine)],
            Self::Settle | Self::Cost => {
                &[(AtSource, AtSource), (InFlight, InFlight), (AtTarget, AtTarget)]
            }
        }
    }
}

/// What brings a flow's transfers on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// The engine's stations: what is due is done.
    Stations,
    /// Events: a unit writes a claim only with its inbox row. The scanner executes nothing, and emits again
    /// what is due.
    Events,
}

/// A group of consumers of a flow that events drive. It takes the messages of one topic, and moves their
/// transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerGroup {
    /// The name under which the bus keeps its offsets, and the journal its inbox.
    pub name: &'static str,
    /// The one topic that it consumes.
    pub topic: &'static str,
}

/// The group that compares the messages of a flow that events drive with the history of their transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditGroup {
    /// The name under which the bus keeps its offsets, and the journal its inbox.
    pub name: &'static str,
    /// Every topic of the flow.
    pub topics: &'static [&'static str],
}

/// When a caller that opens a transfer is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// When it has ended, or after `transfer.sync_timeout_ms`.
    AtEnd,
    /// When its opening is durable.
    AtOpening,
}

/// How long a transfer is normally in a state before an operator is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normal {
    /// No call is made here and no time is set: a claim, a rule that decides at once, an end.
    Passing,
    /// A call without a time of its own: it counts from the opening, as `alerts.after_seconds` says.
    Usual,
    /// A call of the target that may take as long as `alerts.target_pending_seconds` says.
    Configured,
    /// This many seconds from the event that led here.
    Seconds(u32),
}

impl Normal {
    /// The seconds from the event that led here, where the state has a time of its own.
    pub fn seconds(self, configured: u64) -> Option<u64> {
        match self {
            Self::Passing | Self::Usual => None,
            Self::Configured => Some(configured),
            Self::Seconds(seconds) => Some(u64::from(seconds)),
        }
    }
}

/// Where the money is of a transfer that ended, or that waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The target has the money.
    Paid,
    /// It left the source, and the source has it again.
    GivenBack,
    /// It never left the source.
    Failed,
    /// It was kept as fees.
    Kept,
    /// It is held in quarantine.
    Held,
}

impl Outcome {
    /// Every outcome, in the order of the declaration.
    pub const ALL: &'static [Self] =
        &[Self::Paid, Self::GivenBack, Self::Failed, Self::Kept, Self::Held];

    /// The word for it in the types of events.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paid => "completed",
            Self::GivenBack => "rolled_back",
            Self::Failed => "failed",
            Self::Kept => "kept",
            Self::Held => "held",
        }
    }
}

/// The reader of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The owner of the transfer; of a swap, everyone who knows its id.
    User,
    /// An operator of the service.
    Operator,
}

impl Audience {
    /// Every audience, users first.
    pub const ALL: &'static [Self] = &[Self::User, Self::Operator];
}

/// The end of the transfer at which an act is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Where the money comes from.
    Source,
    /// Where the money goes.
    Target,
}

/// The declaration of an act, beside its name.
#[derive(Debug, Clone, Copy)]
pub struct Meta<A: 'static> {
    /// How it may be repeated.
    pub manner: Manner,
    /// Its effect; a question has none.
    pub leg: Option<Leg>,
    /// Where it is made.
    pub side: Side,
    /// How much its effect moves; a question moves nothing.
    pub share: Option<Share>,
    /// A question asks after this act; its `done` is the second phase of that act's leg.
    pub about: Option<A>,
    /// `done` of this act takes back the effect of these.
    pub undoes: &'static [A],
}

impl<A> Meta<A> {
    /// An act that needs a stored intent.
    pub const fn once(leg: Leg, side: Side, share: Share) -> Self {
        Self::effect(Manner::Once, leg, side, share)
    }

    /// An act whose key the other side knows.
    pub const fn repeatable(leg: Leg, side: Side, share: Share) -> Self {
        Self::effect(Manner::Repeatable, leg, side, share)
    }

    /// An act that only asks; `about`: after the outcome of that one.
    pub const fn question(side: Side, about: Option<A>) -> Self {
        Self { manner: Manner::Question, leg: None, side, share: None, about, undoes: &[] }
    }

    const fn effect(manner: Manner, leg: Leg, side: Side, share: Share) -> Self {
        Self { manner, leg: Some(leg), side, share: Some(share), about: None, undoes: &[] }
    }
}

/// The answer of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// Go the one way.
    Yes,
    /// Go the other way.
    No,
    /// Stay; come back later. No edge, no event.
    NotYet,
}

/// The answer to which an edge of the table belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// The intent was written.
    Claim,
    /// The rule said yes.
    Yes,
    /// The rule said no.
    No,
    /// The answer was [`crate::answer::Answer::Done`].
    Done,
    /// The answer was [`crate::answer::Answer::Rejected`].
    Rejected,
    /// The answer was [`crate::answer::Answer::Dead`].
    Dead,
    /// The answer was [`crate::answer::Answer::Unknown`].
    Unknown,
}

/// A flow: its states are the implementor.
pub trait Life: Word {
    /// The acts, which are done at other systems.
    type Act: Word;
    /// The rules, by which the engine itself decides.
    type Rule: Word;
    /// The flow's stored name.
    const FLOW: &'static str;
    /// Where a transfer begins.
    const START: Self;
    /// What brings its transfers on.
    const DRIVER: Driver;
    /// The groups that move its transfers, where events drive it; one for each topic.
    const CONSUMERS: &'static [ConsumerGroup] = &[];
    /// The group that audits its messages, where it has one.
    const AUDIT: Option<AuditGroup> = None;
    /// When a caller is answered.
    const RESPONDS: Response = Response::AtEnd;
    /// The event of a transfer that the providers of its chain hold up: written at the first try that has no answer
    /// because of them, and again only after the transfer has gone on. `None`: its history shows no such trouble.
    const TROUBLE: Option<&'static str> = None;
    /// The whole life of a transfer.
    fn step(self) -> Step<Self, Self::Act, Self::Rule>;
    /// Where the money is.
    fn money(self) -> Place;
    /// What the books of chains say of a transfer in this state. `None`: the flow keeps no such books.
    fn booking(self) -> Option<Booking> {
        None
    }
    /// Where two persons may allow one more refund of a transfer whose money is held: the events of its history that
    /// count how often one was refused. `None`: nothing is released in this state.
    fn releases(self) -> Option<&'static [&'static str]> {
        None
    }
    /// What an act is.
    fn act(act: Self::Act) -> Meta<Self::Act>;
    /// Whether a rule reads facts from outside the record. They are gathered before each decision of such
    /// a rule, which is then a unit of its own, and are stored with it.
    fn gathers(_: Self::Rule) -> bool {
        true
    }
    /// The answer of a rule about a record, with the facts.
    fn rule(rule: Self::Rule, record: &Record, facts: &Facts) -> Ruling;
    /// Whether a rule's yes accepts the transfer: its unit then writes what [`Life::agreement`] says.
    fn agrees(_: Self::Rule) -> bool {
        false
    }
    /// What is agreed where a rule that accepts says yes. `None`: not known yet, and the yes is *not yet*.
    fn agreement(_: Self::Rule, _: &Record, _: &Facts) -> Option<Agreed> {
        None
    }
    /// The stored code with which a rule that said no ends a transfer; the caller gets it. `None`: the
    /// state that is reached says it.
    fn refusal(_: Self::Rule, _: &Facts) -> Option<&'static str> {
        None
    }
    /// The end of a transfer that two persons cancel in this state. It is allowed only where nothing is
    /// under way and no act that moves the money may have an effect; [`crate::answer::Answer::Rejected`]
    /// leads there, and the journal bears it out. `None`: no verdict ends it here.
    fn cancelled(self) -> Option<Self> {
        None
    }
    /// The event that leaving this state by that edge writes into the history.
    fn event(self, via: Via) -> &'static str;
    /// The message of a transfer that enters this state, or that is in it when its time has come. The
    /// record's head may still be that of the state before.
    fn emits(self, _: &Record, _: Emission) -> Option<Message> {
        None
    }
    /// How long a transfer is normally in this state.
    fn normal(self) -> Normal;
    /// Where the money is, at an end and while it is held for a person.
    fn outcome(self) -> Option<Outcome>;
    /// The sentence for a transfer in this state. `error`: its last refusal or cause.
    fn message(self, audience: Audience, error: Option<&Evidence>) -> String;
}
