//! How NEAR's nodes are called, for the pool of providers.

use super::calls::{SENDS, identity};
use crate::rpc::{Dialect, RpcCall, RpcFailure, shortened};
use kernel::ports::chain::ChainIdentity;
use serde_json::Value;

/// The dialect of NEAR's nodes.
#[derive(Debug)]
pub(super) struct NearDialect;

impl Dialect for NearDialect {
    fn sends(&self) -> &'static str {
        SENDS
    }

    fn identity(&self) -> RpcCall<ChainIdentity> {
        identity()
    }

    /// The method of the contract or of the query, where there is one, else the method of the RPC.
    fn kind<'a>(&self, method: &'a str, params: &'a Value) -> &'a str {
        let inner = ["method_name", "request_type"];
        inner.iter().find_map(|name| params.get(name)?.as_str()).unwrap_or(method)
    }

    fn newest(&self, params: &Value, answer: &Result<Value, RpcFailure>) -> Option<u64> {
        params.get("finality")?;
        match answer {
            Ok(answer) => {
                let height = ["/block_height", "/header/height"];
                height.into_iter().find_map(|at| answer.pointer(at)?.as_u64())
            }
            Err(RpcFailure::Refused { height, .. }) => *height,
            Err(RpcFailure::Silent(_)) => None,
        }
    }

    fn refusal(&self, error: &Value) -> RpcFailure {
        let name = error.pointer("/cause/name").or_else(|| error.get("name"));
        let name = name.and_then(Value::as_str).unwrap_or("UNNAMED").to_owned();
        let height = error.pointer("/cause/info/block_height").and_then(Value::as_u64);
        RpcFailure::Refused { name, text: shortened(&error.to_string()), height }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::read as read_with;

    fn read(status: u16, body: &[u8], id: &str) -> Result<Value, RpcFailure> {
        read_with(&NearDialect, status, body, id)
    }

    #[test]
    fn only_a_whole_answer_to_this_question_is_a_result() {
        let ok = br#"{"jsonrpc":"2.0","id":"7","result":{"x":1},"more":2}"#;
        assert!(read(200, ok, "7").is_ok());
        assert!(read(200, ok, "8").is_err());
        assert!(read(500, ok, "7").is_err());
        for (status, body) in [(429, &ok[..]), (503, ok), (200, b"<html>"), (200, br#"{"id":"7"}"#)]
        {
            assert!(matches!(read(status, body, "7"), Err(RpcFailure::Silent(_))), "{status}");
        }
        let error = br#"{"id":"7","error":{"name":"HANDLER_ERROR","cause":{"name":"UNKNOWN_TRANSACTION"}}}"#;
        // a node that skipped a height says 422 (near/nearcore#12402)
        for status in [200, 422, 500] {
            let refused = read(status, error, "7");
            assert!(
                matches!(&refused, Err(RpcFailure::Refused { name, .. }) if name == "UNKNOWN_TRANSACTION"),
                "{refused:?}"
            );
        }
    }
}
