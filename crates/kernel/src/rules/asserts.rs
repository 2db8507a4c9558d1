//! What no unit may come to, whichever driver planned it: books that do not add up, and rows that its guards do not
//! name. The rules of each leg and the plans keep it; this finds the mistake that a later change of them makes. Nothing
//! of such a unit is written: it is a contradiction, and a case for operators.

use super::{Book, Posting, StoredBalance, TransferChanges};
use crate::attempt::AttemptId;
use crate::ids::{AssetId, LedgerId};
use crate::money::Amount;
use crate::unit::{Guard, Unit};

/// What one posting did to an asset at a ledger, modulo 2^128: double entry brings it back to 0.
#[derive(Debug, Default)]
pub struct Sums(Vec<((LedgerId, AssetId), u128)>);

impl Sums {
    fn add(&mut self, ledger: LedgerId, asset: AssetId, delta: u128) {
        let of = (ledger, asset);
        match self.0.iter_mut().find(|(one, _)| *one == of) {
            Some((_, sum)) => *sum = sum.wrapping_add(delta),
            None => self.0.push((of, delta)),
        }
    }

    /// A balance of a user at Funding changes.
    pub(super) fn balance(&mut self, asset: AssetId, was: &StoredBalance, now: &StoredBalance) {
        let total = |balance: &StoredBalance| balance.available.0.wrapping_add(balance.frozen.0);
        self.add(LedgerId::FUNDING, asset, total(now).wrapping_sub(total(was)));
    }

    /// The balance of a numbered account changes.
    pub(super) fn numbered(&mut self, asset: AssetId, was: Amount, now: Amount) {
        self.add(LedgerId::ACCOUNT, asset, now.0.wrapping_sub(was.0));
    }

    /// A book that no user owns grows.
    pub(super) fn book(&mut self, book: &Book, delta: i128) {
        self.add(book.ledger, book.asset, delta.cast_unsigned());
    }

    /// True where the sum of each asset at each ledger is zero.
    fn are_zero(&self) -> bool {
        self.0.iter().all(|(_, sum)| *sum == 0)
    }
}

impl Posting {
    /// Double entry: what one account loses another one gets.
    ///
    /// # Errors
    /// The broken rule, as text.
    pub(super) fn adds_up(&self) -> Result<(), &'static str> {
        if self.sums.are_zero() { Ok(()) } else { Err("the books do not add up after it") }
    }
}

impl TransferChanges {
    /// Each stored transfer that the unit moves is guarded by its state and version, and its version grows by one: of
    /// two workers that believe in the same version one is lost.
    ///
    /// # Errors
    /// The broken rule, as text.
    pub(super) fn are_guarded(&self, unit: &Unit) -> Result<(), &'static str> {
        for (id, was, now) in self.moved() {
            let guards =
                |guard: &Guard| matches!(guard, Guard::Transfer { id: of, .. } if *of == id);
            if !unit.guards.iter().any(guards) {
                return Err("it moves a transfer that it does not guard");
            }
            if was.checked_add(1) != Some(now) {
                return Err("a transfer's version does not grow by one");
            }
        }
        Ok(())
    }
}

impl Unit {
    /// True where the attempt's version guards what the unit does to it.
    pub(super) fn guards_attempt(&self, id: AttemptId) -> bool {
        self.guards.iter().any(|guard| matches!(guard, Guard::Attempt { id: of, .. } if *of == id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Book, Posting, StoredBalance, SystemBook};
    use crate::ids::{AssetId, LedgerId, UserId};
    use crate::money::Amount;
    use crate::ports::ledger::AccountStatus;

    const COIN: AssetId = AssetId(3);

    fn balance(available: u128, frozen: u128) -> StoredBalance {
        let (available, frozen) = (Amount(available), Amount(frozen));
        StoredBalance { available, frozen, ..StoredBalance::empty(AccountStatus::Active) }
    }

    fn clearing() -> Book {
        Book { ledger: LedgerId::FUNDING, book: SystemBook::Clearing, asset: COIN }
    }

    /// Turns red where a balance or a book does not count, where two assets make up for each other, and where two
    /// ledgers do.
    #[test]
    fn each_asset_at_each_ledger_adds_up_to_nothing() {
        let user = UserId(1);
        let mut posting = Posting::default();
        posting.put(user, COIN, balance(10, 0), balance(4, 6));
        assert_eq!(posting.adds_up(), Ok(()), "a hold");
        posting.put(user, COIN, balance(4, 6), balance(4, 0));
        assert!(posting.adds_up().is_err(), "six are gone");
        posting.add_book(Book { asset: AssetId(1), ..clearing() }, 6);
        assert!(posting.adds_up().is_err(), "another asset's six");
        posting.add_book(Book { asset: AssetId(1), ..clearing() }, -6);
        posting.add_book(Book { ledger: LedgerId::ACCOUNT, ..clearing() }, 6);
        assert!(posting.adds_up().is_err(), "another ledger's six");
        posting.add_book(Book { ledger: LedgerId::ACCOUNT, ..clearing() }, -6);
        posting.add_book(clearing(), 6);
        assert_eq!(posting.adds_up(), Ok(()), "a settle");
        posting.put(user, COIN, balance(u128::MAX, 0), balance(0, 0));
        posting.add_book(clearing(), -1);
        assert_eq!(posting.adds_up(), Ok(()), "modulo 2^128");
    }
}
