//! Which rows of the page CI proves at a commit: a fixed core, and a sixth of the others by turns.

use super::page::Row;

/// Number of commits that prove the rows outside the core, in turn.
const TURNS: u64 = 6;

/// The rows for a commit's hash: the first id of each family (`INV`, `CRA`, …) always, each other one
/// at a sixth of all commits.
pub(super) fn of(rows: Vec<Row>, commit: &str) -> Vec<Row> {
    let turn = number(commit) % TURNS;
    rows.into_iter()
        .filter(|row| row.id.ends_with("-001") || number(&row.id) % TURNS == turn)
        .collect()
}

/// FNV-1a over the text: the same on every machine and in every release of Rust.
fn number(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::sample;
    use super::{Row, of};

    fn ids(rows: &[Row]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn the_core_is_in_every_slice_and_each_row_in_some() {
        let all: Vec<String> = (1..=9).map(|n| format!("INV-{n:03}")).collect();
        let rows: Vec<Row> = all.iter().map(|id| sample(id, Some("twice"))).collect();
        let mut seen = Vec::new();
        for commit in 0..40 {
            let slice = of(rows.clone(), &format!("{commit:040x}"));
            assert!(ids(&slice).contains(&"INV-001"), "commit {commit}");
            assert!(slice.len() < rows.len(), "commit {commit} proves everything");
            seen.extend(ids(&slice).into_iter().map(str::to_owned));
        }
        assert!(all.iter().all(|id| seen.contains(id)), "{seen:?}");
    }
}
