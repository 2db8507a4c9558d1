//! Reads what a provider says of a transaction. Only the word FINAL with an outcome of its receipt
//! tells how the transaction ended: anything before that may change, and what a refused transaction
//! shows is no outcome.

use crate::near::tx::base58;
use crate::rpc::{RpcFailure, bad_reply, hash, number, shortened, text};
use serde_json::Value;

/// The stage after which nothing of a transaction changes.
const FINAL: &str = "FINAL";

/// What a provider says of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) enum StatusReply {
    /// No block that it has holds it; it may be in another's queue.
    NotFound,
    /// It is on its way, or shown in a form that is no outcome.
    Pending(String),
    /// It is in a final block, and so is all that it did.
    Final(Box<FinalTransaction>),
}

/// A transaction whose effects are final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) struct FinalTransaction {
    /// The hash that names it.
    pub hash: [u8; 32],
    /// The account that signed it.
    pub signer: String,
    /// The key that signed it, as the network spells it.
    pub key: String,
    /// The nonce that it took.
    pub nonce: u64,
    /// What its actions did, all of them or none.
    pub result: ExecutionResult,
    /// The block in which its receipt was executed.
    pub block: [u8; 32],
    /// The gas that its receipt burnt.
    pub gas_burnt: u64,
    /// What its receipt logged; of a failed one nothing of it happened.
    pub logs: Vec<String>,
    /// What failed behind that receipt, where its actions took place: no payment of ours, which the actions are.
    pub failed_behind: Option<String>,
}

/// What the actions of a transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) enum ExecutionResult {
    /// All of them took place.
    Success,
    /// None did: the place of the one that failed where it is known, and what the chain says.
    Failure {
        /// The place of the action that failed.
        index: Option<usize>,
        /// The error as the chain wrote it, shortened.
        error: String,
    },
}

/// Reads the answer to `tx`.
pub(super) fn read(reply: Result<Value, RpcFailure>) -> Result<StatusReply, RpcFailure> {
    let shown = match reply {
        Err(RpcFailure::Refused { name, .. }) if name == "UNKNOWN_TRANSACTION" => {
            return Ok(StatusReply::NotFound);
        }
        reply => reply?,
    };
    let stage = text(&shown, "/final_execution_status")?;
    if stage != FINAL {
        return Ok(StatusReply::Pending(stage.to_owned()));
    }
    if shown.pointer("/status/Failure/InvalidTxError").is_some() {
        // it may shadow an earlier success under the same hash
        return Ok(StatusReply::Pending("INVALID_TX_ERROR".to_owned()));
    }
    let Some(receipt_id) = shown.pointer("/transaction_outcome/outcome/status/SuccessReceiptId")
    else {
        return Ok(StatusReply::Pending("NO_RECEIPT".to_owned()));
    };
    let receipts = shown.get("receipts_outcome").and_then(Value::as_array);
    let receipts = receipts.ok_or_else(|| bad_reply("/receipts_outcome"))?;
    let Some(receipt) = receipts.iter().find(|receipt| receipt.get("id") == Some(receipt_id))
    else {
        return Ok(StatusReply::Pending("NO_RECEIPT_OUTCOME".to_owned()));
    };
    let Some(result) = result(&shown, receipt) else {
        return Ok(StatusReply::Pending("MIXED_OUTCOME".to_owned()));
    };
    let logs = receipt.pointer("/outcome/logs").and_then(Value::as_array);
    let logs = logs.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(StatusReply::Final(Box::new(FinalTransaction {
        hash: hash(&shown, "/transaction/hash")?,
        signer: text(&shown, "/transaction/signer_id")?.to_owned(),
        key: text(&shown, "/transaction/public_key")?.to_owned(),
        nonce: number(&shown, "/transaction/nonce")?,
        failed_behind: failed_behind(receipts, receipt_id)
            .filter(|_| result == ExecutionResult::Success),
        result,
        block: hash(receipt, "/block_hash")?,
        gas_burnt: number(receipt, "/outcome/gas_burnt")?,
        logs,
    })))
}

