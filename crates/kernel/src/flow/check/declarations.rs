//! Checks what a flow declares beside its edges: its driver, what is normal in a state, where the money is
//! at an end, what an act moves, and its sentences. Each must agree with the edges, the legs and the places
//! of the money.

use crate::flow::dataflow;
use crate::flow::dataflow::ActSet;
use crate::flow::life::{
    Audience, ConsumerGroup, Driver, Leg, Manner, Normal, Outcome, Place, Share, Side, Step, Via,
};
use crate::flow::table::{ActRow, S, Table};
use std::collections::BTreeSet;

/// Checks all rules about the declarations of a flow.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let possible = dataflow::possible(t);
    let certain = dataflow::certain(t);
    let mut bad = Vec::new();
    for s in t.all() {
        let mut fault = |what: &str| bad.push(format!("{}: {what}", t.state(s).name));
        driven(t, s, &mut fault);
        agreed(t, s, &mut fault);
        normal(t, s, &mut fault);
        outcome(t, s, possible.at(s), certain.at(s), &mut fault);
    }
    for row in &t.acts {
        if let Some(what) = share(row) {
            bad.push(format!("{}: {what}", row.name));
        }
    }
    bad.extend(sentences(t));
    bad.extend(consumers(t).map(str::to_owned));
    bad
}

/// Events reach a flow through groups, one for each topic; a flow that stations drive has none.
fn consumers(t: &Table) -> Option<&'static str> {
    let unique = |of: fn(&ConsumerGroup) -> &'static str| {
        t.consumers.iter().map(of).collect::<BTreeSet<_>>().len() == t.consumers.len()
    };
    match (t.driver, t.consumers.is_empty()) {
        (Driver::Events, true) => Some("is driven by events, and no group consumes any"),
        (Driver::Stations, false) => Some("is driven by stations, and has groups of consumers"),
        (Driver::Stations, true) => None,
        (Driver::Events, false) if unique(|group| group.name) && unique(|group| group.topic) => {
            None
        }
        (Driver::Events, false) => Some("two groups have one name or one topic"),
    }
}

/// An event begins a call only through a claim, and no event ends a transaction on a chain.
fn driven(t: &Table, s: S, fault: &mut impl FnMut(&str)) {
    if t.driver != Driver::Events {
        return;
    }
    if t.sends(s) {
        fault("is driven by events, and its attempts are looked at by time");
    }
    for (via, to) in t.edges(s).into_iter().filter(|(_, to)| *to != s) {
        if via != Via::Claim && t.makes(to).is_some() {
            fault("is driven by events, and begins a call without a claim");
        }
    }
}

/// A rule that accepts decides by facts, in a unit of its own, and no way leads from its yes to another
/// acceptance: what is agreed is agreed once.
fn agreed(t: &Table, s: S, fault: &mut impl FnMut(&str)) {
    let Step::Decide { yes, .. } = t.step(s) else { return };
    if !t.accepts(s) {
        return;
    }
    if t.gathers(s).is_none() {
        fault("accepts, and gathers no facts");
    }
    let (mut reached, mut next) = (BTreeSet::from([yes]), vec![yes]);
    while let Some(from) = next.pop() {
        if t.accepts(from) {
            return fault("accepts, and may be accepted again");
        }
        next.extend(t.edges(from).into_iter().map(|(_, to)| to).filter(|to| reached.insert(*to)));
    }
}

/// Every call says what is normal; nothing else but a rule may wait.
fn normal(t: &Table, s: S, fault: &mut impl FnMut(&str)) {
    let normal = t.state(s).normal;
    let calls = t.makes(s).is_some();
    let decides = matches!(t.step(s), Step::Decide { .. });
    match normal {
        Normal::Passing if calls => fault("calls, and does not say what is normal"),
        Normal::Usual if !calls => fault("makes no call, and says that one takes its usual time"),
        Normal::Seconds(0) => fault("no time at all is normal"),
        Normal::Seconds(_) if !calls && !decides => {
            fault("nothing is waited for, and a time is normal");
        }
        Normal::Configured if !calls_target(t, s) => {
            fault("does not call the target, and takes the time that is set for that");
        }
        Normal::Passing | Normal::Usual | Normal::Seconds(_) | Normal::Configured => {}
    }
}

fn calls_target(t: &Table, s: S) -> bool {
    t.makes(s).map(|a| t.act(a)).is_some_and(|row| row.side == Side::Target && row.leg.is_some())
}

/// Every end has the outcome that its place and its legs show; before an end only a hold has one.
fn outcome(t: &Table, s: S, possible: &ActSet, certain: &ActSet, fault: &mut impl FnMut(&str)) {
    let refund = |acts: &ActSet| acts.iter().any(|a| t.act(*a).leg == Some(Leg::Refund));
    let place = t.state(s).money;
    let shown = match place {
        Place::Quarantine => Some(Outcome::Held),
        _ if !t.ends(s) => None,
        Place::AtTarget => Some(Outcome::Paid),
        Place::Fees => Some(Outcome::Kept),
        Place::AtSource if refund(certain) => Some(Outcome::GivenBack),
        Place::AtSource if !refund(possible) => Some(Outcome::Failed),
        // the other rules say what is wrong with such an end
        Place::AtSource | Place::InFlight => return,
    };
    match (t.state(s).outcome, shown) {
        (said, shown) if said == shown => {}
        (None, Some(_)) => fault("does not say what became of the money"),
        (Some(_), None) => fault("says what became of the money, which is not known yet"),
        (_, Some(shown)) => fault(&format!("what became of the money is {shown:?}")),
        (None, None) => {}
    }
}

/// A leg declares how much it moves. A leg that gives back moves what its first leg took.
fn share(row: &ActRow) -> Option<&'static str> {
    let (leg, share) = match (row.leg, row.share) {
        (Some(leg), Some(share)) => (leg, share),
        (Some(_), None) => return Some("does not say how much it moves"),
        (None, Some(_)) => return Some("is a question, and says how much it moves"),
        (None, None) => return None,
    };
    let fits = match leg {
        Leg::Withdraw | Leg::Settle => share == Share::Gross,
        Leg::Refund if row.manner == Manner::Repeatable => share == Share::Gross,
        Leg::Refund | Leg::Quarantine => matches!(share, Share::Gross | Share::LessRefundFee),
        Leg::Deposit => share == Share::Net,
        Leg::Move => matches!(share, Share::Gross | Share::Net),
        Leg::Cost => share == Share::OwnCost,
    };
    (!fits).then_some("moves another amount than its leg may")
}

/// Each reader gets a sentence for each state, and no two states have the same one.
fn sentences(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    for audience in Audience::ALL {
        let mut said = BTreeSet::new();
        for s in t.all() {
            let sentence = (t.message)(s, *audience, None);
            let what = if sentence.is_empty() {
                "no sentence"
            } else if !said.insert(sentence) {
                "the sentence of another state"
            } else {
                continue;
            };
            bad.push(format!("{}: {what} for {audience:?}", t.state(s).name));
        }
    }
    bad
}
