//! The state diagram of the pipeline source, and every pair of its states compared with ours.

use flows::account::State;
use kernel::flow::life::{Via, Word};
use kernel::flow::table::Table;
use std::collections::BTreeSet;

/// "Transfer Status - State Machine", arrow for arrow.
const SOURCE: [(&str, &str); 6] = [
    ("PENDING", "VALIDATING"),
    ("VALIDATING", "VALIDATED"),
    ("VALIDATING", "FAILED"),
    ("VALIDATED", "EXECUTING"),
    ("EXECUTING", "COMPLETED"),
    ("EXECUTING", "FAILED"),
];

/// Nothing differs but that an unknown answer stays where it is, for which the source has no word.
#[test]
fn every_pair_of_states_agrees() {
    let t = Table::of::<State>();
    let known = |via: &Via| *via != Via::Unknown;
    let arrows = t.all().flat_map(|s| t.edges(s).into_iter().map(move |(via, to)| (s, via, to)));
    let ours: BTreeSet<_> = arrows
        .filter(|(_, via, _)| known(via))
        .map(|(from, _, to)| (t.state(from).name, t.state(to).name))
        .collect();
    assert_eq!(ours, BTreeSet::from(SOURCE));
    let names: BTreeSet<_> = State::ALL.iter().map(|s| s.name()).collect();
    let theirs: BTreeSet<_> = SOURCE.iter().flat_map(|(from, to)| [*from, *to]).collect();
    assert_eq!(names, theirs);
}