/// The result of the receipt that has the actions: what it did stays, whatever fails behind it. The whole
/// transaction's status is that of the last receipt: where the actions failed, it cannot have succeeded.
fn result(shown: &Value, receipt: &Value) -> Option<ExecutionResult> {
    let own = receipt.pointer("/outcome/status")?;
    let whole = shown.get("status")?;
    let succeeded = own.get("SuccessValue").is_some() || own.get("SuccessReceiptId").is_some();
    let ended = whole.get("SuccessValue").is_some() || whole.get("Failure").is_some();
    match (own.get("Failure"), whole.get("Failure")) {
        (None, _) if succeeded && ended => Some(ExecutionResult::Success),
        (Some(failure), Some(_)) if !succeeded => {
            let action = failure.get("ActionError")?;
            let index = action.get("index").and_then(Value::as_u64);
            let index = index.and_then(|index| usize::try_from(index).ok());
            let error = action.get("kind").map(Value::to_string).unwrap_or_default();
            Some(ExecutionResult::Failure { index, error: shortened(&error) })
        }
        _ => None,
    }
}

/// The first failure of a receipt behind that of the actions, in words.
fn failed_behind(receipts: &[Value], own: &Value) -> Option<String> {
    let behind = receipts.iter().filter(|receipt| receipt.get("id") != Some(own));
    behind.into_iter().find_map(|receipt| {
        let failure = receipt.pointer("/outcome/status/Failure")?;
        let by = receipt.pointer("/outcome/executor_id").and_then(Value::as_str);
        Some(shortened(&format!("{}: {failure}", by.unwrap_or_default())))
    })
}

impl FinalTransaction {
    /// The spelling of its hash.
    pub(in crate::near) fn name(&self) -> String {
        base58(&self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(stage: &str, whole: Value, own: Value) -> Value {
        let name = base58(&[1; 32]);
        json!({
            "final_execution_status": stage,
            "status": whole,
            "transaction": { "hash": name, "signer_id": "relay.near", "public_key": "k", "nonce": 4 },
            "transaction_outcome": { "outcome": { "status": { "SuccessReceiptId": "r" } } },
            "receipts_outcome": [
                { "id": "r", "block_hash": name, "outcome": { "status": own, "logs": ["x"], "gas_burnt": 2 } }
            ],
        })
    }

    fn is_final(value: Value) -> bool {
        matches!(read(Ok(value)), Ok(StatusReply::Final(_)))
    }

    /// Turns red where a transaction whose transfers took place is no outcome since something behind them failed, and
    /// where that is not told.
    #[test]
    fn what_fails_behind_the_actions_takes_nothing_back() {
        let (success, failure) = (
            json!({ "SuccessReceiptId": "s" }),
            json!({ "Failure": { "ActionError": { "index": 0, "kind": "AccountDoesNotExist" } } }),
        );
        let mut mixed = shown("FINAL", failure.clone(), success);
        let hook =
            json!({ "id": "s", "outcome": { "status": failure, "executor_id": "hook.near" } });
        mixed["receipts_outcome"].as_array_mut().unwrap().push(hook);
        let Ok(StatusReply::Final(found)) = read(Ok(mixed)) else { panic!("it is final") };
        assert_eq!(
            (&found.result, &found.logs[..]),
            (&ExecutionResult::Success, &["x".to_owned()][..])
        );
        let behind = found.failed_behind.unwrap_or_default();
        assert!(behind.contains("hook.near") && behind.contains("AccountDoesNotExist"), "{behind}");
    }

    #[test]
    fn only_final_outcomes_of_the_receipt_count() {
        let success = json!({ "SuccessValue": "" });
        let failure = json!({ "Failure": { "ActionError": { "index": 3, "kind": {} } } });
        let invalid = json!({ "Failure": { "InvalidTxError": "Expired" } });
        assert!(is_final(shown("FINAL", success.clone(), success.clone())));
        assert!(is_final(shown("FINAL", failure.clone(), failure.clone())));
        for stage in ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "EXECUTED", "INCLUDED_FINAL", ""] {
            assert!(!is_final(shown(stage, success.clone(), success.clone())), "{stage}");
        }
        assert!(!is_final(shown("FINAL", success, failure.clone())));
        assert!(!is_final(shown("FINAL", invalid.clone(), invalid)));
        let Ok(StatusReply::Final(found)) = read(Ok(shown("FINAL", failure.clone(), failure)))
        else {
            unreachable!("it is final")
        };
        assert!(matches!(found.result, ExecutionResult::Failure { index: Some(3), .. }));
    }
}
