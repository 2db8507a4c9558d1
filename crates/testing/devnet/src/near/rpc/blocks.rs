//! `block`, `chunk`, `gas_price`, `status` and the protocol's configuration.

use super::EndpointState;
use crate::near::faults::{Fault, Lie};
use near_chain_configs::{GenesisConfig, ProtocolConfig, ProtocolConfigView};
use near_crypto::{KeyType, PublicKey};
use near_jsonrpc_primitives::{
    errors::RpcError,
    types::{
        blocks::RpcBlockError,
        chunks::{ChunkReference, RpcChunkError},
        config::RpcProtocolConfigError,
        gas_price::RpcGasPriceError,
    },
};
use near_primitives::{
    hash::CryptoHash,
    sharding::ChunkHash,
    types::{
        Balance, BlockId, BlockReference, Finality, Gas, MaybeBlockId, ShardId, SyncCheckpoint,
    },
    version::PROTOCOL_VERSION,
    views::{ChunkView, GasPriceView, StatusResponse, StatusSyncInfo, ValidatorInfo},
};
use serde::Serialize;
use serde_json::Value;

/// The block that a reference means for this endpoint.
pub(super) fn find(
    endpoint: &EndpointState,
    reference: &BlockReference,
) -> Option<(u64, CryptoHash)> {
    let seen = endpoint.seen();
    let chain = endpoint.node.chain();
    let block = match reference {
        BlockReference::BlockId(BlockId::Height(height)) => chain.block(*height),
        BlockReference::BlockId(BlockId::Hash(hash)) => chain.block_by_hash(hash),
        BlockReference::Finality(Finality::None) => chain.block(seen),
        BlockReference::Finality(Finality::DoomSlug) => {
            let near = seen.saturating_sub(1);
            chain.block(near).or_else(|| chain.block(seen))
        }
        BlockReference::Finality(Finality::Final) => chain.block(chain.final_height(seen)),
        BlockReference::SyncCheckpoint(
            SyncCheckpoint::Genesis | SyncCheckpoint::EarliestAvailable,
        ) => chain.block(chain.options.genesis_height),
    };
    block.filter(|block| block.height <= seen).map(|block| (block.height, block.hash))
}

pub(super) fn block(
    endpoint: &EndpointState,
    reference: &BlockReference,
) -> Result<Value, RpcError> {
    let unknown = || RpcBlockError::UnknownBlock { error_message: format!("{reference:?}") };
    let (height, _) = find(endpoint, reference).ok_or_else(unknown)?;
    let chain = endpoint.node.chain();
    let block = chain.block(height).ok_or_else(unknown)?;
    written(&chain.block_view(block, endpoint.node.author()))
}

pub(super) fn chunk(
    endpoint: &EndpointState,
    reference: &ChunkReference,
) -> Result<Value, RpcError> {
    let seen = endpoint.seen();
    let chain = endpoint.node.chain();
    let found = match reference {
        ChunkReference::ChunkHash { chunk_id } => chain.block_by_chunk(chunk_id),
        ChunkReference::BlockShardId { shard_id, .. } if *shard_id != ShardId::new(0) => {
            return Err(RpcChunkError::InvalidShardId { shard_id: *shard_id }.into());
        }
        ChunkReference::BlockShardId { block_id: BlockId::Height(height), .. } => {
            chain.block(*height)
        }
        ChunkReference::BlockShardId { block_id: BlockId::Hash(hash), .. } => {
            chain.block_by_hash(hash)
        }
    };
    let Some(block) = found.filter(|block| block.height <= seen) else {
        return Err(match reference {
            ChunkReference::ChunkHash { chunk_id } => {
                RpcChunkError::UnknownChunk { chunk_hash: ChunkHash(*chunk_id) }
            }
            ChunkReference::BlockShardId { block_id, .. } => {
                RpcChunkError::UnknownBlock { error_message: format!("{block_id:?}") }
            }
        }
        .into());
    };
    let included = block.transactions.iter().filter_map(|hash| chain.transaction(hash, seen));
    let transactions = included.map(|record| record.signed.clone().into()).collect();
    written(&ChunkView {
        author: endpoint.node.author(),
        header: chain.chunk_header(block),
        transactions,
        receipts: chain.receipts_of(block),
    })
}

