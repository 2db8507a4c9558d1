//! The two state machines of the swap source, and every pair of their states compared with ours. What the
//! source concludes from a timeout or a count of tries is concluded from a proof here.

use crate::contract::agree;
use flows::{swap_in, swap_out};
use kernel::flow::table::Table;

/// "USDC → USDD State Machine", by the status values. QuarantineFailed has none: it is no end of ours.
#[rustfmt::skip]
const IN: [(&str, &str); 10] = [
    ("detected", "ready for processing"),
    ("ready for processing", "debited, awaiting confirmation"),
    ("debited, awaiting confirmation", "processed"),
    ("ready for processing", "processed, amount after fees <= 0"),
    ("detected", "to be refunded"),
    ("ready for processing", "to be refunded"),
    ("debited, awaiting confirmation", "to be refunded"),
    ("to be refunded", "refund sent, awaiting confirmation"),
    ("refund sent, awaiting confirmation", "refund_confirmed"),
    ("refund sent, awaiting confirmation", "to be quarantined"),
];
const IN_HELD: [(&str, &str); 2] = [
    ("to be refunded", "to be quarantined"),
    ("to be quarantined", "quarantine sent, awaiting confirmation"),
];

#[rustfmt::skip]
#[test]
fn solana_to_nexus() {
    let source: Vec<_> = IN.into_iter().chain(IN_HELD).collect();
    let repaired = [
        (("ready for processing", "processed, amount after fees <= 0"), "the fee is looked at when the deposit is found, before its memo is read"),
        (("refund sent, awaiting confirmation", "to be quarantined"), "a timeout proves nothing: the refund is proven dead first, and then decided about again"),
    ];
    let added = [
        (("detected", "processed, amount after fees <= 0"), "the same: dust with a bad memo is kept as fees, and is no matter for an operator"),
        (("ready for processing", "processed"), "the answer to the debit itself may be final"),
        (("to be refunded", "refund_confirmed"), "and that to the refund"),
        (("debited, awaiting confirmation", "debited, awaiting confirmation"), "a debit that is proven dead is made again"),
        (("refund sent, awaiting confirmation", "to be refunded"), "a refund that is proven dead is decided about again"),
        (("to be refunded", "to be refunded"), "the same, told by the answer to the refund itself"),
        (("quarantine sent, awaiting confirmation", "to be quarantined"), "a move that is proven dead leaves the money held; the source ends there as QuarantineFailed"),
        (("to be quarantined", "to be refunded"), "a person allows one more refund"),
    ];
    agree(&Table::of::<swap_in::State>(), &source, &repaired, &added);
}

/// "USDD → USDC State Machine", by the status values.
#[rustfmt::skip]
const OUT: [(&str, &str); 15] = [
    ("pending_receival", "ready for processing"),
    ("ready for processing", "sending"),
    ("sending", "sig created, awaiting confirmations"),
    ("sig created, awaiting confirmations", "processed"),
    ("pending_receival", "processed as fees"),
    ("pending_receival", "trade balance to be checked"),
    ("trade balance to be checked", "refund pending"),
    ("trade balance to be checked", "collecting refund"),
    ("ready for processing", "refund pending"),
    ("sending", "refund pending"),
    ("sig created, awaiting confirmations", "refund pending"),
    ("refund pending", "refunded"),
    ("collecting refund", "refunded"),
    ("refund pending", "quarantined"),
    ("collecting refund", "quarantined"),
];

#[rustfmt::skip]
#[test]
fn nexus_to_solana() {
    let repaired = [
        (("pending_receival", "processed as fees"), "the fee is looked at when the credit is found, before a mapping is waited for"),
        (("trade balance to be checked", "collecting refund"), "through refund pending: whether a refund is possible is asked first"),
        (("refund pending", "refunded"), "through collecting refund, which is its claim"),
        (("collecting refund", "quarantined"), "through refund pending: a refund that failed is decided about again"),
    ];
    let added = [
        (("trade balance to be checked", "ready for processing"), "the asset is there at the last look: the source's table of priorities retries the lookup"),
        (("sending", "processed"), "the answer to the payment itself may be final"),
        (("sending", "sending"), "a payment that is proven dead is made again"),
        (("sig created, awaiting confirmations", "sending"), "the same, proven later"),
        (("refund pending", "collecting refund"), "a refund that is possible is claimed"),
        (("collecting refund", "refund pending"), "a refund that is proven dead, or expired and called back, is decided about again"),
        (("refund pending", "refund pending"), "a person allows one more refund of what is held"),
    ];
    agree(&Table::of::<swap_out::State>(), &OUT, &repaired, &added);
}
