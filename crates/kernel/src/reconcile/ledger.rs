//! Compares a ledger's totals of one asset with the sums of its operations.

use super::Break;
use crate::flow::life::Leg;
use crate::ids::{AssetId, LedgerId};
use crate::operation::{Operation, StoredOutcome};
use crate::ports::journal::Sums;
use crate::ports::ledger::Totals;

/// Double entry holds, and clearing, frozen and world are what the DONE operations say. A ledger
/// that `holds` takes a withdraw into frozen and from there, by a settle, into clearing; another
/// one takes it into clearing at once.
pub fn books(
    ledger: LedgerId,
    holds: bool,
    asset: AssetId,
    totals: &Totals,
    sums: &Sums,
) -> Vec<Break> {
    let Sums { withdraw, deposit, settle, refund, external, .. } = *sums;
    let Totals { users, frozen, clearing, world } = *totals;
    let (held, between) = if holds {
        (sum(&[withdraw], &[settle, refund]), sum(&[settle], &[deposit]))
    } else {
        (Some(0), sum(&[withdraw], &[deposit, refund]))
    };
    let rules = [
        ("total", sum(&[users, frozen, clearing, world], &[]), Some(0)),
        ("frozen", Some(frozen), held),
        ("clearing", Some(clearing), between),
        ("world", Some(world), sum(&[], &[external])),
    ];
    let broken = |(name, is, should): (&str, Option<i128>, Option<i128>)| {
        if is.is_some() && is == should {
            return None;
        }
        let shown =
            |n: Option<i128>| n.map_or_else(|| "beyond any sum".to_owned(), |n| n.to_string());
        Some(Break {
            key: format!("{}/{asset}/{name}", ledger.name()),
            amount: is.unwrap_or(i128::MAX).saturating_sub(should.unwrap_or(0)),
            what: format!(
                "{}, asset {asset}: {name} is {}, its operations say {}",
                ledger.name(),
                shown(is),
                shown(should)
            ),
        })
    };
    rules.into_iter().filter_map(broken).collect()
}

/// The sums with one more operation; `None`: they leave the range of amounts.
pub fn counted(mut sums: Sums, operation: &Operation) -> Option<Sums> {
    sums.count = sums.count.checked_add(1)?;
    if operation.outcome != StoredOutcome::Done {
        return Some(sums);
    }
    let amount = operation.op.amount.signed()?;
    let sum = match operation.op.key.leg {
        Leg::Withdraw => &mut sums.withdraw,
        Leg::Deposit => &mut sums.deposit,
        Leg::Settle => &mut sums.settle,
        Leg::Refund => &mut sums.refund,
        // inside one ledger, or on a chain: clearing does not see it
        Leg::Move | Leg::Quarantine | Leg::Cost => return Some(sums),
    };
    *sum = sum.checked_add(amount)?;
    Some(sums)
}

fn sum(plus: &[i128], minus: &[i128]) -> Option<i128> {
    let total = plus.iter().try_fold(0_i128, |total, n| total.checked_add(*n))?;
    minus.iter().try_fold(total, |total, n| total.checked_sub(*n))
}

#[cfg(test)]
mod tests {
    use super::{books, counted};
    use crate::answer::Evidence;
    use crate::flow::life::Leg;
    use crate::ids::{AssetId, Id, LedgerId, UserId};
    use crate::money::Amount;
    use crate::operation::{Key, Op, Operation, StoredOutcome};
    use crate::ports::journal::Sums;
    use crate::ports::ledger::Totals;
    use crate::record::Account;

    /// 1 000 came in, 300 were withdrawn: 200 settled, 60 given back, 40 still held; 90 came over.
    const FUNDING: (Totals, Sums) = (
        Totals { users: 850, frozen: 40, clearing: 110, world: -1_000 },
        Sums { withdraw: 300, deposit: 90, settle: 200, refund: 60, external: 1_000, count: 9 },
    );
    /// 200 came over, 100 were withdrawn, 10 of them given back.
    const SPOT: (Totals, Sums) = (
        Totals { users: 110, frozen: 0, clearing: -110, world: 0 },
        Sums { withdraw: 100, deposit: 200, settle: 0, refund: 10, external: 0, count: 3 },
    );

    fn keys(holds: bool, totals: Totals, sums: Sums) -> Vec<(String, i128)> {
        let ledger = if holds { LedgerId::FUNDING } else { LedgerId::SPOT };
        let broken = books(ledger, holds, AssetId(3), &totals, &sums);
        broken.into_iter().map(|b| (b.key, b.amount)).collect()
    }

