//! Plays each row of a crash page once, in a case that reaches it, on a store where each run takes its time. A row
//! that is left out is listed.

use super::matrix::ChainMatrix;
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

/// The rows of a page up to their last cell, each with that cell.
fn lines(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = rows.filter_map(|line| line.strip_suffix(" |"));
    cells.filter_map(|line| line.rfind("| ").and_then(|at| line.split_at_checked(at + 2)))
}

/// What is wrong with these rows of a page as those that a matrix played, on the fused path or the plain one: each
/// row of the page was played, or stands in a state that nothing comes to.
pub fn unplayed_rows<'r>(
    flow: &str,
    page: &str,
    fuse: bool,
    played: impl IntoIterator<Item = &'r str>,
) -> Vec<String> {
    let (path, other) = if fuse { ("fused", "plain") } else { ("plain", "fused") };
    let mut left: BTreeSet<&str> = played.into_iter().collect();
    let mut faults = Vec::new();
    let mut rows = 0_usize;
    for (row, paths) in lines(page) {
        rows += 1;
        let excused = UNREACHED
            .iter()
            .any(|un| un.flow == flow && row.starts_with(&format!("| {} | ", un.state)));
        match (left.remove(row), excused) {
            (true, false) if paths == "both" || paths == path => {}
            (true, _) => faults.push(format!("{row}{paths} | was played {path} all the same")),
            (false, true) if paths == "–" => {}
            (false, false) if paths == other => {}
            (false, _) => faults.push(format!("{row}{paths} | was not played {path}")),
        }
    }
    faults.extend(left.iter().map(|row| format!("{row} is no row of the page")));
    if rows == 0 {
        faults.push("the page has no row".to_owned());
    }
    faults
}

/// For each row of the page of a flow, the cases that come to it where nothing goes wrong, the shortest first.
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

    const PAGE: &str = "# Crashes\n\n| state | edge | the process dies | paths |\n|---|---|---|---|\n\
        | RECEIVED |  | before the write | both |\n\
        | SUBMITTED | done → COMPLETED | in the write | plain |\n\
        | QUEUED_VERIFICATION |  | proven, not stored | – |\n";
    const RECEIVED: &str = "| RECEIVED |  | before the write | ";
    const SUBMITTED: &str = "| SUBMITTED | done → COMPLETED | in the write | ";
    const WAITS: &str = "| QUEUED_VERIFICATION |  | proven, not stored | ";

    fn faults(page: &str, fuse: bool, played: &[&str]) -> usize {
        unplayed_rows("relay", page, fuse, played.iter().copied()).len()
    }

    #[test]
    fn every_row_is_played_or_excused() {
        assert_eq!(faults(PAGE, false, &[RECEIVED, SUBMITTED]), 0);
        assert_eq!(faults(PAGE, true, &[RECEIVED]), 0);
        // left out, played on the other path, excused and played all the same, no row of the page
        assert_eq!(faults(PAGE, false, &[RECEIVED]), 1);
        assert_eq!(faults(PAGE, true, &[RECEIVED, SUBMITTED]), 1);
        assert_eq!(faults(PAGE, true, &[RECEIVED, WAITS]), 1);
        assert_eq!(faults(PAGE, true, &[RECEIVED, "| PAID |  | in the write | "]), 1);
        // a row that no case comes to, and that is not excused
        assert_eq!(faults(&PAGE.replace("| plain |", "| – |"), true, &[RECEIVED]), 1);
        assert_eq!(faults("", true, &[]), 1);
    }
}
