//! Compares one account of a ledger with the sum of its own operations. Sums over all accounts do not show
//! money that moved from one account to another.

use super::Break;
use crate::ids::LedgerId;
use crate::ports::journal::{AccountSums, Sums};

/// What the account has, available and held, is what its DONE operations and external movements add up
/// to; what is held is what they hold. A ledger that `holds` takes a withdraw into frozen, and from
/// there, by a settle, away.
pub fn account(ledger: LedgerId, holds: bool, row: &AccountSums) -> Vec<Break> {
    let Sums { withdraw, deposit, settle, refund, external, .. } = row.sums;
    let (total, held) = if holds {
        (sum(&[external, deposit], &[settle]), sum(&[withdraw], &[settle, refund]))
    } else {
        (sum(&[external, deposit, refund], &[withdraw]), Some(0))
    };
    let (available, frozen) = (row.available.signed(), row.frozen.signed());
    let all = available.and_then(|available| available.checked_add(frozen?));
    let (name, asset, account) = (ledger.name(), row.asset, &row.account);
    let of = format!("{name}/{asset}/account/{account}");
    let rules = [(of.clone(), "available and frozen", all, total)];
    let rules = rules.into_iter().chain([(format!("{of}/frozen"), "frozen", frozen, held)]);
    let broken = |(key, what, is, should): (String, &str, Option<i128>, Option<i128>)| {
        if is.is_some() && is == should {
            return None;
        }
        let shown =
            |n: Option<i128>| n.map_or_else(|| "beyond any sum".to_owned(), |n| n.to_string());
        Some(Break {
            key,
            amount: is.unwrap_or(i128::MAX).saturating_sub(should.unwrap_or(0)),
            what: format!(
                "{name}, account {account}, asset {asset}: {what} is {}, its operations say {}",
                shown(is),
                shown(should)
            ),
        })
    };
    rules.filter_map(broken).collect()
}

fn sum(plus: &[i128], minus: &[i128]) -> Option<i128> {
    let total = plus.iter().try_fold(0_i128, |total, n| total.checked_add(*n))?;
    minus.iter().try_fold(total, |total, n| total.checked_sub(*n))
}

#[cfg(test)]
mod tests {
    use super::account;
    use crate::ids::{AssetId, LedgerId, UserId};
    use crate::money::Amount;
    use crate::ports::journal::{AccountSums, Sums};
    use crate::record::Account;

    /// 1 000 came in, 300 were withdrawn: 200 settled, 60 given back, 40 still held; 90 came over.
    fn row(available: u128, frozen: u128) -> AccountSums {
        let (withdraw, deposit, settle, refund, external, count) = (300, 90, 200, 60, 1_000, 9);
        AccountSums {
            account: Account::User(UserId(42)),
            asset: AssetId(3),
            available: Amount(available),
            frozen: Amount(frozen),
            sums: Sums { withdraw, deposit, settle, refund, external, count },
        }
    }

    fn keys(holds: bool, row: &AccountSums) -> Vec<(String, i128)> {
        let ledger = if holds { LedgerId::FUNDING } else { LedgerId::SPOT };
        account(ledger, holds, row).into_iter().map(|b| (b.key, b.amount)).collect()
    }

    #[test]
    fn an_account_that_is_what_its_operations_say_has_no_break() {
        assert_eq!(keys(true, &row(850, 40)), []);
        // a ledger that debits at once has no settle: 1 000 + 90 + 60 - 300
        assert_eq!(keys(false, &row(850, 0)), []);
    }

    #[test]
    fn a_unit_more_or_less_is_named_with_its_account() {
        let total = |n| ("FUNDING/3/account/42".to_owned(), n);
        let frozen = |n| ("FUNDING/3/account/42/frozen".to_owned(), n);
        assert_eq!(keys(true, &row(851, 40)), [total(1)]);
        assert_eq!(keys(true, &row(849, 40)), [total(-1)]);
        assert_eq!(keys(true, &row(849, 41)), [frozen(1)]);
        assert_eq!(keys(true, &row(850, 41)), [total(1), frozen(1)]);
        assert_eq!(keys(false, &row(843, 0)), [("SPOT/3/account/42".to_owned(), -7)]);
        assert_eq!(keys(false, &row(849, 1)), [("SPOT/3/account/42/frozen".to_owned(), 1)]);
    }

    #[test]
    fn what_leaves_the_range_is_a_break_and_no_panic() {
        let mut row = row(u128::MAX, 0);
        assert_eq!(keys(true, &row).len(), 2);
        row.sums.external = i128::MAX;
        assert_eq!(keys(true, &row).len(), 2);
    }
}
