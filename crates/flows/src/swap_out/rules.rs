//! What is decided about a credit on Nexus. Pure over the record and the facts that are named here and in
//! [`crate::swaps::rules`]; a fact that is missing is *not yet*.

use crate::facts::{flag, text, yes_no};
use crate::swaps::rules as swap;
use kernel::agreed::Agreed;
use kernel::flow::life::Ruling;
use kernel::record::{Facts, Record};

/// Text: the Solana account that the one asset names which maps this credit: of its own transaction id,
/// and owned by the sender of the debit. An asset of another owner is none.
pub const MAPPING: &str = "mapping";
/// Flag: every asset was read, in final blocks after the deadline, and none maps this credit.
pub const NO_MAPPING: &str = "no_mapping";

/// Whether something is left after the fee.
pub(super) fn worth_it(record: &Record) -> Ruling {
    yes_no(swap::worth_it(record))
}

/// Whether the receiver is named; *no* only when the deadline has passed by the chain's time.
pub(super) fn mapping(record: &Record, facts: &Facts) -> Ruling {
    match (text(facts, MAPPING), swap::late(record, facts)) {
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

/// Whether the payout is promised: the account receives USDC, and the inventory covers it. A short
/// inventory waits: the receiver was named in time.
pub(super) fn accept(record: &Record, facts: &Facts) -> Ruling {
    match flag(facts, swap::DESTINATION_VALID) {
        Some(false) => Ruling::No,
        Some(true) if swap::covered(record, facts).is_some() => Ruling::Yes,
        Some(true) | None => Ruling::NotYet,
    }
}

/// What is agreed with the acceptance: the account that the mapping names is paid.
pub(super) fn agreed(record: &Record, facts: &Facts) -> Option<Agreed> {
    swap::agreed(record, text(facts, MAPPING))
}

/// Whether a payout that is proven dead is made again.
pub(super) fn try_again(facts: &Facts) -> Ruling {
    swap::try_again(facts).map_or(Ruling::NotYet, yes_no)
}
