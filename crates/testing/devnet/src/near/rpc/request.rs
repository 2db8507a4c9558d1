//! Reading a JSON-RPC request: by name or by position, as a node does.

use near_jsonrpc_primitives::{
    errors::RpcError,
    types::{
        chunks::ChunkReference,
        gas_price::RpcGasPriceRequest,
        query::RpcQueryRequest,
        transactions::{RpcSendTransactionRequest, RpcTransactionStatusRequest, TransactionInfo},
    },
};
use near_primitives::{
    hash::CryptoHash,
    transaction::SignedTransaction,
    types::{BlockId, BlockReference, MaybeBlockId},
    views::TxExecutionStatus,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) enum Request {
    Send {
        signed: Box<SignedTransaction>,
        wait: TxExecutionStatus,
    },
    SendAsync {
        signed: Box<SignedTransaction>,
    },
    Transaction {
        hash: CryptoHash,
        signed: Option<Box<SignedTransaction>>,
        wait: TxExecutionStatus,
        with_receipts: bool,
    },
    Query(Box<RpcQueryRequest>),
    Block(BlockReference),
    Chunk(ChunkReference),
    ProtocolConfig(BlockReference),
    GasPrice(MaybeBlockId),
    Status,
}

impl Request {
    /// The transaction that it is about.
    pub(super) fn transaction(&self) -> Option<CryptoHash> {
        match self {
            Self::Send { signed, .. } | Self::SendAsync { signed } => Some(signed.get_hash()),
            Self::Transaction { hash, .. } => Some(*hash),
            Self::Query(_)
            | Self::Block(_)
            | Self::Chunk(_)
            | Self::ProtocolConfig(_)
            | Self::GasPrice(_)
            | Self::Status => None,
        }
    }

    /// The same request, answered at once.
    pub(super) fn without_waiting(self) -> Self {
        match self {
            Self::Send { signed, .. } => Self::SendAsync { signed },
            Self::Transaction { hash, signed, with_receipts, .. } => {
                Self::Transaction { hash, signed, wait: TxExecutionStatus::None, with_receipts }
            }
            same @ (Self::SendAsync { .. }
            | Self::Query(_)
            | Self::Block(_)
            | Self::Chunk(_)
            | Self::ProtocolConfig(_)
            | Self::GasPrice(_)
            | Self::Status) => same,
        }
    }
}

pub(super) fn parse(method: &str, params: Value) -> Result<Request, RpcError> {
    match method {
        "send_tx" => {
            let send: RpcSendTransactionRequest = read(named(params, &["signed_tx_base64"]))?;
            Ok(Request::Send { signed: Box::new(send.signed_transaction), wait: send.wait_until })
        }
        "broadcast_tx_async" => {
            let send: RpcSendTransactionRequest = read(named(params, &["signed_tx_base64"]))?;
            Ok(Request::SendAsync { signed: Box::new(send.signed_transaction) })
        }
        "broadcast_tx_commit" => {
            let send: RpcSendTransactionRequest = read(named(params, &["signed_tx_base64"]))?;
            let wait = TxExecutionStatus::ExecutedOptimistic;
            Ok(Request::Send { signed: Box::new(send.signed_transaction), wait })
        }
        "tx" => transaction(params, false),
        "EXPERIMENTAL_tx_status" => transaction(params, true),
        "query" => Ok(Request::Query(Box::new(read(params)?))),
        "block" => Ok(Request::Block(reference(params)?)),
        "EXPERIMENTAL_protocol_config" => Ok(Request::ProtocolConfig(reference(params)?)),
        "chunk" => Ok(Request::Chunk(chunk(params)?)),
        "gas_price" => {
            let price: RpcGasPriceRequest = read(named(params, &["block_id"]))?;
            Ok(Request::GasPrice(price.block_id))
        }
        "status" => Ok(Request::Status),
        _ => Err(RpcError::method_not_found(method.to_owned())),
    }
}

fn transaction(params: Value, with_receipts: bool) -> Result<Request, RpcError> {
    let names: &[&str] = match params.as_array().map(Vec::len) {
        Some(1) => &["signed_tx_base64"],
        _ => &["tx_hash", "sender_account_id"],
    };
    let status: RpcTransactionStatusRequest = read(named(params, names))?;
    let wait = status.wait_until;
    Ok(match status.transaction_info {
        TransactionInfo::Transaction { signed_tx } => Request::Transaction {
            hash: signed_tx.get_hash(),
            signed: Some(Box::new(signed_tx)),
            wait,
            with_receipts,
        },
        TransactionInfo::TransactionId { tx_hash, .. } => {
            Request::Transaction { hash: tx_hash, signed: None, wait, with_receipts }
        }
    })
}

fn reference(params: Value) -> Result<BlockReference, RpcError> {
    match params.as_array() {
        Some(list) => {
            let id: BlockId = read(list.first().cloned().unwrap_or_default())?;
            Ok(BlockReference::BlockId(id))
        }
        None => read(params),
    }
}

fn chunk(params: Value) -> Result<ChunkReference, RpcError> {
    let names: &[&str] = match params.as_array().map(Vec::len) {
        Some(1) => &["chunk_id"],
        _ => &["block_id", "shard_id"],
    };
    read(named(params, names))
}

/// Parameters by position, under their names.
fn named(params: Value, names: &[&str]) -> Value {
    match params {
        Value::Array(list) => names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(list)
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Null => json!({}),
        by_name @ (Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            by_name
        }
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params)
        .map_err(|error| RpcError::parse_error(format!("Failed parsing args: {error}")))
}
