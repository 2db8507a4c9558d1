//! What a node says of itself and of its blocks.

use super::{EndpointState, RpcError, at_slot, written};
use crate::solana::{
    chain::{Chain, WINDOW, block::Block},
    faults::{Fault, Lie},
};
use serde_json::{Value, json};
use solana_address::Address;
use solana_rpc_client_types::response::{
    RpcApiVersion, RpcBlockhash, RpcPrioritizationFee, RpcVersionInfo,
};

/// A node that is further behind the cluster says so; `DELINQUENT_VALIDATOR_SLOT_DISTANCE`.
const HEALTHY_DISTANCE: u64 = 128;
/// The newest blocks whose fees a node remembers.
const FEE_BLOCKS: u64 = 150;

pub(super) fn genesis_hash(chain: &Chain, lie: Option<&Fault>) -> Value {
    if let Some(Fault::Lie(Lie::OtherChain { genesis_hash })) = lie {
        return json!(genesis_hash);
    }
    let genesis = chain.block(chain.options.genesis_height);
    json!(genesis.map(|block| block.blockhash.to_string()))
}

pub(super) fn health(endpoint: &EndpointState, chain: &Chain) -> Result<Value, RpcError> {
    let slot = |height| chain.block(height).map_or(0, |block| block.slot);
    let head = chain.height();
    let behind = slot(head).saturating_sub(slot(endpoint.seen_at(head)));
    if behind > HEALTHY_DISTANCE { Err(RpcError::unhealthy(behind)) } else { Ok(json!("ok")) }
}

pub(super) fn version() -> Result<Value, RpcError> {
    let solana_core = RpcApiVersion::default().to_string();
    written(&RpcVersionInfo { solana_core, feature_set: None })
}

pub(super) fn latest(bank: &Block) -> Result<Value, RpcError> {
    let last_valid_block_height = bank.height.saturating_add(WINDOW);
    at_slot(bank, RpcBlockhash { blockhash: bank.blockhash.to_string(), last_valid_block_height })
}

pub(super) fn time(endpoint: &EndpointState, chain: &Chain, slot: u64) -> Result<Value, RpcError> {
    let seen = endpoint.seen_at(chain.height());
    let newest = chain.block(seen).map_or(0, |block| block.slot);
    match chain.block_at_slot(slot) {
        Some(block) if block.height <= seen => Ok(json!(block.seconds())),
        None if slot < newest => Err(RpcError::slot_skipped(slot)),
        _ => Err(RpcError::block_not_available(slot)),
    }
}

/// Of each recent block the least price that was enough for a transaction that writes all these addresses.
pub(super) fn prioritization_fees(
    endpoint: &EndpointState,
    chain: &Chain,
    addresses: &[Address],
) -> Result<Value, RpcError> {
    let seen = endpoint.seen_at(chain.height());
    let first = seen.saturating_sub(FEE_BLOCKS.saturating_sub(1));
    let fees = (first..=seen).filter_map(|height| chain.block(height)).map(|block| {
        let records = || block.transactions.iter().filter_map(|id| chain.record(id, seen));
        let least_of = |address: &Address| {
            records()
                .filter(|record| record.writable.contains(address))
                .map(|record| record.price)
                .min()
        };
        let least = records().map(|record| record.price).min();
        let prioritization_fee =
            addresses.iter().map(least_of).chain([least]).flatten().max().unwrap_or(0);
        RpcPrioritizationFee { slot: block.slot, prioritization_fee }
    });
    written(&fees.collect::<Vec<_>>())
}
