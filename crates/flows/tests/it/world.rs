//! Every flow against a world that tells the truth: an effect happens or does not, answers follow it, and
//! an unknown answer hides it. Whatever the world does, at most one of paying, giving back and
//! quarantining ever stands, and an end says where the money is. It knows nothing of `check`.
//!
//! Wrong builds that were run: in `swap_in`, an expired debit that leads to the refund without its void;
//! in `relay`, a rejected payment of which the other answer leads to COMPLETED. Each turns this red.

use flows::registry;
use kernel::flow::life::{Leg, Outcome, Step, Via};
use kernel::flow::table::{A, S, Table};
use std::collections::BTreeSet;

/// A state of a transfer and the effects that stand in the world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    state: S,
    stand: BTreeSet<A>,
    /// An attempt at this act may still land, or has.
    open: Option<A>,
}

/// Where the world may bring a transfer from here.
fn next(t: &Table, seen: &Seen) -> Vec<Seen> {
    let to = |via: Via| t.edges(seen.state).into_iter().find(|edge| edge.0 == via).map(|e| e.1);
    let on =
        |state: S, stand: &BTreeSet<A>, open: Option<A>| Seen { state, stand: stand.clone(), open };
    let mut all = Vec::new();
    let Some(act) = t.makes(seen.state) else {
        all.extend(t.edges(seen.state).iter().map(|(_, to)| on(*to, &seen.stand, None)));
        return all;
    };
    let row = t.act(act);
    if row.leg.is_none() {
        // a question has no effect; what it asks after stands
        all.extend(t.edges(seen.state).iter().map(|(_, to)| on(*to, &seen.stand, None)));
        return all;
    }
    // it lands now, if it has not yet
    let mut landed = seen.stand.clone();
    landed.retain(|x| !row.undoes.contains(x));
    if row.leg != Some(Leg::Cost) || row.undoes.is_empty() {
        landed.insert(act);
    }
    let already = seen.open == Some(act);
    for via in [Via::Done, Via::Unknown] {
        all.extend(to(via).map(|s| on(s, &landed, Some(act))));
    }
    if !already {
        // it never lands, or it has not landed yet
        for via in [Via::Rejected, Via::Dead] {
            all.extend(to(via).map(|s| on(s, &seen.stand, None)));
        }
        all.extend(to(Via::Unknown).map(|s| on(s, &seen.stand, None)));
    }
    all
}

/// Every state of a transfer together with a truth that may be behind it.
fn reached(t: &Table) -> BTreeSet<Seen> {
    let mut all = BTreeSet::new();
    let mut left = vec![Seen { state: t.start, stand: BTreeSet::new(), open: None }];
    while let Some(seen) = left.pop() {
        if all.insert(seen.clone()) {
            // what landed is answered by done alone, so the mark ends with that answer
            left.extend(next(t, &seen).into_iter().map(|mut next| {
                let same = t.makes(next.state) == t.makes(seen.state);
                next.open = next.open.filter(|_| same && !matches!(t.step(next.state), Step::End));
                next
            }));
        }
    }
    all
}

fn legs<'a>(t: &'a Table, seen: &'a Seen) -> impl Iterator<Item = Leg> + 'a {
    seen.stand.iter().filter_map(|act| t.act(*act).leg)
}

#[test]
fn at_most_one_of_paying_giving_back_and_quarantining_stands() {
    for t in &registry().0 {
        for seen in reached(t) {
            let stand: Vec<Leg> = legs(t, &seen).collect();
            let clash = stand.iter().any(|a| stand.iter().any(|b| a.never_with(*b)));
            assert!(!clash, "{}: {} with {stand:?}", t.flow, t.state(seen.state).name);
        }
    }
}

#[test]
fn every_end_tells_the_truth() {
    for t in &registry().0 {
        let mut ends = BTreeSet::new();
        for seen in reached(t).iter().filter(|seen| t.ends(seen.state)) {
            let row = t.state(seen.state);
            let has = |leg: Leg| legs(t, seen).any(|l| l == leg);
            let paid = has(Leg::Deposit) || has(Leg::Move);
            let truth = (paid, has(Leg::Refund), has(Leg::Quarantine));
            let told = match row.outcome.unwrap() {
                Outcome::Paid => (true, false, false),
                Outcome::GivenBack => (false, true, false),
                Outcome::Held => (false, false, true),
                Outcome::Failed | Outcome::Kept => (false, false, false),
            };
            assert_eq!(truth, told, "{}: {}", t.flow, row.name);
            ends.insert(seen.state);
        }
        assert_eq!(ends.len(), t.all().filter(|s| t.ends(*s)).count(), "{}", t.flow);
    }
}

#[test]
fn every_state_is_reached() {
    for t in &registry().0 {
        let states: BTreeSet<S> = reached(t).iter().map(|seen| seen.state).collect();
        assert_eq!(states.len(), t.states.len(), "{}", t.flow);
    }
}
