//! What the guide quotes is what stands in its files.
//!
//! Seen red with a guide whose `execute` lacks its last line.

const PAGE: &str = include_str!("../../../../../docs/guide/own-ledger.md");
const FILES: [&str; 2] = [
    include_str!("../../../../../docs/guide/own_ledger.py"),
    include_str!("../../../../../docs/guide/own_ledger_simple.py"),
];

#[test]
fn the_guide_quotes_its_files() {
    let blocks: Vec<&str> = PAGE
        .split("```python\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("a block has an end").0)
        .collect();
    assert!(blocks.len() >= 2, "the heart and the transaction: {}", blocks.len());
    for block in blocks {
        assert!(FILES.iter().any(|file| file.contains(block)), "in neither file:\n{block}");
    }
}
