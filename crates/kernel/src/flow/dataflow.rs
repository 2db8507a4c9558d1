//! Computes which acts may have happened, and which must have, on the ways to a state.
//!
//! All answers are fixpoints over the edges of a [`Table`]: *some way* unites what the ways bring, *every
//! way* keeps what they have in common.

use crate::flow::life::{Leg, Manner, Via};
use crate::flow::table::{A, S, Table};
use std::collections::BTreeSet;

/// A set of acts.
pub type ActSet = BTreeSet<A>;

/// A set of acts for each state: what holds when it is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways(Vec<ActSet>);

#[expect(clippy::indexing_slicing, reason = "states are those of the table that it was made of")]
impl Ways {
    /// The acts of a state.
    pub fn at(&self, s: S) -> &ActSet {
        &self.0[usize::from(s)]
    }

    fn at_mut(&mut self, s: S) -> &mut ActSet {
        &mut self.0[usize::from(s)]
    }
}

/// One edge, as an analysis looks at it.
#[derive(Debug, Clone, Copy)]
struct Edge {
    from: S,
    via: Via,
    to: S,
}

fn edges(t: &Table) -> Vec<Edge> {
    let of = |from| t.edges(from).into_iter().map(move |(via, to)| Edge { from, via, to });
    t.all().flat_map(of).collect()
}

/// Computes what holds on some way: the sets grow from nothing.
fn some_way(t: &Table, pass: impl Fn(Edge, ActSet) -> ActSet) -> Ways {
    let mut ways = Ways(vec![ActSet::new(); t.states.len()]);
    let edges = edges(t);
    loop {
        let before = ways.clone();
        for edge in &edges {
            let out = pass(*edge, ways.at(edge.from).clone());
            ways.at_mut(edge.to).extend(out);
        }
        if ways == before {
            return ways;
        }
    }
}

/// Computes what holds on every way: the sets shrink from everything. At the beginning nothing is done.
fn every_way(t: &Table, pass: impl Fn(Edge, ActSet) -> ActSet) -> Ways {
    let all: ActSet = (0..).take(t.acts.len()).collect();
    let mut ways = Ways(vec![all; t.states.len()]);
    ways.at_mut(t.start).clear();
    let edges = edges(t);
    loop {
        let before = ways.clone();
        for edge in &edges {
            let out = pass(*edge, ways.at(edge.from).clone());
            ways.at_mut(edge.to).retain(|a| out.contains(a));
        }
        if ways == before {
            return ways;
        }
    }
}

/// The acts whose effect may exist when a transfer enters a state. A call without an answer may have one,
/// and so may a claimed send; a refused or dead one has none, and what was undone no longer exists.
pub fn possible(t: &Table) -> Ways {
    some_way(t, |edge, mut acts| {
        let act = t.makes(edge.from).filter(|a| t.act(*a).manner != Manner::Question);
        match (edge.via, act) {
            (Via::Done, Some(a)) => {
                acts.insert(a);
                undo(t, a, &mut acts);
                // an act that costs and takes back is used up with what it took back
                if t.act(a).leg == Some(Leg::Cost) && !t.act(a).undoes.is_empty() {
                    acts.remove(&a);
                }
            }
            (Via::Unknown, Some(a)) => {
                acts.insert(a);
            }
            (Via::Rejected | Via::Dead, Some(a)) => {
                acts.remove(&a);
            }
            (Via::Claim, _) if t.sends(edge.to) => acts.extend(t.makes(edge.to)),
            (Via::Claim | Via::Yes | Via::No, _)
            | (Via::Done | Via::Rejected | Via::Dead | Via::Unknown, None) => {}
        }
        acts
    })
}

/// The acts that are done, and not undone since, on every way to a state.
pub fn certain(t: &Table) -> Ways {
    every_way(t, |edge, mut acts| {
        if let (Via::Done, Some(a)) = (edge.via, t.makes(edge.from)) {
            acts.insert(a);
            undo(t, a, &mut acts);
        }
        acts
    })
}

/// Takes out what an act undoes. What that had undone before stands again: where a refund is called back, the money
/// is taken from its source as it was.
fn undo(t: &Table, a: A, acts: &mut ActSet) {
    for undone in &t.act(a).undoes {
        acts.remove(undone);
        acts.extend(&t.act(*undone).undoes);
    }
}

/// The acts that got this answer on some way to a state, undone or not.
pub fn ever(t: &Table, answer: Via) -> Ways {
    some_way(t, |edge, acts| with(t, edge, answer, acts))
}

/// The acts that got this answer on every way to a state, undone or not.
pub fn always(t: &Table, answer: Via) -> Ways {
    every_way(t, |edge, acts| with(t, edge, answer, acts))
}

fn with(t: &Table, edge: Edge, answer: Via, mut acts: ActSet) -> ActSet {
    if edge.via == answer {
        acts.extend(t.makes(edge.from));
    }
    acts
}
