//! What holds for every flow.

use flows::registry;
use kernel::flow::table::{Flows, Table};
use kernel::flow::{check, mermaid, table_mutations};
use std::collections::BTreeSet;

#[test]
fn every_table_holds() {
    for table in &registry().0 {
        assert_eq!(check::faults(table), [""; 0], "{}", table.flow);
    }
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

/// Survivors of the mutation, each with the reason why no look at a table can see it.
fn explained(table: &Table) -> &'static [(&'static str, &'static str)] {
    match table.flow {
        "internal" => &[],
        other => panic!("{other}: list what its mutants show"),
    }
}

#[test]
fn every_mutant_is_killed_or_explained() {
    for table in &registry().0 {
        let alive: BTreeSet<String> = table_mutations::survivors(table).into_iter().collect();
        let listed = explained(table).iter().map(|(what, _)| (*what).to_owned()).collect();
        assert_eq!(alive, listed, "{}: alive is not what is listed", table.flow);
    }
}

#[test]
fn the_diagram_shows_every_edge_and_nothing_else() {
    for table in &registry().0 {
        let drawn = mermaid::draw(table);
        let arrows = drawn.lines().filter(|line| line.contains(" --> ")).count();
        let edges: usize = table.all().map(|s| table.edges(s).len()).sum();
        let ends = table.all().filter(|s| table.ends(*s)).count();
        assert_eq!(arrows, edges + ends + 1, "{drawn}");
    }
}
