//! What is decided about a deposit on Solana. Pure over the record and the facts that are named here and
//! in [`crate::swaps::rules`]; a fact that is missing is *not yet*.
//!
//! Nothing here concludes from age: what was sent is proven dead before it is sent again or given back,
//! and the deadline counts by the chain's time, before anything was sent.

use crate::facts::yes_no;
use crate::swaps::rules as swap;
use kernel::agreed::Agreed;
use kernel::flow::life::Ruling;
use kernel::record::{Facts, Record};

/// The history's words for a refund that was refused.
pub const REFUND_REFUSED: &[&str] = &["REFUND_REJECTED"];

/// The longest memo that is read as an address.
const MOST_LETTERS: usize = 128;

/// The Nexus account that a memo names: `nexus:<address>`, the prefix in any case, the address in base58.
pub fn destination(memo: &str) -> Option<&str> {
    let (prefix, address) = memo.split_once(':')?;
    let address = address.trim();
    let letters = |c: char| c.is_ascii_alphanumeric() && !matches!(c, '0' | 'O' | 'I' | 'l');
    let fits = !address.is_empty() && address.len() <= MOST_LETTERS;
    let named = prefix.trim().eq_ignore_ascii_case("nexus") && fits;
    (named && address.chars().all(letters)).then_some(address)
}

/// Whether the memo names an account in the form of one.
pub(super) fn memo_valid(record: &Record) -> Ruling {
    yes_no(record.terms.memo.as_deref().and_then(destination).is_some())
}

/// Whether something is left after the fee.
pub(super) fn worth_it(record: &Record) -> Ruling {
    yes_no(swap::worth_it(record))
}

/// Whether the payout is promised, until the deadline. The unit that accepts takes it from the inventory; while that is
/// short the swap waits.
pub(super) fn accept(record: &Record, facts: &Facts) -> Ruling {
    swap::promise(facts, swap::late(record.terms.deadline, facts))
}

/// What is agreed with the acceptance: the account that the memo names is paid.
pub(super) fn agreed(record: &Record) -> Option<Agreed> {
    swap::agreed(record, record.terms.memo.as_deref().and_then(destination))
}
