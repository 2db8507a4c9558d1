//! The rules of `check` that only a flow between two ledgers meets: keyed legs, a withdraw before
//! everything, a refund that cannot be refused. Each is broken once; the whole table breaks none.

use kernel::answer::Evidence;
use kernel::flow::check::faults;
use kernel::flow::dataflow;
use kernel::flow::life::{
    Audience, Driver, Leg, Life, Manner, Meta, Never, Normal, Outcome, Place, Ruling, Share, Side,
    Step, Via, Word,
};
use kernel::flow::table::{S, StateRow, Table};
use kernel::record::{Facts, Record};
use kernel::words;
use tables::crash_points::{self, Moment};
use {Act::*, State::*, Step::*};

words!(State {
    Begun = 0 "begun", Taking = 1 "taking", Taken = 2 "taken", Giving = 3 "giving", Given = 4 "given",
    Refused = -1 "refused", Back = -2 "giving back", Returned = -3 "returned",
});
words!(Act { Take = 0 "take", Give = 1 "give", Return = 2 "return" });

impl Life for State {
    type Act = Act;
    type Rule = Never;
    const FLOW: &'static str = "pair";
    const START: Self = Begun;
    const DRIVER: Driver = Driver::Stations;

    #[rustfmt::skip]
    fn step(self) -> Step<Self, Act> {
        match self {
            Begun  => Claim { to: Taking },
            Taking => Call  { act: Take, done: Taken, rejected: Refused, unknown: Taking },
            Taken  => Claim { to: Giving },
            Giving => Call  { act: Give, done: Given, rejected: Back, unknown: Giving },
            Back   => Push  { act: Return, done: Returned, unknown: Back },
            Given | Refused | Returned => End,
        }
    }

    fn money(self) -> Place {
        match self {
            Begun | Taking | Refused | Returned => Place::AtSource,
            Taken | Giving | Back => Place::InFlight,
            Given => Place::AtTarget,
        }
    }

    fn act(act: Act) -> Meta<Act> {
        match act {
            Take => Meta::repeatable(Leg::Withdraw, Side::Source, Share::Gross),
            Give => Meta::repeatable(Leg::Deposit, Side::Target, Share::Net),
            Return => Meta {
                undoes: &[Take],
                ..Meta::repeatable(Leg::Refund, Side::Source, Share::Gross)
            },
        }
    }

    fn rule(rule: Never, _: &Record, _: &Facts) -> Ruling {
        match rule {}
    }

    fn event(self, _: Via) -> &'static str {
        "WENT ON"
    }

    fn normal(self) -> Normal {
        match self {
            Taking | Back => Normal::Usual,
            Giving => Normal::Configured,
            Begun | Taken | Given | Refused | Returned => Normal::Passing,
        }
    }

    fn outcome(self) -> Option<Outcome> {
        match self {
            Given => Some(Outcome::Paid),
            Refused => Some(Outcome::Failed),
            Returned => Some(Outcome::GivenBack),
            Begun | Taking | Taken | Giving | Back => None,
        }
    }

    fn message(self, _: Audience, _: Option<&Evidence>) -> String {
        self.name().to_owned()
    }
}

words!(Alone { Only = 0 "only" });

impl Life for Alone {
    type Act = Never;
    type Rule = Never;
    const FLOW: &'static str = "alone";
    const START: Self = Self::Only;
    const DRIVER: Driver = Driver::Stations;

    fn step(self) -> Step<Self, Never> {
        End
    }

    fn money(self) -> Place {
        Place::AtSource
    }

    fn act(act: Never) -> Meta<Never> {
        match act {}
    }

    fn rule(rule: Never, _: &Record, _: &Facts) -> Ruling {
        match rule {}
    }

    fn event(self, _: Via) -> &'static str {
        ""
    }

    fn normal(self) -> Normal {
        Normal::Passing
    }

    fn outcome(self) -> Option<Outcome> {
        Some(Outcome::Failed)
    }

    fn message(self, _: Audience, _: Option<&Evidence>) -> String {
        self.name().to_owned()
    }
}

pub(crate) fn table() -> Table {
    Table::of::<State>()
}

fn at(t: &Table, name: &str) -> S {
    t.named(name).unwrap_or(S::MAX)
}

/// The pair with another step in one state.
fn stepping(name: &str, step: impl Fn(&Table) -> Step<u8, u8, u8>) -> Table {
    let before = table();
    let mut t = before.clone();
    t.states.iter_mut().filter(|row| row.name == name).for_each(|row| row.step = step(&before));
    t
}

/// One more state at the end of the table.
fn with_state(t: &mut Table, name: &'static str, money: Place, step: Step<u8, u8, u8>) -> S {
    let (booking, normal, outcome, cancelled) = (None, Normal::Usual, None, None);
    t.states.push(StateRow {
        name,
        code: 90,
        money,
        booking,
        releases: None,
        step,
        normal,
        outcome,
        cancelled,
    });
    t.all().last().unwrap_or(S::MAX)
}

