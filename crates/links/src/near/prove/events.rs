//! Compares the token's own events (NEP-297) of a final transaction with its signed payments.

use super::super::tx::{BatchAction, ReadTransaction};
use serde_json::Value;

/// The prefix of an event line.
const PREFIX: &str = "EVENT_JSON:";

/// A payment as an event has it: from, to, amount, memo.
type EventPayment<'a> = (&'a str, &'a str, u128, &'a str);

/// The `ft_transfer` events of a receipt, beside the payments of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventBalance {
    /// They are the same, in the same sequence.
    Even,
    /// Each payment has its event, and more was moved: a fee of the contract, or a memo of ours at another
    /// account.
    Surplus(String),
    /// A payment has no event, another one, or two of them: what the members say was not done.
    Deficit(String),
}

/// Compares the events of a receipt with the payments of its transaction.
pub(super) fn balance(form: &ReadTransaction, logs: &[String]) -> EventBalance {
    let lines: Vec<Value> = logs
        .iter()
        .filter_map(|line| serde_json::from_str(line.strip_prefix(PREFIX)?).ok())
        .collect();
    let transfers = lines.iter().filter(|line| {
        let is = |field: &str, word: &str| line.get(field).and_then(Value::as_str) == Some(word);
        is("standard", "nep141") && is("event", "ft_transfer")
    });
    let entries = transfers.filter_map(|line| line.get("data")?.as_array()).flatten();
    let found: Option<Vec<EventPayment<'_>>> = entries.map(entry).collect();
    let Some(found) = found else {
        return EventBalance::Deficit("an event cannot be read".to_owned());
    };
    let signed: Vec<EventPayment<'_>> = form
        .actions
        .iter()
        .filter_map(|action| match action {
            BatchAction::Pay { receiver, amount, memo } => {
                Some((form.signer.as_str(), &**receiver, *amount, memo.as_str()))
            }
            BatchAction::Register { .. } | BatchAction::Nothing => None,
        })
        .collect();
    let is_signed = |memo: &str| signed.iter().any(|one| one.3 == memo);
    let (own, others): (Vec<EventPayment<'_>>, Vec<EventPayment<'_>>) =
        found.into_iter().partition(|(from, _, _, memo)| *from == form.signer && is_signed(memo));
    if own != signed {
        let (signed, own) = (signed.len(), own.len());
        return EventBalance::Deficit(format!(
            "{signed} payments were signed, {own} events have them"
        ));
    }
    let more = others.iter().find(|(from, _, _, memo)| *from == form.signer || is_signed(memo));
    match more {
        Some((from, to, amount, _)) => {
            EventBalance::Surplus(format!("{amount} more went from {from} to {to}"))
        }
        None => EventBalance::Even,
    }
}

fn entry(entry: &Value) -> Option<EventPayment<'_>> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str);
    let amount = text("amount")?.parse().ok()?;
    Some((text("old_owner_id")?, text("new_owner_id")?, amount, text("memo").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> ReadTransaction {
        let pay = |to: &str, amount, memo: &str| BatchAction::Pay {
            receiver: to.into(),
            amount,
            memo: memo.to_owned(),
        };
        ReadTransaction {
            hash: [0; 32],
            signer: "relay.near".to_owned(),
            key: [0; 32],
            nonce: 1,
            receiver: "usdc.near".to_owned(),
            base: [0; 32],
            actions: vec![pay("a.near", 5, "one"), pay("b.near", 6, "two")],
        }
    }

    fn line(to: &str, amount: &str, memo: &str) -> String {
        format!(
            r#"EVENT_JSON:{{"standard":"nep141","version":"1.0.0","event":"ft_transfer","data":[{{"old_owner_id":"relay.near","new_owner_id":"{to}","amount":"{amount}","memo":"{memo}"}}]}}"#
        )
    }

    /// Turns red where a payment that has no event counts as made, and where a fee keeps what was paid open.
    #[test]
    fn events_are_the_payments_one_by_one() {
        let (one, two) = (line("a.near", "5", "one"), line("b.near", "6", "two"));
        let note = "a note".to_owned();
        assert_eq!(balance(&form(), &[one.clone(), note, two.clone()]), EventBalance::Even);
        let fee = line("fees.near", "1", "fee");
        let memo = line("a.near", "5", "one").replace("relay.near", "x.near");
        for more in [fee, memo] {
            let logs = [one.clone(), more, two.clone()];
            assert!(matches!(balance(&form(), &logs), EventBalance::Surplus(_)), "{logs:?}");
        }
        let other = line("a.near", "5", "else").replace("relay.near", "x.near");
        assert_eq!(balance(&form(), &[one.clone(), other, two.clone()]), EventBalance::Even);
        for logs in [
            vec![one.clone()],
            vec![],
            vec![two.clone(), one.clone()],
            [&one, &one, &two].map(String::clone).to_vec(),
            vec![line("a.near", "4", "one"), two.clone()],
            vec![line("c.near", "5", "one"), two],
        ] {
            assert!(matches!(balance(&form(), &logs), EventBalance::Deficit(_)), "{logs:?}");
        }
    }
}
