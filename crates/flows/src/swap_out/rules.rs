//! What is decided about a credit on Nexus. Pure over the record and the facts that are named here and in
//! [`crate::swaps::rules`]; a fact that is missing is *not yet*.

use crate::facts::{flag, number, text, yes_no};
use crate::swaps::rules as swap;
use kernel::agreed::Agreed;
use kernel::flow::life::Ruling;
use kernel::ids::Millis;
use kernel::record::{Facts, Record};

/// Number: the smallest credit that is taken in, in base units (`swap.dust_credit_usdd`).
pub const DUST_CREDIT: &str = "dust_credit";
/// Flag: the debit can be credited, and enough time is left for it (`swap.credit_margin_sec`). False: it expires too soon, or
/// can never be credited.
pub const CREDIT_POSSIBLE: &str = "credit_possible";
/// Text: the Solana account that the one asset names which maps this credit: of its own transaction id,
/// and owned by the sender of the debit. An asset of another owner is none.
pub const MAPPING: &str = "mapping";
/// Flag: every asset was read, in final blocks after the deadline, and none maps this credit.
pub const NO_MAPPING: &str = "no_mapping";

/// Number: until when the payout may be accepted and made again, by the source chain's time in milliseconds since 1970:
/// a time after the mapping was found (`REFUND_TIMEOUT_SEC` of the source).
pub const PAYOUT_DEADLINE: &str = "payout_deadline";

/// The history's words for a refund that was refused, or that its receiver did not take and that was called back.
pub const REFUND_REFUSED: &[&str] = &["REFUND_REJECTED", "VOIDED"];

/// Whether a debit to us is credited. What is not stays its sender's.
pub(super) fn take_in(record: &Record, facts: &Facts) -> Ruling {
    let amount = record.source().amount.0;
    match (number(facts, DUST_CREDIT), flag(facts, CREDIT_POSSIBLE)) {
        (Some(dust), _) if amount < dust => Ruling::No,
        (Some(_), Some(true)) => Ruling::Yes,
        (Some(_), Some(false)) => Ruling::No,
        (None, _) | (Some(_), None) => Ruling::NotYet,
    }
}

/// Whether something is left after the fee.
pub(super) fn worth_it(record: &Record) -> Ruling {
    yes_no(swap::worth_it(record))
}

/// Whether the receiver is named; *no* only when the deadline has passed by the chain's time.
pub(super) fn mapping(record: &Record, facts: &Facts) -> Ruling {
    match (text(facts, MAPPING), swap::late(record.terms.deadline, facts)) {
        (Some(_), _) => Ruling::Yes,
        (None, Some(true)) => Ruling::No,
        (None, Some(false) | None) => Ruling::NotYet,
    }
}

/// The last look after the deadline: *no* only when all assets were read.
pub(super) fn last_look(facts: &Facts) -> Ruling {
    match (text(facts, MAPPING), flag(facts, NO_MAPPING)) {
        (Some(_), _) => Ruling::Yes,
        (None, Some(true)) => Ruling::No,
        (None, Some(false) | None) => Ruling::NotYet,
    }
}

/// Whether the payout is promised: the account receives USDC. The unit that accepts takes it from the inventory; while
/// that is short the swap waits: the receiver was named in time. The wait has an end of its own.
pub(super) fn accept(facts: &Facts) -> Ruling {
    let until = number(facts, PAYOUT_DEADLINE);
    let late = number(facts, swap::CHAIN_TIME).zip(until).map(|(now, until)| now > until);
    swap::promise(facts, late)
}

/// What is agreed with the acceptance: the account that the mapping names is paid, until the payout's deadline.
pub(super) fn agreed(record: &Record, facts: &Facts) -> Option<Agreed> {
    let deadline = number(facts, PAYOUT_DEADLINE).and_then(|until| Millis::try_from(until).ok())?;
    let agreed = swap::agreed(record, text(facts, MAPPING))?;
    Some(Agreed { deadline: Some(deadline), ..agreed })
}