fn says(t: &Table, what: &str) {
    let found = faults(t);
    assert!(found.contains(&what.to_owned()), "{found:#?}");
}

/// Turns red where a rule finds fault with what holds.
#[test]
fn the_pair_holds() {
    assert_eq!(faults(&Table::of::<State>()), [""; 0]);
}

/// Nothing is signed for a call that may be repeated; a withdraw that was given back has no effect.
#[test]
fn a_repeatable_call_is_claimed_without_a_signature() {
    let t = table();
    let claimed = crash_points::of(&t).into_iter().filter(|point| point.via == Some(Via::Claim));
    let moments: Vec<_> = claimed.map(|point| point.moment).collect();
    let each = [Moment::BeforeWrite, Moment::TornWrite, Moment::AfterWrite];
    assert_eq!(moments, [each, each].concat());
    let possible = dataflow::possible(&t);
    let possible = |name| possible.at(at(&t, name)).iter().map(|act| t.act(*act).name);
    assert_eq!(possible("taking").collect::<Vec<_>>(), ["take"]);
    assert_eq!(possible("giving").collect::<Vec<_>>(), ["take", "give"]);
    assert_eq!(possible("returned").collect::<Vec<_>>(), ["return"]);
    assert_eq!(possible("refused").collect::<Vec<_>>(), [""; 0]);
    // where no doubt leads back, a call that is only claimed has done nothing yet
    let t = stepping("taking", |t| Step::Call {
        act: 0,
        done: at(t, "taken"),
        rejected: at(t, "refused"),
        unknown: at(t, "giving back"),
    });
    assert!(dataflow::possible(&t).at(at(&t, "taking")).is_empty());
}

#[test]
fn a_flow_is_looked_at_by_its_type_too() {
    assert_eq!(faults(&Table::of::<Alone>()), ["only: begins at an end"]);
}

#[test]
fn a_refund_undoes_every_withdraw() {
    let mut t = table();
    t.acts[2].undoes.clear();
    says(&t, "return: gives back, and does not say that it undoes the withdraw");
}

#[test]
fn a_refund_is_pushed_and_nothing_else_is() {
    let t = stepping("giving back", |t| {
        let (done, there) = (at(t, "returned"), at(t, "giving back"));
        Call { act: 2, done, rejected: at(t, "refused"), unknown: there }
    });
    says(&t, "giving back: return gets other answers than these");
    let t = stepping("giving", |t| Push { act: 1, done: at(t, "given"), unknown: at(t, "giving") });
    says(&t, "giving: give gets other answers than these");
}

/// Turns red where two acts could take each other's answers for their own, or where acts of other
/// legs, or of none, are said to share a key.
#[test]
fn one_leg_has_one_key() {
    let mut t = table();
    let mut twin = t.acts[1].clone();
    twin.name = "give again";
    t.acts.push(twin);
    says(&t, "give: shares its key with another act of the same leg");
    says(&t, "give again: shares its key with another act of the same leg");
    // what is claimed once has no key at the ledger
    for act in &mut t.acts[3..] {
        act.manner = Manner::Once;
    }
    assert!(!faults(&t).iter().any(|fault| fault.contains("shares its key")));
}

#[test]
fn what_need_not_have_been_done_is_not_undone() {
    let t = stepping("taking", |t| Call {
        act: 0,
        done: at(t, "taken"),
        rejected: at(t, "giving back"),
        unknown: at(t, "taking"),
    });
    says(&t, "giving back: return though take need not have happened");
}

/// Turns red where only a refusal is for ever, and what was done may be asked for anew.
#[test]
fn what_was_done_is_not_called_for_again() {
    let mut t = table();
    let (giving, given) = (at(&t, "giving"), at(&t, "given"));
    let unknown = given + 4;
    let again = Call { act: 1, done: given, rejected: at(&t, "giving back"), unknown };
    let again = with_state(&mut t, "given?", Place::AtTarget, again);
    assert_eq!(again, unknown);
    for row in t.states.iter_mut().filter(|row| row.name == "giving") {
        row.step =
            Call { act: 1, done: again, rejected: at(&table(), "giving back"), unknown: giving };
    }
    says(&t, "given?: give again, and its key is answered for ever");
}

/// Turns red where only paying excludes itself: what was taken would be taken a second time under
/// another name.
#[test]
fn money_is_taken_once() {
    let mut t = table();
    let mut twin = t.acts[0].clone();
    twin.name = "take more";
    t.acts.push(twin);
    let (taken, back) = (at(&t, "taken"), at(&t, "giving back"));
    let unknown = at(&t, "given") + 4;
    let more = Call { act: 3, done: at(&t, "giving"), rejected: back, unknown };
    let more = with_state(&mut t, "taking more", Place::InFlight, more);
    for row in t.states.iter_mut().filter(|row| row.name == "taken") {
        row.step = Claim { to: more };
    }
    assert_ne!(taken, more);
    says(&t, "taking more: take more while take may have happened");
}
