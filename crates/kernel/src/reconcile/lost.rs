//! Operations that the journal holds receipts of and that their ledger lost for good: the names by which
//! persons accept them, and the journal's sums without them.

use super::Break;
use crate::flow::life::Leg;
use crate::ids::LedgerId;
use crate::operation::{Key, Operation, StoredOutcome};
use crate::operators::Accepted;
use crate::ports::journal::Sums;

/// The last part of the key of each.
const LOST: &str = "lost";

/// An operation that the journal holds a receipt of and its ledger does not have any more.
pub fn lost(ledger: LedgerId, operation: &Operation) -> Break {
    let Operation { seq, op, outcome } = operation;
    let (id, name, leg) = (op.key.id, ledger.name(), op.key.leg.name());
    // a refusal moved nothing
    let amount = match outcome {
        StoredOutcome::Done => op.amount.signed().unwrap_or(i128::MAX).saturating_neg(),
        StoredOutcome::Rejected(_) | StoredOutcome::Fenced => 0,
    };
    let key = format!("{id}/{name}/{leg}/{LOST}");
    let (units, asset, account) = (op.amount, op.asset, &op.account);
    let what = format!(
        "{key}: the receipt says operation {seq} of {units} units of asset {asset}, account {account}, and \
         the ledger does not have it"
    );
    Break { key, amount, what }
}

/// A ledger whose highest operation is below the highest that the journal holds.
pub fn shortened(ledger: LedgerId, is: u64, was: u64) -> Break {
    let key = highest(ledger);
    let what = format!("{key}: the ledger knows {is} operations, and the journal {was}");
    Break { key, amount: i128::from(is).saturating_sub(i128::from(was)), what }
}

fn highest(ledger: LedgerId) -> String {
    format!("{}/highest", ledger.name())
}

/// Whether persons accepted at any time that this ledger lost operations.
pub fn was_shortened(ledger: LedgerId, accepted: &[Accepted]) -> bool {
    let key = highest(ledger);
    accepted.iter().any(|accepted| *accepted.key == *key)
}

/// The operation that was accepted as lost; nothing where it was another kind of break.
pub fn accepted_loss(accepted: &Accepted) -> Option<(LedgerId, Key)> {
    let mut parts = accepted.key.split('/');
    let (id, ledger) = (parts.next()?.parse().ok()?, LedgerId::parse(parts.next()?)?);
    let leg = Leg::parse(parts.next()?)?;
    let ends = parts.next() == Some(LOST) && parts.next().is_none();
    ends.then_some((ledger, Key { id, leg }))
}

/// Sums with one operation less; nothing where they leave the range of amounts.
pub fn discounted(mut sums: Sums, operation: &Operation) -> Option<Sums> {
    sums.count = sums.count.checked_sub(1)?;
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
    *sum = sum.checked_sub(amount)?;
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::{accepted_loss, discounted, lost, shortened, was_shortened};
    use crate::answer::Evidence;
    use crate::flow::life::Leg;
    use crate::ids::{AssetId, Id, LedgerId, UserId};
    use crate::money::Amount;
    use crate::operation::{Key, Op, Operation, StoredOutcome};
    use crate::operators::Accepted;
    use crate::ports::journal::Sums;
    use crate::reconcile::{Break, counted, unclaimed};
    use crate::record::Account;

    const KEY: Key = Key { id: Id(7), leg: Leg::Deposit };

    fn operation(outcome: StoredOutcome) -> Operation {
        let (account, asset, amount) = (Account::User(UserId(1)), AssetId(3), Amount(90));
        Operation { seq: 12, op: Op { key: KEY, account, other: None, asset, amount }, outcome }
    }

    fn accepted(found: &Break) -> Accepted {
        Accepted { key: found.key.as_str().into(), amount: found.amount }
    }

    /// Turns red where a lost operation and an unclaimed one share a key, or another kind of break is
    /// read as a loss.
    #[test]
    fn a_lost_operation_is_named_as_no_other_break_is() {
        let done = operation(StoredOutcome::Done);
        let found = lost(LedgerId::SPOT, &done);
        assert_eq!(found.key, format!("{}/SPOT/DEPOSIT/lost", Id(7)));
        assert_eq!(found.amount, -90);
        assert_eq!(accepted_loss(&accepted(&found)), Some((LedgerId::SPOT, KEY)));
        let refused = operation(StoredOutcome::Rejected(Evidence::code("ACCOUNT_DISABLED")));
        assert_eq!(lost(LedgerId::SPOT, &refused).amount, 0);
        let (key, amount) = unclaimed(LedgerId::SPOT, &done);
        assert_eq!(accepted_loss(&Accepted { key: key.into(), amount }), None);
        for other in ["SPOT/highest", "SPOT/3/clearing", "x/SPOT/DEPOSIT/lost", "SPOT/lost"] {
            assert_eq!(
                accepted_loss(&Accepted { key: other.into(), amount: -90 }),
                None,
                "{other}"
            );
        }
    }

    #[test]
    fn a_shortened_ledger_is_told_from_the_others() {
        let found = shortened(LedgerId::SPOT, 812, 905);
        assert_eq!((found.key.as_str(), found.amount), ("SPOT/highest", -93));
        assert!(was_shortened(LedgerId::SPOT, &[accepted(&found)]));
        assert!(!was_shortened(LedgerId::FUTURE, &[accepted(&found)]));
    }

    #[test]
    fn what_is_discounted_was_counted() {
        for outcome in [StoredOutcome::Done, StoredOutcome::Fenced] {
            for leg in Leg::ALL {
                let mut operation = operation(outcome.clone());
                operation.op.key.leg = *leg;
                let sums = counted(Sums::default(), &operation).expect("it is in range");
                assert_eq!(discounted(sums, &operation), Some(Sums::default()), "{leg:?}");
            }
        }
        assert_eq!(discounted(Sums::default(), &operation(StoredOutcome::Done)), None);
    }
}
