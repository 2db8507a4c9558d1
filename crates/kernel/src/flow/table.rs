//! A flow's table without its types: engine, checks and diagrams work on it for every flow alike.

use crate::agreed::Agreed;
use crate::answer::Evidence;
use crate::flow::booking::Booking;
use crate::flow::life::{
    Audience, AuditGroup, ConsumerGroup, Driver, Leg, Life, Manner, Meta, Normal, Outcome, Place,
    Response, Ruling, Share, Side, Step, Via, Word,
};
use crate::ids::FlowId;
use crate::message::{Emission, Message};
use crate::record::{Facts, Record};

pub use crate::flow::state::S;

/// An act's index in its table; never stored.
pub type A = u8;
/// A rule's index in its table; never stored.
pub type R = u8;

/// The row of one state.
#[derive(Debug, Clone)]
pub struct StateRow {
    /// The state's spelling in histories and filters, as its source spells it.
    pub name: &'static str,
    /// The number that rows store for the state; it is never reused.
    pub code: i16,
    /// Where the money is.
    pub money: Place,
    /// The step that is taken from here, with the states that it leads to.
    pub step: Step<S, A, R>,
    /// How long a transfer is normally in this state.
    pub normal: Normal,
    /// What the books of chains say of it, in a flow that keeps them.
    pub booking: Option<Booking>,
    /// The events that count refused refunds, where two persons may allow one more.
    pub releases: Option<&'static [&'static str]>,
    /// Where the money is, at an end or in a hold.
    pub outcome: Option<Outcome>,
    /// The end of a transfer that two persons cancel here. It is no edge: the engine alone never takes it.
    pub cancelled: Option<S>,
}

/// The row of one act.
#[derive(Debug, Clone)]
pub struct ActRow {
    /// Its name, a metric label.
    pub name: &'static str,
    /// How it may be repeated.
    pub manner: Manner,
    /// The effect that the act has; `None` for a question.
    pub leg: Option<Leg>,
    /// Where it is made.
    pub side: Side,
    /// How much it moves.
    pub share: Option<Share>,
    /// The act that a question asks after.
    pub about: Option<A>,
    /// The acts that it takes back.
    pub undoes: Vec<A>,
}

/// One flow's whole table, with indexes in place of its own types.
#[derive(Debug, Clone)]
pub struct Table {
    /// The flow's stored name.
    pub flow: &'static str,
    /// Where a transfer begins.
    pub start: S,
    /// What brings its transfers on.
    pub driver: Driver,
    /// The groups that move its transfers, where events drive it.
    pub consumers: &'static [ConsumerGroup],
    /// The group that audits its messages, where it has one.
    pub audit: Option<AuditGroup>,
    /// When a caller that opens one is answered.
    pub responds: Response,
    /// The event of a transfer that the providers of its chain hold up, where the flow's history shows that.
    pub trouble: Option<&'static str>,
    /// Every state, by index.
    pub states: Vec<StateRow>,
    /// Every act, by index.
    pub acts: Vec<ActRow>,
    /// The names of the rules, by index.
    pub rules: Vec<&'static str>,
    /// Whether a rule reads facts from outside the record, by index.
    pub gathers: Vec<bool>,
    /// Whether a rule's yes accepts the transfer, by index.
    pub agrees: Vec<bool>,
    /// What is agreed with the yes of a rule that accepts.
    pub agreement: fn(R, &Record, &Facts) -> Option<Agreed>,
    /// What a rule says.
    pub rule: fn(R, &Record, &Facts) -> Ruling,
    /// Why a rule's no ends a transfer, as a stored code.
    pub refusal: fn(R, &Facts) -> Option<&'static str>,
    /// The history's word for an edge.
    pub event: fn(S, Via) -> &'static str,
    /// The message of a state that is entered, or due.
    pub emits: fn(S, &Record, Emission) -> Option<Message>,
    /// The sentence for a transfer in a state.
    pub message: fn(S, Audience, Option<&Evidence>) -> String,
}

/// The place of a word in its list.
fn index<W: Word>(word: W) -> u8 {
    let at = W::ALL.iter().position(|w| *w == word).unwrap_or(W::ALL.len());
    u8::try_from(at).unwrap_or(u8::MAX)
}