    fn expect(found: &[(String, i128)], wanted: &[(&str, i128)]) {
        let found: Vec<(&str, i128)> = found.iter().map(|(k, n)| (k.as_str(), *n)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn sound_books_have_no_break() {
        expect(&keys(true, FUNDING.0, FUNDING.1), &[]);
        expect(&keys(false, SPOT.0, SPOT.1), &[]);
        expect(&keys(true, Totals::default(), Sums::default()), &[]);
    }

    #[test]
    fn one_unit_more_anywhere_is_named() {
        let (t, s) = FUNDING;
        let total = ("FUNDING/3/total", 1);
        expect(&keys(true, Totals { users: 851, ..t }, s), &[total]);
        expect(&keys(true, Totals { frozen: 41, ..t }, s), &[total, ("FUNDING/3/frozen", 1)]);
        expect(&keys(true, Totals { clearing: 111, ..t }, s), &[total, ("FUNDING/3/clearing", 1)]);
        expect(&keys(true, Totals { world: -999, ..t }, s), &[total, ("FUNDING/3/world", 1)]);
        let (t, s) = SPOT;
        expect(&keys(false, Totals { users: 111, ..t }, s), &[("SPOT/3/total", 1)]);
    }

    #[test]
    fn a_pair_that_keeps_the_total_is_seen_at_clearing() {
        let (t, s) = FUNDING;
        let pair = Totals { users: 851, clearing: 109, ..t };
        expect(&keys(true, pair, s), &[("FUNDING/3/clearing", -1)]);
        let (t, s) = SPOT;
        let pair = Totals { users: 109, clearing: -109, ..t };
        expect(&keys(false, pair, s), &[("SPOT/3/clearing", 1)]);
        let pair = Totals { users: 109, frozen: 1, ..t };
        expect(&keys(false, pair, s), &[("SPOT/3/frozen", 1)]);
        let pair = Totals { users: 109, world: 1, ..t };
        expect(&keys(false, pair, s), &[("SPOT/3/world", 1)]);
    }

    #[test]
    fn one_operation_more_or_fewer_is_seen_in_the_books() {
        let (t, s) = FUNDING;
        let frozen = ("FUNDING/3/frozen", 7);
        expect(&keys(true, t, Sums { withdraw: 293, ..s }), &[frozen]);
        expect(&keys(true, t, Sums { refund: 67, ..s }), &[frozen]);
        expect(&keys(true, t, Sums { deposit: 97, ..s }), &[("FUNDING/3/clearing", 7)]);
        let both = [frozen, ("FUNDING/3/clearing", -7)];
        expect(&keys(true, t, Sums { settle: 207, ..s }), &both);
        expect(&keys(true, t, Sums { external: 1_007, ..s }), &[("FUNDING/3/world", 7)]);
        let (t, s) = SPOT;
        expect(&keys(false, t, Sums { deposit: 207, ..s }), &[("SPOT/3/clearing", 7)]);
        expect(&keys(false, t, Sums { withdraw: 93, ..s }), &[("SPOT/3/clearing", 7)]);
        expect(&keys(false, t, Sums { refund: 17, ..s }), &[("SPOT/3/clearing", 7)]);
    }

    #[test]
    fn what_leaves_the_range_is_a_break_and_no_panic() {
        let (t, s) = FUNDING;
        let found = keys(true, Totals { users: i128::MAX, frozen: i128::MAX, ..t }, s);
        assert_eq!(found.len(), 2, "{found:?}");
        let found = keys(true, t, Sums { settle: i128::MAX, deposit: i128::MIN, ..s });
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn only_what_was_done_counts() {
        let op = Op {
            key: Key { id: Id(1), leg: Leg::Deposit },
            account: Account::User(UserId(1)),
            other: None,
            asset: AssetId(3),
            amount: Amount(5),
        };
        let with = |outcome, leg| {
            let op = Op { key: Key { id: Id(1), leg }, ..op.clone() };
            counted(Sums::default(), &Operation { seq: 1, op, outcome }).unwrap()
        };
        let one = Sums { count: 1, ..Sums::default() };
        assert_eq!(with(StoredOutcome::Done, Leg::Withdraw), Sums { withdraw: 5, ..one });
        assert_eq!(with(StoredOutcome::Done, Leg::Deposit), Sums { deposit: 5, ..one });
        assert_eq!(with(StoredOutcome::Done, Leg::Settle), Sums { settle: 5, ..one });
        assert_eq!(with(StoredOutcome::Done, Leg::Refund), Sums { refund: 5, ..one });
        assert_eq!(with(StoredOutcome::Fenced, Leg::Deposit), one);
        assert_eq!(with(StoredOutcome::Rejected(Evidence::code("X")), Leg::Deposit), one);
    }
}
