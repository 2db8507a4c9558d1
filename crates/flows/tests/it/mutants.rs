//! How much `check` sees of each flow: every mutant of its table is killed, or listed here with the
//! reason why no look at a table can see it.

use flows::registry;
use kernel::flow::table::Table;
use std::collections::BTreeSet;
use tables::mutants;

/// Survivors of the mutation: what they begin with, how they end, and the reason.
type Explained = &'static [(&'static [&'static str], &'static [&'static str], &'static str)];

const BEFORE: &str = "a rule more or fewer stands before the same claim, and nothing was sent by then; \
    what a rule means is read in the diagram";
const FEES: &str = "a rule may keep money that is in flight as fees; when is its meaning";
const UNASKED: &str = "refunds or holds without asking whether a refund is possible, or a person; nothing \
    else stands, so no money is at risk";
const AFTER_ALL: &str = "pays after all, or again, when what was done before certainly has no effect: one \
    effect, not the one that was meant";
const OUT_OF_HOLD: &str = "takes money out of the hold to pay it after all, or to give it back unasked: no \
    effect stands by then";
const CLAIMED_AGAIN: &str = "claims again without a rule in between: a dead attempt never lands";
const ASKED_AGAIN: &str = "asks once more whether it was delivered, and comes back if it was not";
const AT_SOURCE: &str = "nothing was taken from the source: it ends there under the word of another such end, or is decided \
    about again";
const WAITS: &str = "a rule may wait for its facts; whether it does is its meaning";
const RESERVED_LONGER: &str = "inventory stays reserved while it is decided whether the payout is made again: it is only \
    kept from others";
const TIMES: &str = "which time is normal for a call of the target is said by the other side, not by the \
    table";
const FEE: &str = "whether the fee is kept is agreed, not proven";
const ONE_SYSTEM: &str =
    "both sides of a move are in one system, so either may be where it is made";
const NO_MONEY: &str = "a registration moves none of the transfer's money: it may be decided about, made \
    or left out once more or once less";

const ACCOUNT: Explained = &[
    (&["validate: ", "execute: "], &["other side"], ONE_SYSTEM),
    (&["execute: "], &["share Some(Net)"], FEE),
];

#[rustfmt::skip]
const RELAY: Explained = &[
    (&["RECEIVED -Yes-> "], &["QUEUED_REGISTRATION", "QUEUED_TRANSFER", "FAILED"], NO_MONEY),
    (&["RECEIVED -No-> "], &["QUEUED_REGISTRATION"], NO_MONEY),
    (&["NEEDS_REGISTRATION -No-> "], &["RECEIVED", "REGISTERED", "QUEUED_TRANSFER"], NO_MONEY),
    (&["REGISTERING -Done-> "], &["RECEIVED", "QUEUED_REGISTRATION", "QUEUED_TRANSFER"], NO_MONEY),
    (&["REGISTERING -Rejected-> "], &["RECEIVED", "NEEDS_REGISTRATION", "QUEUED_TRANSFER"], NO_MONEY),
    (&["REGISTERING -Dead-> "], &["RECEIVED", "QUEUED_REGISTRATION", "QUEUED_TRANSFER", "FAILED"], NO_MONEY),
    (&["storage_deposit: ", "ft_transfer: "], &["other side"], ONE_SYSTEM),
    (&["ft_transfer: "], &["share Some(Gross)"], FEE),
    (&["RECEIVED: ", "NEEDS_REGISTRATION: "], &["normal Seconds(60)"], WAITS),
    (&["REGISTERING: ", "SUBMITTED: ", "QUEUED_VERIFICATION: "], &["normal Configured"], TIMES),
];

#[rustfmt::skip]
const SWAP_IN: Explained = &[
    (&["above fees -No-> "], &["detected", "debit dead"], BEFORE),
    (&["ready for processing -Yes-> "], &["debit dead"], BEFORE),
    (&["ready for processing -No-> "], &["detected", "above fees", "debit dead"], BEFORE),
    (&["above fees -No-> ", "ready for processing -No-> ", "debit dead -Yes-> ", "debit dead -No-> "], &["processed, amount after fees <= 0"], FEES),
    (&["above fees -No-> ", "ready for processing -No-> ", "debit dead -Yes-> ", "debit dead -No-> "], &["refund ready", "to be quarantined", "quarantine ready"], UNASKED),
    (&["to be refunded -No-> "], &["quarantine ready"], UNASKED),
    (&["voiding -Done-> "], &["debit dead", "refund ready"], AFTER_ALL),
    (&["to be quarantined -No-> "], &["debit dead", "refund ready"], OUT_OF_HOLD),
    (&["quarantine sent, awaiting confirmation -Dead-> "], &["quarantine ready"], CLAIMED_AGAIN),
    (&["voiding -Dead-> "], &["debit_confirmed"], ASKED_AGAIN),
    (&["refund USDC: "], &["share Some(Gross)"], FEE),
    (&["quarantine USDC: "], &["share Some(LessRefundFee)"], FEE),
    (&["detected: ", "above fees: ", "debit dead: ", "to be quarantined: "], &["normal Seconds(60)"], WAITS),
    (&["debit dead: "], &["booked Owed, Reserved"], RESERVED_LONGER),
    (&["debiting: ", "debited, awaiting confirmation: ", "voiding: "], &["normal Configured"], TIMES),
];