/// The same step with indexes for words.
fn erased<S: Word, A: Word, R: Word>(step: Step<S, A, R>) -> Step<u8, u8, u8> {
    match step {
        Step::Claim { to } => Step::Claim { to: index(to) },
        Step::Decide { rule, yes, no } => {
            Step::Decide { rule: index(rule), yes: index(yes), no: index(no) }
        }
        Step::Call { act, done, rejected, unknown } => Step::Call {
            act: index(act),
            done: index(done),
            rejected: index(rejected),
            unknown: index(unknown),
        },
        Step::Send { act, done, rejected, dead, unknown } => Step::Send {
            act: index(act),
            done: index(done),
            rejected: index(rejected),
            dead: index(dead),
            unknown: index(unknown),
        },
        Step::Push { act, done, unknown } => {
            Step::Push { act: index(act), done: index(done), unknown: index(unknown) }
        }
        Step::End => Step::End,
    }
}

fn act_row<L: Life>(act: L::Act) -> ActRow {
    let Meta { manner, leg, side, share, about, undoes } = L::act(act);
    ActRow {
        name: act.name(),
        manner,
        leg,
        side,
        share,
        about: about.map(index),
        undoes: undoes.iter().map(|a| index(*a)).collect(),
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "an index of a table comes from that table, checked when it is made"
)]
impl Table {
    /// The table of a flow. Each flow is erased once, at start.
    pub fn of<L: Life>() -> Self {
        let state = |s: &L| StateRow {
            name: s.name(),
            code: s.code(),
            money: s.money(),
            booking: s.booking(),
            releases: s.releases(),
            step: erased(s.step()),
            normal: s.normal(),
            outcome: s.outcome(),
            cancelled: s.cancelled().map(index),
        };
        Self {
            flow: L::FLOW,
            start: index(L::START),
            driver: L::DRIVER,
            consumers: L::CONSUMERS,
            audit: L::AUDIT,
            responds: L::RESPONDS,
            trouble: L::TROUBLE,
            states: L::ALL.iter().map(state).collect(),
            acts: L::Act::ALL.iter().map(|a| act_row::<L>(*a)).collect(),
            rules: L::Rule::ALL.iter().map(|r| r.name()).collect(),
            gathers: L::Rule::ALL.iter().map(|r| L::gathers(*r)).collect(),
            agrees: L::Rule::ALL.iter().map(|r| L::agrees(*r)).collect(),
            agreement: |r, record, facts| {
                let rule = L::Rule::ALL.get(usize::from(r))?;
                L::agreement(*rule, record, facts)
            },
            rule: |r, record, facts| match L::Rule::ALL.get(usize::from(r)) {
                Some(rule) => L::rule(*rule, record, facts),
                None => Ruling::NotYet,
            },
            refusal: |r, facts| {
                L::Rule::ALL.get(usize::from(r)).and_then(|rule| L::refusal(*rule, facts))
            },
            event: |s, via| L::ALL.get(usize::from(s)).map_or("", |state| state.event(via)),
            emits: |s, record, emission| {
                L::ALL.get(usize::from(s)).and_then(|state| state.emits(record, emission))
            },
            message: |s, audience, error| {
                let state = L::ALL.get(usize::from(s));
                state.map_or_else(String::new, |state| state.message(audience, error))
            },
        }
    }

    /// The index of every state, in their order.
    pub fn all(&self) -> impl Iterator<Item = S> + use<> {
        0..u8::try_from(self.states.len()).unwrap_or(u8::MAX)
    }

    /// The row of a state of this table.
    pub fn state(&self, s: S) -> &StateRow {
        &self.states[usize::from(s)]
    }

    /// The step of a state.
    pub fn step(&self, s: S) -> Step<S, A, R> {
        self.state(s).step
    }

    /// The row of an act of this table.
    pub fn act(&self, a: A) -> &ActRow {
        &self.acts[usize::from(a)]
    }

    /// The state of that name.
    pub fn named(&self, name: &str) -> Option<S> {
        self.all().find(|s| self.state(*s).name == name)
    }

