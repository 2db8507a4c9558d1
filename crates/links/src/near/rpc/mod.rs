//! A thin JSON-RPC client over several providers. The answer of one of them is a hint; only what
//! several say of final blocks closes an attempt.

mod agreement;
mod balance;
mod budget;
mod calls;
mod endpoint;
mod heads;
mod identity;
mod pool;
#[cfg(test)]
mod recorded;
mod reply;
mod shared;
mod status;
mod tls;

use kernel::ports::chain::WRONG_CHAIN;

pub(in crate::near) use agreement::{
    Agreement, Division, ProviderFact, ProviderReply, agreement, collect_facts, division, in_words,
    not_behind, outvotes,
};
pub(in crate::near) use calls::{
    BlockAt, BlockHead, ChunkTransaction, KeyList, KeyView, RpcCall, access_key, access_keys,
    account, chunk, chunks, code, exists, has_view, objection, send, token_balance, transaction,
    view,
};
pub(in crate::near) use pool::RpcPool;
#[cfg(test)]
pub(in crate::near) use reply::RpcFailure;
pub(in crate::near) use reply::shortened;
pub(in crate::near) use shared::SharedAnswer;
pub(in crate::near) use status::{ExecutionResult, FinalTransaction, StatusReply};

/// The classes of causes that lie with the providers. One that is some blocks behind is no trouble: that happens in
/// between, and ends by itself.
const TROUBLE: [&str; 13] = [
    "TIMEOUT",
    "UNREACHABLE",
    "CONNECTION_LOST",
    "HTTP_STATUS",
    "BODY_TOO_LARGE",
    "BAD_REPLY",
    "RATE_BUDGET",
    "NO_PROVIDER",
    "PROVIDER_RESTS",
    reply::RATE_LIMITED,
    reply::NODE_REFUSED,
    PROVIDERS_DISAGREE,
    WRONG_CHAIN,
];

/// True for the class of a cause that lies with the providers.
pub(in crate::near) fn is_trouble(class: &str) -> bool {
    TROUBLE.contains(&class)
}

/// The class of a fact that too few providers say, or that they say differently.
pub(in crate::near) const PROVIDERS_DISAGREE: &str = "PROVIDERS_DISAGREE";
/// The class of an answer about the newest final block from a provider that has not come so far: it does not count.
pub(in crate::near) const BEHIND: &str = "BEHIND";
