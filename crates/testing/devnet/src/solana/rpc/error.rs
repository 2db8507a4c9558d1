//! The errors of a node, by its own codes and words (Agave 4.0, `rpc-client-api/src/custom_error.rs`).

use serde_json::{Value, json};
use solana_rpc_client_types::response::RpcSimulateTransactionResult;

#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>, data: Option<Value>) -> Self {
        Self { code, message: message.into(), data }
    }

    pub(super) fn parse(why: &str) -> Self {
        Self::new(-32700, format!("Parse error: {why}"), None)
    }

    pub(super) fn method_not_found() -> Self {
        Self::new(-32601, "Method not found", None)
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message, None)
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message, None)
    }

    pub(super) fn preflight(message: String, result: &RpcSimulateTransactionResult) -> Self {
        Self::new(-32002, message, Some(json!(result)))
    }

    pub(super) fn signature_verification() -> Self {
        Self::new(-32003, "Transaction signature verification failure", None)
    }

    pub(super) fn block_not_available(slot: u64) -> Self {
        Self::new(-32004, format!("Block not available for slot {slot}"), None)
    }

    pub(super) fn unhealthy(slots: u64) -> Self {
        let message = format!("Node is behind by {slots} slots");
        Self::new(-32005, message, Some(json!({"numSlotsBehind": slots})))
    }

    pub(super) fn slot_skipped(slot: u64) -> Self {
        let message =
            format!("Slot {slot} was skipped, or missing due to ledger jump to recent snapshot");
        Self::new(-32007, message, None)
    }

    pub(super) fn unsupported_version(version: u8) -> Self {
        let message = format!(
            "Transaction version ({version}) is not supported by the requesting client. Please try \
             the request again with the following configuration parameter: \
             \"maxSupportedTransactionVersion\": {version}"
        );
        Self::new(-32015, message, None)
    }

    pub(super) fn min_context_slot(slot: u64) -> Self {
        let message = "Minimum context slot has not been reached";
        Self::new(-32016, message, Some(json!({"contextSlot": slot})))
    }

    /// An error by the script of this endpoint.
    pub(super) fn scripted(code: i64, message: String, data: Option<Value>) -> Self {
        Self::new(code, message, data)
    }

    pub(super) fn shown(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(fields)) = (&self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data.clone());
        }
        error
    }
}
