//! What the adapter asks providers of NEAR: the methods and the shapes of their answers, and the final block that new
//! transactions count from.

mod calls;
mod dialect;
mod heads;
#[cfg(test)]
mod recorded;
mod status;

#[cfg(test)]
pub(in crate::near) use crate::rpc::RpcFailure;
pub(in crate::near) use crate::rpc::{
    Agreement, BEHIND, Division, ONE_IS_BELIEVED, PROVIDERS_DISAGREE, ProviderFact, ProviderReply,
    RpcCall, SharedAnswer, agreement, collect_facts, division, in_words, is_trouble, not_behind,
    outvotes, shortened,
};
pub(in crate::near) use calls::{
    BlockAt, BlockHead, ChunkTransaction, KeyList, KeyView, access_key, access_keys, account,
    chunk, chunks, code, exists, has_view, objection, send, token_balance, transaction, view,
};
pub(in crate::near) use heads::NearPool;
pub(in crate::near) use status::{ExecutionResult, FinalTransaction, StatusReply};
