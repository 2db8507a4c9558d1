//! A flow's table as text: its diagram, its stored numbers, the words of its history, its sentences for users, and how many
//! crash points it has.

use kernel::flow::life::{Audience, Via};
use kernel::flow::mermaid;
use kernel::flow::table::{ActRow, S, StateRow, Table};
use std::collections::BTreeMap;
use tables::crash_points;

/// The whole table, each part under its title.
pub(crate) fn whole(table: &Table) -> String {
    let parts = [
        ("Diagram", mermaid::draw(table)),
        ("States and acts", states(table)),
        ("History", history(table)),
        ("Sentences", sentences(table)),
        ("Crash points", crash_points(table)),
    ];
    parts.map(|(title, text)| format!("# {title}\n{text}")).join("\n")
}

/// A line for each edge: the history's word for it.
fn history(table: &Table) -> String {
    let line = |s: S, via: Via, to: S| {
        let (from, to) = (table.state(s).name, table.state(to).name);
        format!("{from} -> {to}: {} ({via:?})\n", (table.event)(s, via))
    };
    let of = |s| table.edges(s).into_iter().map(move |(via, to)| line(s, via, to));
    table.all().flat_map(of).collect()
}

/// A line for each state: its stored number, where the money is, what is normal, what became of it. A
/// line for each act: where it is made and what it moves.
fn states(table: &Table) -> String {
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
fn crash_points(table: &Table) -> String {
    let mut counts = BTreeMap::new();
    for point in crash_points::of(table) {
        *counts.entry(format!("{:?}", point.moment)).or_insert(0) += 1;
    }
    counts
        .into_iter()
        .map(|(moment, count): (String, usize)| format!("{moment}: {count}\n"))
        .collect()
}

/// The sentences for an API user.
fn sentences(table: &Table) -> String {
    table.all().map(|s| (table.message)(s, Audience::User, None) + "\n").collect()
}
