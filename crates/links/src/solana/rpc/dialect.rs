//! How Solana's nodes are called, for the pool of providers.

use super::calls::{SENDS, identity};
use crate::rpc::{BEHIND, Dialect, RpcCall, RpcFailure, shortened};
use kernel::answer::Cause;
use kernel::ports::chain::ChainIdentity;
use serde_json::Value;

/// The code of a node that has not come as far as it was asked for (`minContextSlot`).
const TOO_EARLY: i64 = -32016;

/// The dialect of Solana's nodes.
#[derive(Debug)]
pub(in crate::solana) struct SolanaDialect;

impl Dialect for SolanaDialect {
    fn sends(&self) -> &'static str {
        SENDS
    }

    fn identity(&self) -> RpcCall<ChainIdentity> {
        identity()
    }

    fn kind<'a>(&self, method: &'a str, _: &'a Value) -> &'a str {
        method
    }

    /// The slot of the answer's context, or the answer itself.
    fn newest(&self, params: &Value, answer: &Result<Value, RpcFailure>) -> Option<u64> {
        let config = params.as_array().and_then(|params| params.last());
        let is_final = |value: &Value| value.as_str() == Some("finalized");
        config?.get("commitment").filter(|value| is_final(value))?;
        let answer = answer.as_ref().ok()?;
        answer.as_u64().or_else(|| answer.pointer("/context/slot")?.as_u64())
    }

    fn refusal(&self, error: &Value) -> RpcFailure {
        let code = error.get("code").and_then(Value::as_i64);
        if code == Some(TOO_EARLY) {
            return RpcFailure::Silent(Cause::because(BEHIND, shortened(&error.to_string())));
        }
        let name = code.map_or_else(|| "UNNAMED".to_owned(), |code| code.to_string());
        RpcFailure::Refused { name, text: shortened(&error.to_string()), height: None }
    }
}
