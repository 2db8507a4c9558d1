//! Plays each crash point of a flow's table once, in a case that reaches it, on a store where each run takes its time. A
//! row that is left out is listed.

use super::matrix::ChainMatrix;
use super::places::{Places, table_of};
use super::{ChainCase, ChainTrial, deaths, play, runs};
use std::collections::{BTreeMap, BTreeSet};

/// A state whose rows no case can come to.
#[derive(Debug, Clone, Copy)]
pub struct Unreached {
    /// The stored name of the flow.
    pub flow: &'static str,
    /// The name of the state.
    pub state: &'static str,
    /// Why no transfer ever stands there.
    pub why: &'static str,
}

const WAITS: &str = "That an attempt may be on the wire is one row of the attempt; its members stay where they are.";

/// Every state of a flow that sends whose rows no case can come to.
pub const UNREACHED: [Unreached; 4] = [
    Unreached { flow: "relay", state: "QUEUED_VERIFICATION", why: WAITS },
    Unreached { flow: "swap_in", state: "debited, awaiting confirmation", why: WAITS },
    Unreached { flow: "swap_in", state: "refund sent, awaiting confirmation", why: WAITS },
    Unreached { flow: "swap_out", state: "sig created, awaiting confirmations", why: WAITS },
];

/// Whether no case reaches the crash points of this state.
pub(super) fn is_unreached(flow: &str, state: &str) -> bool {
    UNREACHED.iter().any(|one| one.flow == flow && one.state == state)
}

/// What is wrong with these rows as those at which processes died on one path: each crash point of the flow's table is
/// among them, unless no case reaches its state.
///
/// # Panics
/// Where there is no such flow.
pub fn unplayed_rows<'r>(flow: &str, played: impl IntoIterator<Item = &'r str>) -> Vec<String> {
    let table = table_of(flow);
    let mut left: BTreeSet<&str> = played.into_iter().collect();
    let mut faults = Vec::new();
    for place in Places(&table).all() {
        let row = Places(&table).row(place);
        match (left.remove(row.as_str()), is_unreached(flow, table.state(place.0).name)) {
            (true, false) | (false, true) => {}
            (true, true) => faults.push(format!("{row} was played, and no case reaches it")),
            (false, false) => faults.push(format!("{row} was not played")),
        }
    }
    faults.extend(left.iter().map(|row| format!("{row} is no row of the table")));
    faults
}

/// For each crash point of a flow, the cases that come to it where nothing goes wrong, the shortest first.
pub fn cases_of_rows<C: ChainCase>(trial: &ChainTrial<C>, flow: &str) -> BTreeMap<String, Vec<C>> {
    let mut rows: BTreeMap<String, Vec<(u64, C)>> = BTreeMap::new();
    for (case, fuse, seed) in runs(trial).filter(|(case, ..)| case.flow() == flow) {
        let mut reached = ChainMatrix::of(flow);
        let calm = play(trial, case, (fuse, seed), &[]);
        deaths(&calm).into_iter().for_each(|spot| reached.died(fuse, &calm, spot));
        for row in reached.reached() {
            rows.entry(row).or_default().push((calm.writes, case.clone()));
        }
    }
    let shortest_first = |mut cases: Vec<(u64, C)>| {
        cases.sort_by_key(|(writes, _)| *writes);
        cases.into_iter().map(|(_, case)| case).collect()
    };
    rows.into_iter().map(|(row, cases)| (row, shortest_first(cases))).collect()
}

/// The process dies once at each row that a case comes to, in the first case that does, fused and plain. Gives back
/// where it died.
pub fn crash_at_every_row<C: ChainCase>(trial: &ChainTrial<C>, flow: &str) -> ChainMatrix {
    let mut matrix = ChainMatrix::of(flow);
    for (case, fuse, seed) in runs(trial).filter(|(case, ..)| case.flow() == flow) {
        let calm = play(trial, case, (fuse, seed), &[]);
        for spot in deaths(&calm) {
            if matrix.is_new(fuse, &calm, spot) {
                play(trial, case, (fuse, seed), &[spot]);
                matrix.died(fuse, &calm, spot);
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::unplayed_rows;
    use crate::generic::chain::ChainDeathPoint;

    #[test]
    fn every_row_is_played_or_excused() {
        let all: Vec<String> =
            ChainDeathPoint::all("relay").into_iter().map(|point| point.row).collect();
        let faults =
            |rows: &[String]| unplayed_rows("relay", rows.iter().map(String::as_str)).len();
        assert!(all.len() > 30, "{all:?}");
        assert_eq!(faults(&all), 0);
        let [first, rest @ ..] = all.as_slice() else { panic!("no row") };
        assert_eq!(faults(rest), 1, "{first} is left out");
        let and = |row: &str| [&all[..], &[row.to_owned()]].concat();
        let excused = "| QUEUED_VERIFICATION |  | proven, not stored | ";
        assert_eq!(faults(&and(excused)), 1, "excused, and played all the same");
        assert_eq!(faults(&and("| PAID |  | in the write | ")), 1, "no row of the table");
    }
}
