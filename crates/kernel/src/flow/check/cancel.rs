//! Checks which transfers persons may end: only one of which nothing is under way, with its money at its
//! source.

use crate::flow::dataflow;
use crate::flow::life::{Leg, Outcome, Place, Step};
use crate::flow::table::{S, Table};

/// Checks every state in which a transfer may be cancelled.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let possible = dataflow::possible(t);
    let mut bad = Vec::new();
    for s in t.all() {
        let Some(to) = t.state(s).cancelled else { continue };
        let mut fault = |what: String| bad.push(format!("{}: {what}", t.state(s).name));
        if !t.states.get(usize::from(to)).is_some_and(|row| fails(t, row.outcome, to)) {
            fault("is cancelled, and not to an end that failed".to_owned());
        }
        if t.state(s).money != Place::AtSource {
            fault("is cancelled, and the money has left its source".to_owned());
        }
        if !matches!(t.step(s), Step::Claim { .. } | Step::Decide { .. }) {
            fault("is cancelled, and waits for an answer".to_owned());
        }
        let moves = |leg: Leg| leg != Leg::Cost;
        for act in
            possible.at(s).iter().map(|act| t.act(*act)).filter(|act| act.leg.is_some_and(moves))
        {
            fault(format!("is cancelled while {} may have happened", act.name));
        }
    }
    bad
}

fn fails(t: &Table, outcome: Option<Outcome>, to: S) -> bool {
    t.ends(to) && outcome == Some(Outcome::Failed)
}
