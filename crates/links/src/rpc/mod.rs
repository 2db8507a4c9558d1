//! A thin JSON-RPC client over several providers of a chain, for every adapter. The answer of one of them is a hint; only
//! what several say of final blocks closes an attempt.

mod agreement;
mod balance;
mod budget;
mod call;
mod endpoint;
mod identity;
mod limits;
mod pool;
mod reply;
mod shared;
mod tls;

use kernel::ports::chain::WRONG_CHAIN;

pub(crate) use agreement::{
    Agreement, Division, ProviderFact, ProviderReply, agreement, collect_facts, division, in_words,
    not_behind, outvotes,
};
pub(crate) use call::{Dialect, RpcCall};
pub(crate) use identity::ExpectedNetwork;
pub use limits::RpcLimits;
pub(crate) use pool::{PoolSettings, RpcPool};
#[cfg(test)]
pub(crate) use reply::read;
pub(crate) use reply::{
    NODE_REFUSED, RpcFailure, amount, bad_reply, hash, number, shortened, text,
};
pub(crate) use shared::SharedAnswer;

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
pub(crate) fn is_trouble(class: &str) -> bool {
    TROUBLE.contains(&class)
}

/// The fewest providers whose agreement counts against a transfer, and explains a lock: one alone may lie.
pub(crate) const SEVERAL: usize = 2;
/// What a second provider is needed for.
pub(crate) const ONE_IS_BELIEVED: &str =
    "with one provider, no attempt is declared dead and none is signed again";

/// The class of a fact that too few providers say, or that they say differently.
pub(crate) const PROVIDERS_DISAGREE: &str = "PROVIDERS_DISAGREE";
/// The class of an answer about the newest final block from a provider that has not come so far: it does not count.
pub(crate) const BEHIND: &str = "BEHIND";
