//! How much `check` sees of the toy: every mutant is killed, or listed here with the reason.

use crate::toy::State;
use kernel::flow::table::Table;
use std::collections::BTreeSet;
use tables::mutants;

/// What no look at the table can tell from the right one.
#[rustfmt::skip]
const EXPLAINED: &[(&[&str], &str)] = &[
    (
        &["found -Yes-> payout dead", "found -No-> payout dead", "payout dead -Yes-> found", "payout dead -No-> found"],
        "a rule more or a rule fewer stands before the same claim; what a rule means is read in the diagram",
    ),
    (
        &["found -No-> refund ready", "payout dead -Yes-> refund ready", "payout dead -No-> refund ready", "held -No-> refund ready"],
        "refunds without asking whether a refund is possible; nothing else stands, so no money is at risk",
    ),
    (
        &["found -No-> held", "payout dead -Yes-> held", "payout dead -No-> held"],
        "a rule may park money for a person; that a refund should be tried first is its meaning",
    ),
    (
        &["found -No-> move ready", "payout dead -Yes-> move ready", "payout dead -No-> move ready", "to refund -No-> move ready"],
        "moves money out that no person looked at; only the rule's name says that one should",
    ),
    (
        &["held -No-> found", "held -No-> payout dead", "held -No-> ready"],
        "takes money out of the hold to pay it after all: neither a payout nor a refund stands by then",
    ),
    (
        &["refunding -Dead-> found", "refunding -Dead-> payout dead", "refunding -Dead-> ready",
          "refunding -Rejected-> found", "refunding -Rejected-> payout dead", "refunding -Rejected-> ready"],
        "pays after all when the refund certainly never happens: one effect, not the one that was meant",
    ),
    (
        &["voiding -Done-> found", "voiding -Done-> payout dead", "voiding -Done-> ready"],
        "pays again once the first payout is void: one effect, not the one that was meant",
    ),
    (
        &["voiding -Done-> refund ready"],
        "refunds without asking whether a refund is possible, once the payout is void",
    ),
    (
        &["refunding -Dead-> refund ready", "moving out -Dead-> move ready"],
        "claims again without a rule in between, as voiding does on purpose: a dead attempt never lands",
    ),
    (
        &["voiding -Dead-> sent"],
        "asks once more whether the payout arrived, and comes back if it did not",
    ),
    (
        &["found: normal Seconds(60)", "payout dead: normal Seconds(60)", "to refund: normal Seconds(60)", "held: normal Seconds(60)"],
        "a rule may wait for its facts; whether it does is its meaning",
    ),
    (
        &["sending: normal Configured", "sent, not seen: normal Configured", "voiding: normal Configured"],
        "which time is normal for a call of the target is said by the other side, not by the table",
    ),
    (
        &["refund: share Some(Gross)", "move out: share Some(LessRefundFee)"],
        "whether the fee is kept when the target was not paid is agreed, not proven",
    ),
];

#[test]
fn every_mutant_is_killed_or_explained() {
    let alive: BTreeSet<String> = mutants::survivors(&Table::of::<State>()).into_iter().collect();
    let listed = EXPLAINED.iter().flat_map(|(what, _)| what.iter().map(|w| (*w).to_owned()));
    let listed: BTreeSet<String> = listed.collect();
    let unlisted: Vec<_> = alive.difference(&listed).collect();
    let killed: Vec<_> = listed.difference(&alive).collect();
    assert!(unlisted.is_empty(), "survive and are not explained: {unlisted:#?}");
    assert!(killed.is_empty(), "explained, and yet killed: {killed:#?}");
}

#[test]
fn there_is_much_to_kill() {
    let all = mutants::of(&Table::of::<State>()).len();
    let alive: usize = EXPLAINED.iter().map(|(what, _)| what.len()).sum();
    assert_eq!((all, alive), (837, 40));
}
