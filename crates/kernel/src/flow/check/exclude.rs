//! Checks what must exclude each other: a claim comes before each once-act, at most one party is paid, no
//! question is asked twice, and an end tells the truth about what was done before it.

use crate::flow::dataflow;
use crate::flow::dataflow::ActSet;
use crate::flow::life::{Leg, Manner, Place, Step, Via};
use crate::flow::table::{A, S, Table};

/// Checks all rules that need the ways to a state.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let possible = dataflow::possible(t);
    let certain = dataflow::certain(t);
    let (done, refused) = (dataflow::ever(t, Via::Done), dataflow::ever(t, Via::Rejected));
    let mut bad = Vec::new();
    for s in t.all() {
        let mut fault = |what: String| bad.push(format!("{}: {what}", t.state(s).name));
        claimed(t, s, possible.at(s), &mut fault);
        if let Some(a) = t.makes(s) {
            let name = t.act(a).name;
            for x in possible.at(s).iter().filter(|x| clash(t, a, **x)) {
                fault(format!("{name} while {} may have happened", t.act(*x).name));
            }
            for x in t.act(a).undoes.iter().chain(&t.act(a).about).filter(|x| **x != a) {
                if !certain.at(s).contains(x) {
                    fault(format!("{name} though {} need not have happened", t.act(*x).name));
                }
            }
            let answered = done.at(s).contains(&a) || refused.at(s).contains(&a);
            if t.act(a).manner == Manner::Repeatable && answered {
                fault(format!("{name} again, and its key is answered for ever"));
            }
        }
        if tries_again(t, s) {
            fault("refused for ever, and tried again".to_owned());
        }
        if let Some(what) = untrue(t, s, possible.at(s), certain.at(s)) {
            fault(what.to_owned());
        }
    }
    bad
}

/// A claim comes before a once-act, and nothing claims it while an earlier one may have an effect.
fn claimed(t: &Table, s: S, possible: &ActSet, fault: &mut impl FnMut(String)) {
    if s == t.start && t.sends(s) {
        fault("begins with a call that needs a claim before it".to_owned());
    }
    for (via, to) in t.edges(s).into_iter().filter(|(_, to)| t.sends(*to)) {
        let name = t.state(to).name;
        let same = via == Via::Unknown && t.makes(to) == t.makes(s);
        if via != Via::Claim && !same {
            fault(format!("{via:?} leads to {name}, which needs a claim before it"));
        }
        if via == Via::Claim && t.makes(to).is_some_and(|a| possible.contains(&a)) {
            fault(format!("claims {name} again while the first may stand"));
        }
    }
}

/// Paying, giving back and setting aside exclude each other, and two ways of paying do as well.
fn clash(t: &Table, a: A, x: A) -> bool {
    let (Some(leg), Some(other)) = (t.act(a).leg, t.act(x).leg) else { return false };
    let twice = leg != Leg::Cost && leg == other;
    a != x && (leg.never_with(other) || pays(leg) && pays(other) || twice)
}

const fn pays(leg: Leg) -> bool {
    matches!(leg, Leg::Deposit | Leg::Move)
}

/// After a refusal a flow comes back to the same act through claims alone.
fn tries_again(t: &Table, s: S) -> bool {
    let mut next = t.edges(s).into_iter().find(|e| e.0 == Via::Rejected).map(|e| e.1);
    for _ in &t.states {
        let Some(to) = next else { return false };
        if t.makes(to).is_some() && t.makes(to) == t.makes(s) {
            return true;
        }
        next = if let Step::Claim { to } = t.step(to) { Some(to) } else { None };
    }
    false
}

/// The legs on the way to a state must say the same of the money's place as the state does.
fn untrue(t: &Table, s: S, possible: &ActSet, certain: &ActSet) -> Option<&'static str> {
    let any =
        |acts: &ActSet, is: fn(Leg) -> bool| acts.iter().any(|a| t.act(*a).leg.is_some_and(is));
    let every = (0..).take(t.acts.len()).collect();
    let withdraw = |leg| leg == Leg::Withdraw;
    let place = t.state(s).money;
    let source = place == Place::AtSource;
    let target = place == Place::AtTarget;
    let end = t.ends(s) && place != Place::InFlight;
    // what was given back may be on its way there, until its receiver took it
    let returns = place == Place::InFlight && any(certain, |leg| leg == Leg::Refund);
    let lies = [
        (
            !source && any(&every, withdraw) && !any(certain, withdraw) && !returns,
            "the money need not have been taken from its source",
        ),
        (target && !any(certain, pays), "the target need not have been paid"),
        (
            end && source && any(possible, withdraw),
            "ends with the money at its source, and a withdraw may stand",
        ),
        (
            end && !target && any(possible, pays),
            "ends without paying, and the target may have been paid",
        ),
        (
            end && !source && any(possible, |leg| leg == Leg::Refund),
            "ends elsewhere, and the source may have been refunded",
        ),
        (
            end && place == Place::Quarantine && !any(certain, |leg| leg == Leg::Quarantine),
            "money that is held for a person is not final before it was moved out",
        ),
    ];
    lies.into_iter().find(|(lie, _)| *lie).map(|(_, what)| what)
}
