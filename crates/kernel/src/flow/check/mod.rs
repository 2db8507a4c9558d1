//! Proves of a flow's table what can be proven without running it. It cannot prove that a rule means what
//! it says: for that, read the diagram.

mod act_rules;
mod booking;
mod cancel;
mod declarations;
mod exclude;
mod money;
mod reachable;

use crate::flow::table::Table;

/// The faults of a table, each beginning with the state or the act that it is about; none: it holds. An engine does not
/// start with a table that has one.
pub fn faults(t: &Table) -> Vec<String> {
    let mut bad = reachable::inside(t);
    if bad.is_empty() {
        // the others follow the edges, so these must lead somewhere
        let rules: [fn(&Table) -> Vec<String>; 8] = [
            reachable::names,
            reachable::ways,
            act_rules::faults,
            money::faults,
            booking::faults,
            exclude::faults,
            cancel::faults,
            declarations::faults,
        ];
        for rule in rules {
            bad.extend(rule(t));
        }
    }
    bad
}
