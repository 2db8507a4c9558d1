//! What holds for every flow.

use flows::registry;
use kernel::flow::table::Flows;
use kernel::flow::{check, mermaid};

#[test]
fn every_table_holds() {
    for table in &registry().0 {
        assert_eq!(check::faults(table), [""; 0], "{}", table.flow);
    }
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
