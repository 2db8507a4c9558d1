//! Counts with what two persons accepted of a sum: each later proof expects it, and a sum without it is broken again.
//! What they accepted is what the audit's actions say.

use crate::ids::LedgerId;
use crate::operators::{Accepted, ActionResult, PastAction};
use crate::reconcile::Break;

/// A break of the sums of a ledger, or of one account in it. Each proof finds it again with its whole amount; other
/// breaks are of one transfer or operation, and are accepted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumBreak {
    /// The ledger whose sums are broken.
    pub ledger: LedgerId,
    /// The sums are of one account, which are compared where all rows are counted.
    pub of_account: bool,
}

impl SumBreak {
    /// Reads the key of a break; `None` for one of a transfer or an operation.
    pub fn of(key: &str) -> Option<Self> {
        let mut parts = key.split('/');
        let name = parts.next()?;
        let ledger = LedgerId::all().find(|ledger| ledger.name() == name)?;
        let _asset: u32 = parts.next()?.parse().ok()?;
        match (parts.next()?, parts.next()) {
            ("account", Some(_)) => Some(Self { ledger, of_account: true }),
            ("total" | "frozen" | "clearing" | "world", None) => {
                Some(Self { ledger, of_account: false })
            }
            _ => None,
        }
    }
}

/// How far a sum is expected to be off: what was accepted of it last, in the order of acceptance.
pub fn offset(accepted: &[Accepted], key: &str) -> i128 {
    accepted.iter().rev().find(|one| *one.key == *key).map_or(0, |one| one.amount)
}

/// The rows of what is accepted beside what was: of a sum the whole offset from now on, of others the break itself.
pub fn rows(accepted: &[Accepted], more: &[Accepted]) -> Vec<Accepted> {
    let row = |one: &Accepted| match SumBreak::of(&one.key) {
        Some(_) => {
            let amount = offset(accepted, &one.key).saturating_add(one.amount);
            Accepted { key: one.key.clone(), amount }
        }
        None => one.clone(),
    };
    more.iter().map(row).collect()
}

/// What the actions that ended a HALT accepted, one after the other, in the order of acceptance.
pub fn named(resumes: &[PastAction]) -> Vec<Accepted> {
    let mut named: Vec<Accepted> = Vec::new();
    for past in resumes {
        let Some(ActionResult::Resumed { accepted }) = ActionResult::read(&past.result) else {
            continue;
        };
        for row in rows(&named, &accepted) {
            named.retain(|before| *before != row);
            named.push(row);
        }
    }
    named
}

/// The break of a row that no such action accepted: it excuses nothing.
pub fn unnamed(row: &Accepted) -> Break {
    let Accepted { key, amount } = row;
    let what = format!("{key}: {amount} is among the accepted breaks, and no action accepted it");
    Break { key: format!("accepted/{key}"), amount: *amount, what }
}

#[cfg(test)]
mod tests {
    use super::{Accepted, SumBreak, named, offset, rows, unnamed};
    use crate::ids::LedgerId;
    use crate::operators::{ActionResult, PastAction};

    #[test]
    fn sums_are_told_by_their_keys() {
        let sum = |of_account| Some(SumBreak { ledger: LedgerId::FUNDING, of_account });
        for (key, is) in [
            ("FUNDING/3/total", sum(false)),
            ("FUNDING/3/world", sum(false)),
            ("FUNDING/3/account/4001", sum(true)),
            ("FUNDING/3/account/4001/frozen", sum(true)),
            ("FUNDING/3/rows/withdraw", None),
            ("FUNDING/highest", None),
            ("FUNDING/x/total", None),
            ("01JFQ0000000000000000000AA/FUNDING/WITHDRAW", None),
            ("NOWHERE/3/total", None),
        ] {
            assert_eq!(SumBreak::of(key), is, "{key}");
        }
    }

    #[test]
    fn differences_of_a_sum_add_up() {
        let one = |key: &str, amount| Accepted { key: key.into(), amount };
        let (sum, leg) = ("FUNDING/3/total", "x/FUNDING/WITHDRAW");
        let before = [one(leg, 5), one(sum, 5), one(sum, 2)];
        assert_eq!((offset(&before, sum), offset(&before, "y")), (2, 0));
        let more = [one(sum, -3), one(leg, 7)];
        assert_eq!(rows(&before, &more), [one(sum, -1), one(leg, 7)]);
    }

    /// Turns red where rows are believed that no action accepted, or where an action does not count beside
    /// the earlier ones.
    #[test]
    fn what_was_accepted_is_what_the_actions_say() {
        let one = |key: &str, amount| Accepted { key: key.into(), amount };
        let (sum, leg) = ("FUNDING/3/total", "x/FUNDING/WITHDRAW");
        let resume = |accepted| PastAction {
            number: 1,
            at: 0,
            caller: "ops|1".into(),
            key: "k".into(),
            kind: "APPROVE".into(),
            subject: "x".into(),
            value: "{}".into(),
            reason: "a test".into(),
            result: ActionResult::Resumed { accepted }.stored(),
        };
        let other = PastAction { result: ActionResult::Refused.stored(), ..resume(Vec::new()) };
        let all = [vec![one(sum, 5), one(leg, 7)], vec![one(sum, -5)], vec![one(sum, 5)]];
        let mut actions: Vec<PastAction> = all.into_iter().map(resume).collect();
        actions.insert(1, other);
        let named = named(&actions);
        assert_eq!(named, [one(leg, 7), one(sum, 0), one(sum, 5)]);
        assert_eq!(offset(&named, sum), 5);
        let found = unnamed(&one("FUNDING/3/account/4001", 9));
        assert_eq!((&*found.key, found.amount), ("accepted/FUNDING/3/account/4001", 9));
        assert_eq!(SumBreak::of(&found.key), None);
    }
}
