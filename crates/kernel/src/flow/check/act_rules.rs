//! Checks the acts of a flow: a step that knows all answers of an act makes it, at the side where its leg
//! belongs.

use crate::flow::life::{Leg, Manner, Side, Step};
use crate::flow::table::{A, ActRow, Table};

/// Checks what an act declares, and which steps make it.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    for (a, row) in (0..).zip(&t.acts) {
        let mut fault = |what: &str| bad.push(format!("{}: {what}", row.name));
        if !t.all().any(|s| t.makes(s) == Some(a)) {
            fault("no state makes it");
        }
        if (row.manner == Manner::Question) != row.leg.is_none() {
            fault("a question has no leg, every other act has one");
        }
        if row.about.is_some() && row.manner != Manner::Question {
            fault("asks after an act and is no question");
        }
        if row.leg.and_then(home).is_some_and(|side| side != row.side) {
            fault("is made at the wrong side for its leg");
        }
        if row.about.iter().chain(&row.undoes).any(|x| t.act(*x).side != row.side) {
            fault("asks after, or takes back, what was done at the other side");
        }
        if row.leg == Some(Leg::Settle) {
            fault("a settle goes with the unit that moves the money, no state makes it");
        }
        if row.leg == Some(Leg::Refund) && withdraws(t).any(|x| !row.undoes.contains(&x)) {
            fault("gives back, and does not say that it undoes the withdraw");
        }
        if shares_a_key(t, a, row) {
            fault("shares its key with another act of the same leg");
        }
    }
    for s in t.all() {
        let Some(row) = t.makes(s).map(|a| t.act(a)) else { continue };
        let refund = row.leg == Some(Leg::Refund);
        let fits = match t.step(s) {
            Step::Send { .. } => row.manner == Manner::Once,
            Step::Call { .. } => row.manner != Manner::Once && !refund,
            Step::Push { .. } => row.manner == Manner::Repeatable && refund,
            Step::Claim { .. } | Step::Decide { .. } | Step::End => true,
        };
        if !fits {
            bad.push(format!("{}: {} gets other answers than these", t.state(s).name, row.name));
        }
    }
    bad
}

/// The side at which a leg is made; `None`: at either side.
const fn home(leg: Leg) -> Option<Side> {
    match leg {
        Leg::Withdraw | Leg::Settle | Leg::Refund | Leg::Quarantine => Some(Side::Source),
        Leg::Deposit => Some(Side::Target),
        Leg::Move | Leg::Cost => None,
    }
}

fn withdraws(t: &Table) -> impl Iterator<Item = A> {
    (0..).zip(&t.acts).filter(|(_, row)| row.leg == Some(Leg::Withdraw)).map(|(a, _)| a)
}

/// A ledger knows an operation by transfer and leg alone.
fn shares_a_key(t: &Table, a: A, row: &ActRow) -> bool {
    let keyed = |row: &ActRow| row.manner == Manner::Repeatable;
    (0..).zip(&t.acts).any(|(x, other)| {
        x != a && keyed(row) && keyed(other) && row.leg.is_some() && row.leg == other.leg
    })
}
