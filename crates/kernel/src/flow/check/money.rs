//! Checks that money moves only with the answer that moves it, and never with a claim, an unknown answer or
//! a refusal.

use crate::flow::life::{Place, Via};
use crate::flow::table::{S, Table};

/// Checks every edge, and where an end leaves the money.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    for s in t.all() {
        let mut fault = |what: String| bad.push(format!("{}: {what}", t.state(s).name));
        let here = t.state(s).money;
        if s == t.start && !matches!(here, Place::AtSource | Place::InFlight) {
            fault(format!("begins with the money {here:?}"));
        }
        if t.ends(s) && here == Place::InFlight {
            fault("ends with money in flight".to_owned());
        }
        for (via, to) in t.edges(s) {
            let there = t.state(to).money;
            let moves = match via {
                Via::Done => done(t, s, to),
                Via::Yes | Via::No => rule_may_move(here, there),
                Via::Claim | Via::Rejected | Via::Dead | Via::Unknown => here == there,
            };
            if !moves {
                fault(format!("{via:?} leads from {here:?} to {there:?}"));
            }
            if via == Via::Unknown && !same_call(t, s, to) {
                fault("after an unknown answer the same call is asked for or repeated".to_owned());
            }
        }
    }
    bad
}

/// Done moves the money as the leg says. An act that is asked after has a leg of two phases: its done
/// moves nothing and leads to the question, whose done moves as that leg.
fn done(t: &Table, s: S, to: S) -> bool {
    let (here, there) = (t.state(s).money, t.state(to).money);
    let Some(a) = t.makes(s) else { return false };
    if t.acts.iter().any(|question| question.about == Some(a)) {
        let asked = t.makes(to).and_then(|q| t.act(q).about);
        return asked == Some(a) && here == there;
    }
    match t.act(a).leg.or_else(|| t.act(t.act(a).about?).leg) {
        Some(leg) => leg.moves().contains(&(here, there)),
        None => here == there,
    }
}

/// A rule moves only inside our own books: into fees, and into quarantine or out of it.
fn rule_may_move(here: Place, there: Place) -> bool {
    let own = matches!(
        (here, there),
        (Place::InFlight, Place::Fees | Place::Quarantine) | (Place::Quarantine, Place::InFlight)
    );
    here == there || own
}

/// After an unknown answer the same call is open, every answer to it leads where it led before, and the
/// next unknown answer changes nothing.
fn same_call(t: &Table, s: S, to: S) -> bool {
    let known = |s| t.edges(s).into_iter().filter(|edge| edge.0 != Via::Unknown);
    t.makes(s) == t.makes(to) && known(s).eq(known(to)) && t.edges(to).contains(&(Via::Unknown, to))
}
