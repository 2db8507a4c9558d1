//! The life that the relay source lists, and every pair of its states compared with ours.

use crate::contract::agree;
use flows::relay::State;
use kernel::flow::table::Table;

/// "Transfer Lifecycle States", with "or on any error" spelled out by its three workers.
#[rustfmt::skip]
const SOURCE: [(&str, &str); 9] = [
    ("RECEIVED", "QUEUED_REGISTRATION"),
    ("QUEUED_REGISTRATION", "REGISTERED"),
    ("QUEUED_REGISTRATION", "FAILED"),
    ("REGISTERED", "QUEUED_TRANSFER"),
    ("QUEUED_TRANSFER", "SUBMITTED"),
    ("QUEUED_TRANSFER", "FAILED"),
    ("SUBMITTED", "QUEUED_VERIFICATION"),
    ("QUEUED_VERIFICATION", "COMPLETED"),
    ("QUEUED_VERIFICATION", "FAILED"),
];

#[rustfmt::skip]
#[test]
fn every_pair_of_states_agrees() {
    let repaired = [
        (("QUEUED_TRANSFER", "FAILED"), "nothing was sent yet, so nothing was refused: a transaction that cannot be sent waits"),
    ];
    let added = [
        (("RECEIVED", "REGISTERED"), "the source's fast path: the receiver is registered already"),
        (("RECEIVED", "FAILED"), "a receiver that does not exist is not queued first"),
        (("QUEUED_REGISTRATION", "QUEUED_REGISTRATION"), "a registration that is proven dead is made again"),
        (("SUBMITTED", "COMPLETED"), "the answer to the broadcast itself may be final"),
        (("SUBMITTED", "FAILED"), "and so may its refusal"),
        (("SUBMITTED", "RECEIVED"), "a transaction that is proven dead paid no member: each begins anew"),
        (("QUEUED_VERIFICATION", "RECEIVED"), "the same, proven later; the source counts 20 looks and says FAILED"),
    ];
    agree(&Table::of::<State>(), &SOURCE, &repaired, &added);
}
