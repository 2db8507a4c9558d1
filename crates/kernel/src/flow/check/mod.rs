//! Proves of a flow's table what can be proven without running it. It cannot prove that a rule means what
//! it says: for that, read the diagram.

mod act_rules;
mod cancel;
mod declarations;
mod exclude;
mod money;
mod reachable;

use crate::flow::life::Life;
use crate::flow::table::Table;

/// The faults of a flow's table; none: it holds.
pub fn check<L: Life>() -> Vec<String> {
    faults(&Table::of::<L>())
}

/// The faults of a table, each beginning with the state or the act that it is about.
pub fn faults(t: &Table) -> Vec<String> {
    let mut bad = reachable::inside(t);
    if bad.is_empty() {
        // the others follow the edges, so these must lead somewhere
        let rules: [fn(&Table) -> Vec<String>; 7] = [
            reachable::names,
            reachable::ways,
            act_rules::faults,
            money::faults,
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
