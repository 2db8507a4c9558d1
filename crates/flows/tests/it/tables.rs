//! What holds for every flow.

use crate::golden;
use expect_test::expect_file;
use flows::{internal, registry, relay};
use kernel::flow::life::{Life, Step, Via};
use kernel::flow::table::{Flows, S, Table};
use kernel::flow::{check, mermaid};
use std::path::Path;
use tables::crash_points;

/// The page with the diagram of the internal flow, and the one with all others.
const HOW_IT_WORKS: &str = include_str!("../../../../docs/guide/how-it-works.md");
const FLOWS: &str = include_str!("../../../../docs/guide/flows.md");

#[test]
fn every_table_holds() {
    for table in &registry().0 {
        assert_eq!(check::faults(table), [""; 0], "{}", table.flow);
    }
}

/// Diagram, stored numbers, words of the history, sentences and crash points, to the letter; and people read the diagram
/// that runs. Stored numbers and names are never changed or used again.
#[test]
fn every_flow_is_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for table in &registry().0 {
        expect_file![folder.join(format!("{}.txt", table.flow))].assert_eq(&golden::whole(table));
        let page = if table.flow == "internal" { HOW_IT_WORKS } else { FLOWS };
        let shown = format!("```mermaid\n{}```", mermaid::draw(table));
        assert!(page.contains(&shown), "the page of {} lacks:\n{shown}", table.flow);
        let points = crash_points::of(table);
        assert!(points.iter().all(|point| point.via != Some(Via::Unknown)), "it writes no edge");
    }
    assert_eq!(internal::State::START, internal::State::Init);
}

/// A stored row names its flow; the number is the place here, and the internal flow stays the first.
#[test]
fn five_flows_are_known() {
    let names: Vec<_> = registry().0.iter().map(|table| table.flow).collect();
    assert_eq!(names, ["internal", "account", "relay", "swap_in", "swap_out"]);
}

#[test]
fn a_flow_is_found_by_its_name() {
    let flows: Flows = registry();
    for table in &flows.0 {
        let id = flows.named(table.flow).unwrap();
        assert_eq!(flows.table(id).flow, table.flow);
    }
    assert_eq!(flows.named("no such flow"), None);
}

#[test]
fn the_diagram_shows_every_edge_and_nothing_else() {
    for table in &registry().0 {
        let drawn = mermaid::draw(table);
        let arrows = drawn.lines().filter(|line| line.contains(" --> ")).count();
        let edges: usize = table.all().map(|s| table.edges(s).len()).sum();
        let ends = table.all().filter(|s| table.ends(*s)).count();
        let cancelled = table.states.iter().filter(|row| row.cancelled.is_some()).count();
        assert_eq!(arrows, edges + cancelled + ends + 1, "{drawn}");
    }
}

/// Turns red where a transfer may be cancelled that may be paid, and where `check` lets a table say so.
#[test]
fn what_two_persons_may_cancel() {
    let table = Table::of::<relay::State>();
    let failed = table.named("FAILED").expect("a state");
    let cancelled = |s: &S| table.state(*s).cancelled == Some(failed);
    let names: Vec<_> = table.all().filter(cancelled).map(|s| table.state(s).name).collect();
    let before_a_send =
        ["RECEIVED", "NEEDS_REGISTRATION", "QUEUED_REGISTRATION", "REGISTERED", "QUEUED_TRANSFER"];
    assert_eq!(names, before_a_send);
    for s in table.all() {
        let faults = |to: S| {
            let mut other = table.clone();
            other.states[usize::from(s)].cancelled = Some(to);
            check::faults(&other).len()
        };
        assert_eq!(faults(failed) == 0, cancelled(&s), "{}", table.state(s).name);
        assert!(table.all().filter(|to| *to != failed).all(|to| faults(to) > 0));
    }
    // one behind a payment that may stand
    let mut other = table.clone();
    let at = usize::from(table.named("SUBMITTED").expect("a state"));
    let received = table.named("RECEIVED").expect("a state");
    if let Step::Send { unknown, .. } = &mut other.states[at].step {
        *unknown = received;
    }
    let fault = "RECEIVED: is cancelled while ft_transfer may have happened";
    assert!(check::faults(&other).iter().any(|found| found == fault));
}
