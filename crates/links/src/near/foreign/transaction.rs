//! Reads a transaction as providers show it, for `foreign`: which payments it makes, which transfers it
//! names, and how it is stored. Pure.

use crate::near::rpc::{ChunkTransaction, shortened};
use crate::near::tx::{BatchAction, ReadTransaction, from_base58, read_call};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::answer::Cause;
use kernel::attempt::{Form, Lock, Purpose};
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::ports::chain::{FOREIGN_FORM, ForeignPayment, ForeignUse, Payment};
use kernel::record::Account;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The length of a transfer's id as a memo has it.
const ID: usize = 26;
/// Longer texts (a contract's code) hold no memo.
const LONG: usize = 65_536;

/// A transaction of a block as it is stored. `token`: the asset of the contract that it calls, where that is
/// one of the relay's.
pub(super) fn foreign_use(
    account: &Arc<str>,
    one: &ChunkTransaction,
    block: u64,
    acts: bool,
    token: Option<AssetId>,
) -> ForeignUse {
    let pays = token.filter(|_| acts).and_then(|asset| payments(&one.actions, asset));
    let count = one.actions.as_array().map_or(0, Vec::len);
    let outcome = if acts { "it took place" } else { "it failed" };
    let facts = format!(
        "{} with nonce {} in block {block}, {count} actions at {}: {outcome}",
        one.hash, one.nonce, one.receiver
    );
    let whole = json!({ "receiver": one.receiver, "actions": one.actions }).to_string();
    // evidence for people where nothing is proven by it
    let reference = if pays.is_some() || whole.len() <= LONG {
        whole
    } else {
        json!({ "receiver": one.receiver, "shortened": shortened(&one.actions.to_string()) })
            .to_string()
    };
    ForeignUse {
        lock: Lock(one.nonce.to_string().into()),
        form: Form {
            purpose: Purpose::Pay,
            name: from_base58(&one.hash).unwrap_or_default().as_slice().into(),
            bytes: Arc::new([]),
            repeatable: false,
            expires: None,
            // the nonce was not spent in the block before it
            anchor: Some(block.saturating_sub(1)),
            reference: Some(reference.into()),
        },
        payer: Account::Named(account.clone()),
        pays,
        names: if acts { names(&one.actions).into_iter().collect() } else { Vec::new() },
        facts: facts.into(),
    }
}

/// Reads the actions of another program's stored transaction, as providers showed it: it has no bytes here.
///
/// # Errors
/// `FOREIGN_FORM`: it is no payment that this product would write.
pub(in crate::near) fn stored_transaction(
    form: &Form,
    account: &str,
    key: [u8; 32],
    nonce: u64,
) -> Result<ReadTransaction, Cause> {
    let foreign = || Cause::because(FOREIGN_FORM, "a form has neither bytes nor a transaction");
    let text = form.reference.as_deref().filter(|_| !form.repeatable).ok_or_else(foreign)?;
    let value: Value = serde_json::from_str(text).map_err(|_| foreign())?;
    let receiver = value.get("receiver").and_then(Value::as_str).ok_or_else(foreign)?;
    let actions = value.get("actions").and_then(actions).ok_or_else(foreign)?;
    Ok(ReadTransaction {
        hash: form.name.as_ref().try_into().map_err(|_| foreign())?,
        signer: account.to_owned(),
        key,
        nonce,
        receiver: receiver.to_owned(),
        base: [0; 32],
        actions,
    })
}

/// The actions, where each is one that the relay makes.
fn actions(shown: &Value) -> Option<Vec<BatchAction>> {
    shown.as_array()?.iter().map(action).collect()
}

fn action(shown: &Value) -> Option<BatchAction> {
    let call = shown.get("FunctionCall")?;
    let text = |name: &str| call.get(name).and_then(Value::as_str);
    let args = STANDARD.decode(text("args")?).ok()?;
    read_call(text("method_name")?, &args, text("deposit")?.parse().ok()?)
}

