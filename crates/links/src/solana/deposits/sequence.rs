//! Puts the changes of one slot into a sequence: an index promises none within a slot, and each change begins at the
//! balance that the one before left. Pure.

use super::movements::BalanceChange;
use std::collections::BTreeMap;

/// All changes in a sequence that goes from balance to balance, beginning at `start`; `None`: there is none, so one is
/// left out. Each change is the edge of a graph of balances, and the sequence a path over all edges (Hierholzer).
pub(super) fn in_sequence(start: u64, changes: Vec<BalanceChange>) -> Option<Vec<BalanceChange>> {
    let count = changes.len();
    let mut from: BTreeMap<u64, Vec<BalanceChange>> = BTreeMap::new();
    for change in changes {
        from.entry(change.before).or_default().push(change);
    }
    let (mut at, mut stack, mut path) = (start, Vec::new(), Vec::with_capacity(count));
    loop {
        if let Some(next) = from.get_mut(&at).and_then(Vec::pop) {
            at = next.after;
            stack.push(next);
        } else if let Some(last) = stack.pop() {
            at = last.before;
            path.push(last);
        } else {
            break;
        }
    }
    path.reverse();
    let goes_on = path.windows(2).all(|pair| match pair {
        [one, next] => one.after == next.before,
        _ => true,
    });
    let begins = path.first().is_none_or(|first| first.before == start);
    (path.len() == count && goes_on && begins).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: u64, after: u64) -> BalanceChange {
        BalanceChange { before, after, ..BalanceChange::default() }
    }

    fn sequence(start: u64, changes: &[[u64; 2]]) -> Option<Vec<[u64; 2]>> {
        let changes = changes.iter().map(|[before, after]| change(*before, *after)).collect();
        let ordered = in_sequence(start, changes)?;
        Some(ordered.iter().map(|one| [one.before, one.after]).collect())
    }

    /// Turns red where a sequence is taken that does not go on, or where one that leads back to its beginning hides
    /// another.
    #[test]
    fn changes_follow_each_other() {
        assert_eq!(sequence(5, &[]), Some(Vec::new()));
        assert_eq!(sequence(5, &[[9, 7], [5, 9]]), Some(vec![[5, 9], [9, 7]]));
        let there_and_back = sequence(5, &[[5, 7], [5, 6], [6, 5]]);
        assert_eq!(there_and_back, Some(vec![[5, 6], [6, 5], [5, 7]]));
        for left_out in [&[[6, 7]][..], &[[5, 6], [7, 8]], &[[5, 6], [5, 7]], &[[5, 6], [9, 9]]] {
            assert_eq!(sequence(5, left_out), None, "{left_out:?}");
        }
    }
}
