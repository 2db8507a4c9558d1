//! The exhaustive crash matrix of the internal flow: everything that its table has is reached, and
//! nothing that it has not.

use crate::internal::{cases, trial};
use crate::spot::in_memory;
use crate::wrong::complaint;
use kernel::flow::life::Step;
use kernel::flow::table::Table;
use sim::generic::Trial;
use sim::matrix::cells::{answers, formula, fused};
use sim::matrix::{all, page};
use std::collections::BTreeSet;
use tables::crash_points;

/// The three ways through the table, in both directions: the other cases differ in nothing that a
/// crash could meet.
fn links() -> Trial {
    let links = ["commits", "has too little", "has a disabled target"];
    let cases = cases().into_iter().filter(|case| links.contains(&case.name)).collect();
    Trial { cases, ..trial(in_memory) }
}

fn table() -> Table {
    let flows = flows::registry();
    flows.table(flows.named("internal").unwrap()).clone()
}

#[test]
fn internal_crash_matrix() {
    let (table, stats) = (table(), all(&links()));
    let reached = |path: usize| {
        let runs = stats.reached.iter().filter(|(_, runs)| runs.get(path).is_some_and(|n| *n > 0));
        runs.map(|(cell, _)| *cell).collect::<BTreeSet<_>>()
    };
    let [plain, on_fused] = stats.runs;
    let [once, twice] = stats.deaths;
    println!("{plain} runs on the plain path, {on_fused} on the fused one");
    println!("{once} died once, {twice} twice; {} cells reached", stats.reached.len());
    assert_eq!(reached(0), formula(&table), "the plain path");
    assert_eq!(reached(1), fused(&table), "the fused path");
    println!("{}", page::page(&table, &stats));
}

/// A table with one row fewer has fewer points, answers and cells: they are counted, not listed.
#[test]
fn a_row_less_is_a_matrix_less() {
    let whole = table();
    for (state, row) in whole.states.iter().enumerate() {
        if row.step == Step::End {
            continue;
        }
        let mut less = whole.clone();
        less.states.get_mut(state).unwrap().step = Step::End;
        let name = row.name;
        assert!(crash_points::of(&less).len() < crash_points::of(&whole).len(), "{name}: points");
        assert!(formula(&less).len() < formula(&whole).len(), "{name}: cells");
        let calls = whole.makes(u8::try_from(state).unwrap()).is_some();
        assert!(!calls || answers(&less).len() < answers(&whole).len(), "{name}: answers");
    }
}

/// What dies with its process and is not found again, and what is done twice after it. Two threads play
/// the cases, and each meets a fault of its own first: what all of them say is looked for.
#[test]
fn the_matrix_turns_red() {
    for (name, says) in [
        ("no-recovery", "does not end"),
        ("early-answer", "at rest"),
        ("double-deposit", "there is no such transfer"),
        ("timeout-is-refusal", "ROLLED_BACK"),
    ] {
        let trial = Trial { wrong: Some(name), ..links() };
        let complaint = complaint(name, || drop(all(&trial)));
        assert!(complaint.contains(says), "{name}: {complaint}");
    }
}
