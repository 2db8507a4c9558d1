//! How far the proof has come, as it is stored in the journal, so that neither a start nor a resume looks
//! at every transfer there is before it says anything.
//!
//! What is stored only tells *when* a row is looked at again, never that it is right: the window comes
//! by every row in any case, books and accounts are proven from all rows, and a number beyond what there
//! is, or of a ledger of another identity, is left out. So who changes it gains that a row is looked
//! at by the window's rate, as old rows are.

use crate::reconciliation::lines::Lines;
use crate::reconciliation::operation_matcher::OperationMatcher;
use crate::reconciliation::{Checker, lesser};
use kernel::ids::LedgerId;
use kernel::operation::Identity;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The resource of the journal that holds it.
pub const PROVEN: &str = "proven";

/// The form of the text.
const VERSION: u64 = 1;

/// How far a proof has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    /// Every transfer up to this number has ended and was in order.
    transfers: u64,
    /// Of each ledger elsewhere: who it is, and up to which operation all were matched.
    ledgers: BTreeMap<LedgerId, (Identity, u64)>,
}

impl Proven {
    /// As it is stored.
    pub(crate) fn text(&self) -> String {
        let ledger = |(ledger, (identity, operations)): (&LedgerId, &(Identity, u64))| {
            let identity = format!("{:032x}", identity.0);
            json!({ "ledger": ledger.0, "identity": identity, "operations": operations })
        };
        let ledgers: Vec<Value> = self.ledgers.iter().map(ledger).collect();
        json!({ "version": VERSION, "transfers": self.transfers, "ledgers": ledgers }).to_string()
    }

    /// The way back; nothing is proven where the text is none of ours.
    pub(crate) fn read(text: Option<&str>) -> Self {
        text.and_then(Self::parsed).unwrap_or_default()
    }

    fn parsed(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let number = |value: &Value, name: &str| value.get(name)?.as_u64();
        if number(&value, "version")? != VERSION {
            return None;
        }
        let ledger = |value: &Value| {
            let identity = value.get("identity")?.as_str()?;
            let identity = Identity(u128::from_str_radix(identity, 16).ok()?);
            let ledger = LedgerId(u8::try_from(number(value, "ledger")?).ok()?);
            Some((ledger, (identity, number(value, "operations")?)))
        };
        let ledgers = value.get("ledgers")?.as_array()?.iter().map(ledger);
        Some(Self {
            transfers: number(&value, "transfers")?,
            ledgers: ledgers.collect::<Option<_>>()?,
        })
    }

    /// It has come so many transfers further than another one.
    pub(crate) const fn exceeds(&self, other: &Self, by: u64) -> bool {
        self.transfers >= other.transfers.saturating_add(by)
    }

    /// What both have proven.
    pub(crate) fn least(&self, other: &Self) -> Self {
        let both = |(ledger, (identity, operations)): (&LedgerId, &(Identity, u64))| {
            let (theirs, upto) = other.ledgers.get(ledger)?;
            (theirs == identity).then(|| (*ledger, (*identity, lesser(*operations, *upto))))
        };
        let transfers = lesser(self.transfers, other.transfers);
        Self { transfers, ledgers: self.ledgers.iter().filter_map(both).collect() }
    }
}

impl Checker {
    /// How far it has come.
    pub(crate) fn proven(&self) -> Proven {
        let of =
            |(ledger, outside): (&LedgerId, &OperationMatcher)| Some((*ledger, outside.proven()?));
        let ledgers = self.outside.iter().filter_map(of).collect();
        Proven { transfers: self.lines.proven(), ledgers }
    }

    /// One that goes on from there.
    pub(crate) fn behind(proven: Proven) -> Self {
        let of = |(ledger, (identity, upto))| (ledger, OperationMatcher::behind(identity, upto));
        let outside = proven.ledgers.clone().into_iter().map(of).collect();
        let stored = (None, proven.clone());
        let lines = Lines::behind(proven.transfers);
        Self { lines, outside, stored, ..Self::default() }
    }

    /// Persons accepted what was not in order: a later proof need not begin there.
    pub(crate) fn forgive(&mut self) {
        self.lines.forgive();
        self.outside.values_mut().for_each(OperationMatcher::forgive);
    }
}

#[cfg(test)]
mod tests {
    use super::{Checker, Proven};
    use kernel::ids::LedgerId;
    use kernel::operation::Identity;

    fn proven(transfers: u64, identity: u128, operations: u64) -> Proven {
        Proven { transfers, ledgers: [(LedgerId::SPOT, (Identity(identity), operations))].into() }
    }

    #[test]
    fn what_is_stored_is_read_and_any_other_text_proves_nothing() {
        let one = proven(7, 0xab, 12);
        assert_eq!(Proven::read(Some(&one.text())), one);
        let other = one.text().replace("\"version\":1", "\"version\":2");
        for text in [None, Some(""), Some("{}"), Some("[1]"), Some(other.as_str())] {
            assert_eq!(Proven::read(text), Proven::default(), "{text:?}");
        }
        assert_eq!(Checker::default().proven(), Proven::default());
    }

    #[test]
    fn what_two_have_proven_is_the_least_of_the_same_ledger() {
        assert_eq!(proven(7, 1, 12).least(&proven(9, 1, 5)), proven(7, 1, 5));
        let (transfers, ledgers) = (7, Default::default());
        assert_eq!(proven(7, 1, 12).least(&proven(9, 2, 5)), Proven { transfers, ledgers });
    }
}
