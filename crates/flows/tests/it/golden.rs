//! What the golden tests of each flow write out: its words, its numbers, its crash points, and the page
//! that shows its diagram.

use kernel::flow::crash_points;
use kernel::flow::life::{Audience, Via};
use kernel::flow::mermaid;
use kernel::flow::table::{ActRow, S, StateRow, Table};
use std::collections::BTreeMap;

/// A line for each edge: the history's word for it.
pub(crate) fn history(table: &Table) -> String {
    let line = |s: S, via: Via, to: S| {
        let (from, to) = (table.state(s).name, table.state(to).name);
        format!("{from} -> {to}: {} ({via:?})\n", (table.event)(s, via))
    };
    let of = |s| table.edges(s).into_iter().map(move |(via, to)| line(s, via, to));
    table.all().flat_map(of).collect()
}

/// A line for each state: its stored number, where the money is, what is normal, what became of it. A
/// line for each act: where it is made and what it moves.
pub(crate) fn states(table: &Table) -> String {
    let state = |row: &StateRow| {
        let outcome = row.outcome.map_or_else(String::new, |outcome| format!(", {outcome:?}"));
        format!("{} {}: {:?}, {:?}{outcome}\n", row.code, row.name, row.money, row.normal)
    };
    let act = |(code, row): (usize, &ActRow)| {
        let share = row.share.map_or_else(|| "nothing".to_owned(), |share| format!("{share:?}"));
        format!("act {code} {}: {:?} at {:?}, {share}\n", row.name, row.leg, row.side)
    };
    table.states.iter().map(state).chain(table.acts.iter().enumerate().map(act)).collect()
}

/// How many crash points there are of each sort.
pub(crate) fn crash_points(table: &Table) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for point in crash_points::of(table) {
        *counts.entry(format!("{:?}", point.moment)).or_insert(0) += 1;
    }
    counts
}

/// The sentences for an API user.
pub(crate) fn sentences(table: &Table) -> String {
    table.all().map(|s| (table.message)(s, Audience::User, None) + "\n").collect()
}

/// What people read is what runs.
pub(crate) fn is_shown(table: &Table, page: &str) {
    let shown = format!("```mermaid\n{}```", mermaid::draw(table));
    assert!(page.contains(&shown), "the page of {} lacks:\n{shown}", table.flow);
}

/// The page with the diagrams of all flows but the internal one.
pub(crate) const PAGE: &str = include_str!("../../../../docs/guide/flows.md");
