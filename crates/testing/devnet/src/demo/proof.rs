//! The proof at the end: what the chain's own events say was paid, whatever the relay and its providers say.

use super::chain::{DemoChain, Payments};
use super::view::Progress;
use crate::Outcome;

/// That each transfer was paid once, in words.
///
/// # Errors
///
/// What was not paid, or twice.
pub(super) fn of(chain: &DemoChain, transfers: usize, seen: &Progress) -> Outcome<String> {
    if seen.failed > 0 {
        return Err(format!("{} of {transfers} transfers failed", seen.failed));
    }
    let payments = chain.payments();
    let mut due = 0_u128;
    for n in 0..transfers {
        let one = chain.transfer(n);
        due = due.saturating_add(one.amount);
        paid_once(&payments, one.receiver, one.amount)
            .map_err(|why| format!("{}: {why}", one.key))?;
    }
    whole(&payments, transfers)?;
    let debit = chain.debit()?;
    if debit != due {
        return Err(format!("the transfers are {due} together, and the account paid {debit}"));
    }
    Ok(format!(
        "each was paid once: {transfers} transfers were accepted and COMPLETED, and the token's own events have \
         {transfers} payments, each (receiver, amount) once and no memo twice. The account paid {debit} base units, \
         which is their sum, in {} transactions.",
        seen.transactions
    ))
}

fn paid_once(payments: &Payments, receiver: String, amount: u128) -> Outcome {
    match payments.paid.get(&(receiver, amount)) {
        Some(1) => Ok(()),
        Some(times) => Err(format!("paid {times} times")),
        None => Err("not paid".to_owned()),
    }
}

fn whole(payments: &Payments, transfers: usize) -> Outcome {
    if payments.paid.len() != transfers {
        return Err(format!("{} payments of {transfers}", payments.paid.len()));
    }
    match payments.memos.iter().find(|(_, times)| **times > 1) {
        Some((memo, times)) => Err(format!("memo {memo} was paid {times} times")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where a second payment of one transfer counts as another one's.
    #[test]
    fn a_second_payment_is_no_proof() {
        let mut payments = Payments::default();
        assert!(paid_once(&payments, "r1".to_owned(), 7).is_err());
        payments.paid.insert(("r1".to_owned(), 7), 1);
        payments.memos.insert("a".to_owned(), 1);
        assert_eq!(paid_once(&payments, "r1".to_owned(), 7), Ok(()));
        assert_eq!(whole(&payments, 1), Ok(()));
        assert!(whole(&payments, 2).is_err());
        payments.paid.insert(("r1".to_owned(), 7), 2);
        assert!(paid_once(&payments, "r1".to_owned(), 7).is_err());
        payments.memos.insert("a".to_owned(), 2);
        assert!(whole(&payments, 1).is_err());
    }
}
