//! Defines a call of a node's method, and what an adapter says of the nodes of its chain.

use super::reply::RpcFailure;
use kernel::ports::chain::ChainIdentity;
use serde_json::Value;
use std::fmt::Debug;

/// How the answer to a call is read.
pub(crate) type Reads<T> = fn(Result<Value, RpcFailure>) -> Result<T, RpcFailure>;

/// One call: it may be made at any provider.
#[derive(Debug)]
pub(crate) struct RpcCall<T> {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) read: Reads<T>,
}

/// How the nodes of one kind of chain are called.
pub(crate) trait Dialect: Debug + Send + Sync {
    /// The method that has an effect.
    fn sends(&self) -> &'static str;
    /// Asks which chain a node shows.
    fn identity(&self) -> RpcCall<ChainIdentity>;
    /// What a call asks: providers take turns for each kind of question.
    fn kind<'a>(&self, method: &'a str, params: &'a Value) -> &'a str;
    /// The height of the block that a provider takes for its newest final one, where the call asks about that and the
    /// answer says it.
    fn newest(&self, params: &Value, answer: &Result<Value, RpcFailure>) -> Option<u64>;
    /// The refusal that an error of a node is.
    fn refusal(&self, error: &Value) -> RpcFailure;
}
