//! The token's own events (NEP-297) of a final transaction, compared with what was signed.

use super::super::tx::{BatchAction, ReadTransaction};
use serde_json::Value;

/// What an event line begins with.
const PREFIX: &str = "EVENT_JSON:";

/// A payment as an event has it: from, to, amount, memo.
type EventPayment<'a> = (&'a str, &'a str, u128, &'a str);

/// How the `ft_transfer` events of a receipt differ from the payments of its transaction; `None`: they are
/// the same, in the same sequence.
pub(super) fn mismatch(form: &ReadTransaction, logs: &[String]) -> Option<String> {
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
    let Some(found) = found else { return Some("an event cannot be read".to_owned()) };
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
    // a fee of the contract is an entry of its own, without our memo
    let own: Vec<EventPayment<'_>> = found
        .into_iter()
        .filter(|(_, _, _, memo)| signed.iter().any(|one| one.3 == *memo))
        .collect();
    (own != signed)
        .then(|| format!("{} payments were signed, {} events have them", signed.len(), own.len()))
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

    #[test]
    fn events_are_the_payments_one_by_one() {
        let (one, two) = (line("a.near", "5", "one"), line("b.near", "6", "two"));
        let fee = line("fees.near", "1", "fee");
        assert_eq!(mismatch(&form(), &[one.clone(), fee, "a note".to_owned(), two.clone()]), None);
        for logs in [
            vec![one.clone()],
            vec![],
            vec![two.clone(), one.clone()],
            [&one, &one, &two].map(String::clone).to_vec(),
            vec![line("a.near", "4", "one"), two.clone()],
            vec![line("c.near", "5", "one"), two],
        ] {
            assert!(mismatch(&form(), &logs).is_some(), "{logs:?}");
        }
    }
}