    /// The names of its groups of consumers.
    pub fn groups(&self) -> impl Iterator<Item = &'static str> + use<> {
        let (consumers, audit) = (self.consumers, self.audit);
        consumers.iter().map(|group| group.name).chain(audit.map(|group| group.name))
    }

    /// The state of that stored number.
    pub fn coded(&self, code: i16) -> Option<S> {
        self.all().find(|s| self.state(*s).code == code)
    }

    /// The first end with that outcome.
    pub fn ending(&self, outcome: Outcome) -> Option<S> {
        self.all().find(|s| self.ends(*s) && self.state(*s).outcome == Some(outcome))
    }

    /// The act that a state makes.
    pub fn makes(&self, s: S) -> Option<A> {
        match self.step(s) {
            Step::Call { act, .. } | Step::Send { act, .. } | Step::Push { act, .. } => Some(act),
            Step::Claim { .. } | Step::Decide { .. } | Step::End => None,
        }
    }

    /// The rule that decides a state by facts from outside the record.
    pub fn gathers(&self, s: S) -> Option<R> {
        let Step::Decide { rule, .. } = self.step(s) else { return None };
        self.gathers.get(usize::from(rule)).copied().unwrap_or(true).then_some(rule)
    }

    /// True where the yes of a state's rule accepts the transfer.
    pub fn accepts(&self, s: S) -> bool {
        let Step::Decide { rule, .. } = self.step(s) else { return false };
        self.agrees.get(usize::from(rule)).copied().unwrap_or(false)
    }

    /// The question that a state asks.
    pub fn asks(&self, s: S) -> Option<A> {
        self.makes(s).filter(|act| self.act(*act).manner == Manner::Question)
    }

    /// True for a flow that gathers facts or asks questions in some state.
    pub fn learns(&self) -> bool {
        self.all().any(|s| self.gathers(s).is_some() || self.asks(s).is_some())
    }

    /// True where a state makes a once-act.
    pub fn sends(&self, s: S) -> bool {
        matches!(self.step(s), Step::Send { .. })
    }

    /// True for a flow whose transfers move by messages alone.
    pub fn follows_events(&self) -> bool {
        self.driver == Driver::Events
    }

    /// True for a flow that moves money inside one system.
    pub fn moves_inside(&self) -> bool {
        self.acts.iter().any(|row| row.leg == Some(Leg::Move))
    }

    /// True where nothing happens any more.
    pub fn ends(&self, s: S) -> bool {
        matches!(self.step(s), Step::End)
    }

    /// The ways out of a state.
    pub fn edges(&self, s: S) -> Vec<(Via, S)> {
        match self.step(s) {
            Step::Claim { to } => vec![(Via::Claim, to)],
            Step::Decide { yes, no, .. } => vec![(Via::Yes, yes), (Via::No, no)],
            Step::Call { done, rejected, unknown, .. } => {
                vec![(Via::Done, done), (Via::Rejected, rejected), (Via::Unknown, unknown)]
            }
            Step::Send { done, rejected, dead, unknown, .. } => vec![
                (Via::Done, done),
                (Via::Rejected, rejected),
                (Via::Dead, dead),
                (Via::Unknown, unknown),
            ],
            Step::Push { done, unknown, .. } => vec![(Via::Done, done), (Via::Unknown, unknown)],
            Step::End => vec![],
        }
    }

    /// True where a history may lead from a state to another one: by an edge, or by persons who cancel.
    pub fn leads(&self, from: S, to: S) -> bool {
        self.edges(from).iter().any(|(_, next)| *next == to)
            || self.state(from).cancelled == Some(to)
    }
}

/// Every flow that this binary knows; [`FlowId`] is the place in it.
#[derive(Debug, Clone, Default)]
pub struct Flows(pub Vec<Table>);

impl Flows {
    /// The table of a flow that [`Self::named`] found.
    #[expect(clippy::indexing_slicing, reason = "a FlowId is made by `named` alone")]
    pub fn table(&self, flow: FlowId) -> &Table {
        &self.0[usize::from(flow.0)]
    }

    /// The flow of that stored name.
    pub fn named(&self, name: &str) -> Option<FlowId> {
        let at = self.0.iter().position(|t| t.flow == name)?;
        u8::try_from(at).ok().map(FlowId)
    }

    /// The group of consumers of that name.
    pub fn group(&self, name: &str) -> Option<&'static str> {
        self.0.iter().flat_map(Table::groups).find(|group| *group == name)
    }

    /// The flows of those names that are known.
    pub fn ids(&self, names: &[&str]) -> Vec<FlowId> {
        names.iter().filter_map(|name| self.named(name)).collect()
    }
}
