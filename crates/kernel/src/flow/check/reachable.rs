//! Checks the states of a flow: each has a name of its own, can be reached, and leads to an end by answers
//! that differ.

use crate::flow::life::{Step, Via};
use crate::flow::mermaid;
use crate::flow::table::{S, Table};
use std::collections::BTreeSet;

/// Checks that everything that a table names is in it.
pub(super) fn inside(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    let state = |s: S| usize::from(s) < t.states.len();
    let act = |a: u8| usize::from(a) < t.acts.len();
    if !state(t.start) {
        bad.push("the start is no state".to_owned());
    }
    for s in t.all() {
        let no_rule =
            matches!(t.step(s), Step::Decide { rule, .. } if usize::from(rule) >= t.rules.len());
        if no_rule || !t.makes(s).is_none_or(act) || !t.edges(s).iter().all(|e| state(e.1)) {
            bad.push(format!("{}: points outside the table", t.state(s).name));
        }
    }
    for row in &t.acts {
        if !row.undoes.iter().chain(&row.about).all(|a| act(*a)) {
            bad.push(format!("{}: points outside the table", row.name));
        }
    }
    bad
}

/// Names, drawn names and stored numbers are unique; every edge has a word for the history.
pub(super) fn names(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    let (mut drawn, mut codes) = (BTreeSet::new(), BTreeSet::new());
    for row in &t.states {
        if !drawn.insert(mermaid::id(row.name)) {
            bad.push(format!("{}: a second state of that name", row.name));
        }
        if !codes.insert(row.code) {
            bad.push(format!("{}: a second state of number {}", row.name, row.code));
        }
    }
    let mut said = BTreeSet::new();
    for name in t.acts.iter().map(|row| row.name).chain(t.rules.iter().copied()) {
        if !said.insert(name) {
            bad.push(format!("{name}: a second act or rule of that name"));
        }
    }
    for s in t.all() {
        for (via, _) in t.edges(s) {
            if (t.event)(s, via).is_empty() {
                bad.push(format!("{}: no word for {via:?}", t.state(s).name));
            }
        }
    }
    bad
}

/// Every state can be reached, an end can be reached from it, and each answer that says something
/// leaves it, each its own way.
pub(super) fn ways(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    let mut name = |s: S, what: &str| bad.push(format!("{}: {what}", t.state(s).name));
    let reached = closure(BTreeSet::from([t.start]), |seen| {
        seen.iter().flat_map(|s| t.edges(*s)).map(|e| e.1).collect()
    });
    let ending = closure(t.all().filter(|s| t.ends(*s)).collect(), |ends| {
        t.all().filter(|s| t.edges(*s).iter().any(|e| ends.contains(&e.1))).collect()
    });
    if t.ends(t.start) {
        name(t.start, "begins at an end");
    }
    for s in t.all() {
        if !reached.contains(&s) {
            name(s, "cannot be reached");
        }
        if !ending.contains(&s) {
            name(s, "leads to no end");
        }
        let edges = t.edges(s);
        if edges.iter().any(|(via, to)| *via != Via::Unknown && *to == s) {
            name(s, "an answer leads back to it, so nothing was learnt");
        }
        let way = |via: Via| edges.iter().find(|e| e.0 == via).map(|e| e.1);
        for (one, other) in
            [(Via::Yes, Via::No), (Via::Done, Via::Rejected), (Via::Done, Via::Dead)]
        {
            if way(one).is_some() && way(one) == way(other) {
                name(s, &format!("{one:?} and {other:?} lead to the same state"));
            }
        }
    }
    bad
}

/// Grows a set by a step until it stays.
fn closure(mut set: BTreeSet<S>, step: impl Fn(&BTreeSet<S>) -> Vec<S>) -> BTreeSet<S> {
    loop {
        let before = set.len();
        let more = step(&set);
        set.extend(more);
        if set.len() == before {
            return set;
        }
    }
}