#[rustfmt::skip]
const SWAP_OUT: Explained = &[
    (&["crediting -Rejected-> "], &["credit found"], AT_SOURCE),
    (&["crediting -Dead-> "], &["not taken"], AT_SOURCE),
    (&["crediting -Dead-> "], &["credit ready"], CLAIMED_AGAIN),
    (&["pending_receival -Yes-> "], &["detected", "accepted", "payout dead"], BEFORE),
    (&["trade balance to be checked -Yes-> "], &["accepted"], BEFORE),
    (&["trade balance to be checked -Yes-> ", "trade balance to be checked -No-> "], &["detected", "pending_receival", "payout dead"], BEFORE),
    (&["ready for processing -Yes-> "], &["payout dead"], BEFORE),
    (&["ready for processing -No-> "], &["detected", "pending_receival", "payout dead", "trade balance to be checked"], BEFORE),
    (&["pending_receival -Yes-> ", "trade balance to be checked -Yes-> ", "trade balance to be checked -No-> ", "ready for processing -No-> ", "payout dead -Yes-> ", "payout dead -No-> "], &["processed as fees"], FEES),
    (&["pending_receival -Yes-> "], &["refund pending"], UNASKED),
    (&["pending_receival -Yes-> ", "trade balance to be checked -Yes-> ", "trade balance to be checked -No-> ", "ready for processing -No-> ", "payout dead -Yes-> ", "payout dead -No-> "], &["collecting refund", "to be quarantined", "quarantine ready"], UNASKED),
    (&["refund pending -No-> "], &["quarantine ready"], UNASKED),
    (&["refunding -Rejected-> ", "refunding -Dead-> ", "voiding refund -Done-> "], &["payout dead"], AFTER_ALL),
    (&["to be quarantined -No-> "], &["payout dead", "collecting refund"], OUT_OF_HOLD),
    (&["refunding -Dead-> ", "voiding refund -Done-> "], &["collecting refund"], CLAIMED_AGAIN),
    (&["quarantining -Dead-> "], &["quarantine ready"], CLAIMED_AGAIN),
    (&["voiding refund -Dead-> "], &["refund debited"], ASKED_AGAIN),
    (&["refund USDD: "], &["share Some(Gross)"], FEE),
    (&["quarantine USDD: "], &["share Some(LessRefundFee)"], FEE),
    (&["credit found: ", "detected: ", "payout dead: ", "trade balance to be checked: ", "to be quarantined: "], &["normal Seconds(60)"], WAITS),
    (&["payout dead: "], &["booked Owed, Reserved"], RESERVED_LONGER),
    (&["sending: ", "sig created, awaiting confirmations: "], &["normal Configured"], TIMES),
];

fn explained(table: &Table) -> BTreeSet<String> {
    let listed: Explained = match table.flow {
        "internal" => &[],
        "account" => ACCOUNT,
        "relay" => RELAY,
        "swap_in" => SWAP_IN,
        "swap_out" => SWAP_OUT,
        other => panic!("{other}: list what its mutants show"),
    };
    let each = listed.iter().flat_map(|(begin, end, why)| {
        assert!(!why.is_empty());
        begin.iter().flat_map(|begin| end.iter().map(move |end| format!("{begin}{end}")))
    });
    each.collect()
}

#[test]
fn every_mutant_is_killed_or_explained() {
    for table in &registry().0 {
        let alive: BTreeSet<String> = mutants::survivors(table).into_iter().collect();
        let listed = explained(table);
        let unlisted: Vec<_> = alive.difference(&listed).collect();
        let killed: Vec<_> = listed.difference(&alive).collect();
        assert!(unlisted.is_empty(), "{}: not explained: {unlisted:#?}", table.flow);
        assert!(killed.is_empty(), "{}: explained, and yet killed: {killed:#?}", table.flow);
    }
}

#[test]
fn there_is_much_to_kill() {
    let count =
        |table: &Table| (table.flow, mutants::of(table).len(), mutants::survivors(table).len());
    let counts: Vec<_> = registry().0.iter().map(count).collect();
    expect_test::expect![[r#"
        [
            (
                "internal",
                209,
                0,
            ),
            (
                "account",
                141,
                3,
            ),
            (
                "relay",
                321,
                25,
            ),
            (
                "swap_in",
                1624,
                39,
            ),
            (
                "swap_out",
                2062,
                63,
            ),
        ]
    "#]]
    .assert_debug_eq(&counts);
}
