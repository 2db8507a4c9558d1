//! Reads a provider's answer. It is lenient: it skips unknown fields, and an answer that it does not
//! understand counts as none.

use super::call::Dialect;
use crate::base58::from_base58;
use kernel::answer::Cause;
use serde_json::Value;

/// The class of a provider that refuses the rate of requests.
pub(super) const RATE_LIMITED: &str = "RATE_LIMITED";

/// The class of a provider that answers with an error.
pub(crate) const NODE_REFUSED: &str = "NODE_REFUSED";

/// Why there is no result. Nothing of it proves anything of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RpcFailure {
    /// The node answered with an error of this name, and said more.
    Refused {
        /// The name or the code of the error.
        name: String,
        /// The error as the node wrote it, shortened.
        text: String,
        /// The height of the block that it was answered at, where the node says it.
        height: Option<u64>,
    },
    /// No answer that could be read.
    Silent(Cause),
}

impl From<RpcFailure> for Cause {
    fn from(failure: RpcFailure) -> Self {
        match failure {
            RpcFailure::Refused { name, text, .. } => {
                Self::because(NODE_REFUSED, format!("{name}: {text}"))
            }
            RpcFailure::Silent(cause) => cause,
        }
    }
}

/// An answer that is not understood.
pub(crate) fn bad_reply(what: &str) -> RpcFailure {
    RpcFailure::Silent(Cause::because("BAD_REPLY", what))
}

/// The result of a whole answer.
pub(crate) fn read(
    dialect: &dyn Dialect,
    status: u16,
    body: &[u8],
    id: &str,
) -> Result<Value, RpcFailure> {
    match status {
        429 | 403 => return Err(RpcFailure::Silent(Cause::of(RATE_LIMITED))),
        // errors come under these, with their words in the body
        200 | 400 | 408 | 422 | 500 => {}
        _ => return Err(RpcFailure::Silent(Cause::because("HTTP_STATUS", status.to_string()))),
    }
    let mut answer: Value =
        serde_json::from_slice(body).map_err(|_| bad_reply("the body is no JSON"))?;
    if answer.get("id").and_then(Value::as_str) != Some(id) {
        return Err(bad_reply("the answer is to another question"));
    }
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return Err(dialect.refusal(error));
    }
    match answer.get_mut("result").map(Value::take) {
        Some(result) if status == 200 => Ok(result),
        Some(_) | None => Err(bad_reply("the answer has no result")),
    }
}

/// A text of a node for operators, shortened.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(500).collect()
}

/// A field that is a text.
pub(crate) fn text<'a>(value: &'a Value, at: &str) -> Result<&'a str, RpcFailure> {
    value.pointer(at).and_then(Value::as_str).ok_or_else(|| bad_reply(at))
}

/// A field that is a number.
pub(crate) fn number(value: &Value, at: &str) -> Result<u64, RpcFailure> {
    value.pointer(at).and_then(Value::as_u64).ok_or_else(|| bad_reply(at))
}

/// A field with a hash.
pub(crate) fn hash(value: &Value, at: &str) -> Result<[u8; 32], RpcFailure> {
    from_base58(text(value, at)?).ok_or_else(|| bad_reply(at))
}

/// An amount in decimal, as a text.
pub(crate) fn amount(value: &Value, at: &str) -> Result<u128, RpcFailure> {
    text(value, at)?.parse().map_err(|_| bad_reply(at))
}
