//! `query`: accounts, access keys and view calls, at a block.

use super::{EndpointState, blocks::find};
use crate::near::faults::{Fault, Lie};
use near_crypto::PublicKey;
use near_jsonrpc_primitives::{
    errors::RpcError,
    types::query::{QueryResponseKind, RpcQueryError, RpcQueryRequest, RpcQueryResponse},
};
use near_primitives::{
    account::AccessKey,
    hash::CryptoHash,
    types::{BlockId, BlockReference},
    views::{AccessKeyInfoView, AccessKeyView, QueryRequest},
};
use serde_json::{Value, json};

/// The block that a query is answered at.
#[derive(Debug, Clone, Copy)]
struct At {
    height: u64,
    hash: CryptoHash,
}

pub(super) fn answer(
    endpoint: &EndpointState,
    query: &RpcQueryRequest,
    lie: Option<&Fault>,
) -> Result<Value, RpcError> {
    let found = find(endpoint, &query.block_reference);
    let Some((height, hash)) = found else {
        return Err(unknown_block(&query.block_reference));
    };
    let at = At { height, hash };
    match respond(endpoint, &query.request, at, lie) {
        Ok(kind) => {
            let response = RpcQueryResponse { kind, block_height: at.height, block_hash: at.hash };
            serde_json::to_value(response)
                .map_err(|error| RpcError::serialization_error(error.to_string()))
        }
        // These two are results with an error in them, as nodes have always given them.
        Err(RpcQueryError::ContractExecutionError { vm_error, .. }) => Ok(failed(&vm_error, at)),
        Err(RpcQueryError::UnknownAccessKey { public_key, .. }) => {
            Ok(failed(&format!("access key {public_key} does not exist while viewing"), at))
        }
        Err(error) => Err(error.into()),
    }
}

fn failed(error: &str, at: At) -> Value {
    json!({"error": error, "logs": [], "block_height": at.height, "block_hash": at.hash})
}

fn unknown_block(reference: &BlockReference) -> RpcError {
    let error = RpcQueryError::UnknownBlock { block_reference: reference.clone() };
    let BlockReference::BlockId(id) = reference else { return error.into() };
    let data = match id {
        BlockId::Height(height) => {
            format!("DB Not Found Error: BLOCK HEIGHT: {height} \n Cause: Unknown")
        }
        BlockId::Hash(hash) => {
            format!("DB Not Found Error: BLOCK HEADER: {hash} \n Cause: Unknown")
        }
    };
    let value = serde_json::to_value(&error).unwrap_or_default();
    RpcError::new_internal_or_handler_error(Some(Value::String(data)), value)
}

fn respond(
    endpoint: &EndpointState,
    request: &QueryRequest,
    at: At,
    lie: Option<&Fault>,
) -> Result<QueryResponseKind, RpcQueryError> {
    let unknown = |id: &near_primitives::types::AccountId| RpcQueryError::UnknownAccount {
        requested_account_id: id.clone(),
        block_height: at.height,
        block_hash: at.hash,
    };
    let account = |id| {
        let found = endpoint.node.chain().account(id, at.height).cloned();
        found.ok_or_else(|| unknown(id))
    };
    match request {
        QueryRequest::ViewAccount { account_id } => {
            Ok(QueryResponseKind::ViewAccount(account(account_id)?.view()))
        }
        QueryRequest::ViewAccessKey { account_id, public_key } => {
            let account = account(account_id)?;
            let key = account.keys.get(public_key).filter(|_| !hides(lie, public_key));
            let Some(key) = key else {
                return Err(RpcQueryError::UnknownAccessKey {
                    public_key: public_key.clone(),
                    block_height: at.height,
                    block_hash: at.hash,
                });
            };
            Ok(QueryResponseKind::AccessKey(shown(key, lie)))
        }
        QueryRequest::ViewAccessKeyList { account_id } => {
            let account = account(account_id)?;
            let keys = account.keys.iter().filter(|(key, _)| !hides(lie, key));
            let keys = keys.map(|(public_key, key)| AccessKeyInfoView {
                public_key: public_key.clone(),
                access_key: shown(key, lie),
            });
            Ok(QueryResponseKind::AccessKeyList(keys.collect()))
        }
        QueryRequest::CallFunction { account_id, method_name, args } => {
            let view = endpoint.node.chain().view(account_id, at.height, args.to_vec());
            // Outside the lock: a view may take as long as a call.
            let result = view.ok_or_else(|| unknown(account_id))?.run(method_name);
            result.map(QueryResponseKind::CallResult).map_err(|error| {
                RpcQueryError::ContractExecutionError {
                    vm_error: format!("wasm execution failed with error: {error:?}"),
                    error,
                    block_height: at.height,
                    block_hash: at.hash,
                }
            })
        }
        QueryRequest::ViewCode { .. }
        | QueryRequest::ViewState { .. }
        | QueryRequest::ViewGasKeyNonces { .. }
        | QueryRequest::ViewGlobalContractCode { .. }
        | QueryRequest::ViewGlobalContractCodeByAccountId { .. } => {
            let error_message = "this chain does not answer this request_type".to_owned();
            Err(RpcQueryError::InternalError { error_message })
        }
    }
}

fn hides(lie: Option<&Fault>, key: &PublicKey) -> bool {
    matches!(lie, Some(Fault::Lie(Lie::HiddenKey { key: hidden })) if hidden == key)
}

fn shown(key: &AccessKey, lie: Option<&Fault>) -> AccessKeyView {
    let mut view = AccessKeyView::from(key.clone());
    if let Some(Fault::Lie(Lie::Nonce { nonce })) = lie {
        view.nonce = *nonce;
    }
    view
}
