//! Lists the wrong builds that the campaign finds, each with its seed and the oracle's message.

/// A wrong build that the campaign finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub name: &'static str,
    /// What it does wrong.
    pub lie: &'static str,
    /// The first seed from 0 that finds it.
    pub seed: u64,
    /// What the oracle says of it, in part.
    pub oracle: &'static str,
}

const fn found(
    name: &'static str,
    lie: &'static str,
    (seed, oracle): (u64, &'static str),
) -> Found {
    Found { name, lie, seed, oracle }
}

/// Each wrong build: first those of every service that moves money, then those of this one.
#[rustfmt::skip]
pub const FOUND: &[Found] = &[
    found("no-idempotency", "Spot executes again whatever comes again", (0, "a second time")),
    found("timeout-is-refusal", "an unknown answer is taken for a refusal, so a timeout rolls back", (0, "and no ledger refused it")),
    found("refusal-not-kept", "Spot does not keep a refusal: the same leg is tried anew", (0, "a second time")),
    found("failed-after-retries", "a leg that stays unknown three times is taken for refused", (2, "and no ledger refused it")),
    found("syncs-lie", "Spot answers before its log is durable: the disk's syncs do nothing", (0, "was acknowledged")),
    found("check-beside-the-unit", "whether a client's key is free is asked before the unit, not in it", (0, "is bound twice")),
    found("audit-beside-the-unit", "the history is written behind the state, in a write of its own", (0, "and its history ends")),
    found("order-of-states", "done is what `state >= state after it` says, by the states' numbers", (0, "is ROLLED_BACK and it was not given back")),
    found("leg-forgotten", "Spot knows its results by the transfer alone, without the leg", (0, "and stored nothing")),
    found("key-expires", "a client's key is forgotten after a minute", (2, "is bound twice")),
    found("second-core", "two Spot cores over one folder, taken for one", (0, "and stored nothing")),
    found("refund-refused", "a refund into an account that is not active is refused, and stays so", (20, "a refund was refused")),
    found("empty-folder", "whatever folder Spot finds, an empty one too, is taken for the right one", (4, "is not the ledger that it was, and did something")),
    found("checked-after-claim", "the engine looks at the asset again after the claim, and refuses", (5, "is FAILED and no ledger refused it")),
    found("results-expire", "Spot forgets results that are ten minutes old by its process's clock", (8, "a second time")),
    found("answer-by-timer", "a create is answered by a timer, before its row is durable", (0, "of no transfer that was opened")),
    found("settle-refused", "what hinders the unit that writes COMMITTED is taken for the deposit's refusal", (0, "is COMPENSATING and no ledger refused it")),
    found("fence-at-proposal", "a verdict's fence is set when it is proposed, not when it takes effect", (2, "which no operator approved")),
    found("halt-loses-answers", "an answer that comes under HALT is lost with the claim that it leads to", (10, "is put off as if its outcome were unknown")),
    found("resume-of-another-halt", "a proposal of a resume is of no halt: an old one is approved for the one that stands", (5, "HALT is resumed, and no proposal of it was approved")),
    found("halt-compared-in-ram", "which halt a resume is of is compared in the process before its unit, and not in it", (6, "HALT is resumed, and no proposal of it was approved")),
    found("movement-under-halt", "whether external money may be booked is asked of the process, not of the journal", (6, "an external movement is booked under HALT")),
];

/// Those that only show where several workers share the journal.
#[rustfmt::skip]
pub const MANY: &[Found] = &[
    found("dead-workers-transfers-stay", "no worker goes on with what a dead worker held", (0, "it does not end")),
    found("lost-lease-is-refusal", "what is unknown after a worker's lease was lost is taken for refused", (2, "and no ledger refused it")),
    found("commit-not-replicated", "a commit whose wait for the standby was cancelled is answered as one that was waited for", (2, "of no transfer that was opened")),
];

/// Every one of them.
pub fn all() -> impl Iterator<Item = &'static Found> {
    FOUND.iter().chain(MANY)
}