/// The payments to transfers; `None`: an action is no payment, or none pays a transfer.
fn payments(shown: &Value, asset: AssetId) -> Option<Vec<ForeignPayment>> {
    let mut pays = Vec::new();
    for action in actions(shown)? {
        match action {
            BatchAction::Pay { receiver, amount, memo } => {
                let id = memo.parse().ok().filter(|id: &Id| id.to_string() == memo);
                let (account, amount) = (Account::Named(receiver), Amount(amount));
                let payment = Payment { account, asset, amount };
                pays.extend(id.map(|id| ForeignPayment { id, payment }));
            }
            BatchAction::Register { .. } | BatchAction::Nothing => return None,
        }
    }
    (!pays.is_empty()).then_some(pays)
}

/// Every text that could be a transfer's id, in whatever the transaction carries.
fn names(shown: &Value) -> BTreeSet<Id> {
    let mut found = BTreeSet::new();
    let mut left = vec![shown];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => left.extend(fields.values()),
            Value::String(text) if text.len() <= LONG => {
                ids(text, &mut found);
                if let Ok(bytes) = STANDARD.decode(text) {
                    ids(&String::from_utf8_lossy(&bytes), &mut found);
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

fn ids(text: &str, found: &mut BTreeSet<Id>) {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == ID);
    found.extend(words.filter_map(|word| word.parse::<Id>().ok()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMO: &str = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";

    fn call(method: &str, args: &Value, deposit: &str) -> Value {
        let args = STANDARD.encode(args.to_string());
        json!({ "FunctionCall": { "method_name": method, "args": args, "gas": 1, "deposit": deposit } })
    }

    fn pay(memo: &str) -> Value {
        let args = json!({ "receiver_id": "bob.near", "amount": "7", "memo": memo });
        call("ft_transfer", &args, "1")
    }

    fn used(actions: Value, acts: bool) -> ForeignUse {
        let one = ChunkTransaction {
            hash: crate::near::tx::base58(&[3; 32]),
            signer: "relay.near".to_owned(),
            key: "k".to_owned(),
            nonce: 9,
            receiver: "usdc.near".to_owned(),
            actions,
        };
        foreign_use(&"relay.near".into(), &one, 50, acts, Some(AssetId(3)))
    }

    /// Turns red where a memo is passed over because its transaction is not one that this product writes: the
    /// pool would go on.
    #[test]
    fn whatever_names_a_transfer_is_found() {
        let id: Id = MEMO.parse().unwrap();
        let paid = used(json!([pay(MEMO)]), true);
        assert_eq!(paid.pays.as_deref().map(|pays| pays[0].id), Some(id));
        let other = call("ft_transfer_call", &json!({ "memo": MEMO, "msg": "" }), "1");
        let nested = json!({ "Delegate": { "delegate_action": { "actions": [pay(MEMO)] } } });
        let inside = call("swap", &json!({ "note": format!("for {MEMO}!") }), "0");
        for action in [other, nested, inside] {
            let one = used(json!([action]), true);
            assert_eq!((one.pays, one.names), (None, vec![id]));
        }
        let mixed = used(json!([pay("rent"), pay(MEMO)]), true);
        assert_eq!((mixed.pays.map(|pays| pays.len()), mixed.names), (Some(1), vec![id]));
        let beside = used(json!([pay(MEMO), "CreateAccount"]), true);
        assert_eq!((beside.pays, beside.names), (None, vec![id]));
        assert_eq!(used(json!([pay(MEMO)]), false).names, [], "it failed, and had no effect");
        assert_eq!(used(json!([pay("rent"), "CreateAccount"]), true).names, []);
    }

    /// Turns red where what is stored does not say again what was shown.
    #[test]
    fn what_is_stored_is_read_back() {
        let paid = used(json!([pay(MEMO), pay(MEMO)]), true);
        let read = stored_transaction(&paid.form, "relay.near", [1; 32], 9).unwrap();
        assert_eq!((read.hash, read.receiver.as_str()), ([3; 32], "usdc.near"));
        assert_eq!(read.actions.len(), 2);
        assert!(
            matches!(&read.actions[0], BatchAction::Pay { amount: 7, memo, .. } if memo == MEMO)
        );
        let sendable = Form { repeatable: true, ..paid.form.clone() };
        let bare = Form { reference: None, ..paid.form };
        let opaque = used(json!(["CreateAccount"]), true).form;
        for form in [sendable, bare, opaque] {
            assert!(stored_transaction(&form, "relay.near", [1; 32], 9).is_err());
        }
    }
}