pub(super) fn gas_price(
    endpoint: &EndpointState,
    block_id: MaybeBlockId,
) -> Result<Value, RpcError> {
    if let Some(id) = block_id {
        let error_message = format!("{id:?}");
        find(endpoint, &BlockReference::BlockId(id))
            .ok_or(RpcGasPriceError::UnknownBlock { error_message })?;
    }
    let price = endpoint.node.chain().options.gas_price;
    written(&GasPriceView { gas_price: Balance::from_yoctonear(price) })
}

pub(super) fn protocol_config(
    endpoint: &EndpointState,
    reference: &BlockReference,
) -> Result<Value, RpcError> {
    find(endpoint, reference).ok_or_else(|| RpcProtocolConfigError::UnknownBlock {
        error_message: format!("{reference:?}"),
    })?;
    let chain = endpoint.node.chain();
    let options = &chain.options;
    let genesis_config = GenesisConfig {
        protocol_version: PROTOCOL_VERSION,
        chain_id: options.chain_id.clone(),
        genesis_height: options.genesis_height,
        gas_limit: Gas::from_gas(options.block_gas.unwrap_or(u64::MAX)),
        min_gas_price: Balance::from_yoctonear(options.gas_price),
        max_gas_price: Balance::from_yoctonear(options.gas_price),
        transaction_validity_period: options.validity_period,
        ..GenesisConfig::default()
    };
    let runtime_config = near_parameters::RuntimeConfig::clone(&chain.config);
    written(&ProtocolConfigView::from(ProtocolConfig { genesis_config, runtime_config }))
}

pub(super) fn status(endpoint: &EndpointState, lie: Option<&Fault>) -> Result<Value, RpcError> {
    let seen = endpoint.seen();
    let chain = endpoint.node.chain();
    let gone = || RpcError::serialization_error("no such block".to_owned());
    let head = chain.block(seen).ok_or_else(gone)?;
    let genesis = chain.block(chain.options.genesis_height).ok_or_else(gone)?;
    let key = PublicKey::empty(KeyType::ED25519);
    let view = chain.block_view(head, endpoint.node.author());
    let (chain_id, genesis_hash) = match lie {
        Some(Fault::Lie(Lie::OtherChain { chain_id, genesis_hash })) => {
            (chain_id.clone(), *genesis_hash)
        }
        _ => (chain.options.chain_id.clone(), genesis.hash),
    };
    written(&StatusResponse {
        version: near_primitives::version::Version {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: "portage-devnet".to_owned(),
            commit: "unknown".to_owned(),
            rustc_version: "unknown".to_owned(),
        },
        chain_id,
        protocol_version: PROTOCOL_VERSION,
        latest_protocol_version: PROTOCOL_VERSION,
        rpc_addr: Some(endpoint.address.clone()),
        validators: vec![ValidatorInfo { account_id: endpoint.node.author() }],
        sync_info: StatusSyncInfo {
            latest_block_hash: head.hash,
            latest_block_height: head.height,
            latest_state_root: view.header.prev_state_root,
            latest_block_time: instant(head.timestamp),
            syncing: false,
            earliest_block_hash: Some(genesis.hash),
            earliest_block_height: Some(genesis.height),
            earliest_block_time: Some(instant(genesis.timestamp)),
            epoch_id: Some(near_primitives::types::EpochId(chain.epoch())),
            epoch_start_height: Some(genesis.height),
        },
        validator_account_id: Some(endpoint.node.author()),
        validator_public_key: Some(key.clone()),
        node_public_key: key.clone(),
        node_key: Some(key),
        uptime_sec: 0,
        genesis_hash,
        detailed_debug_status: None,
    })
}

fn instant(nanoseconds: u64) -> near_time::Utc {
    near_time::Utc::from_unix_timestamp_nanos(i128::from(nanoseconds))
        .unwrap_or(near_time::Utc::UNIX_EPOCH)
}

fn written(view: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(view).map_err(|error| RpcError::serialization_error(error.to_string()))
}
