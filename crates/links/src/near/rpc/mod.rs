//! A thin JSON-RPC client over several providers. The answer of one of them is a hint; only what
//! several say of final blocks closes an attempt.

mod budget;
mod calls;
mod endpoint;
mod identity;
mod pool;
#[cfg(test)]
mod recorded;
mod reply;
mod shared;
mod status;
mod tls;

pub(in crate::near) use calls::{
    BlockAt, BlockHead, ChunkTransaction, KeyList, KeyView, RpcCall, access_key, access_keys,
    account, chunk, chunks, code, has_view, objection, send, transaction, view,
};
pub(in crate::near) use pool::{PROVIDERS_DISAGREE, RpcPool};
pub(in crate::near) use reply::{RpcFailure, answered, shortened};
pub(in crate::near) use shared::SharedAnswer;
pub(in crate::near) use status::{ExecutionResult, FinalTransaction, StatusReply};
