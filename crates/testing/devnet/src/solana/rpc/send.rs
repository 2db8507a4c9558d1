//! `sendTransaction`: what a node looks at before it passes a transaction on, and what becomes of it then.

use super::{EndpointState, RpcError, blocks};
use crate::solana::{
    chain::{Chain, WITHHELD},
    faults::Fault,
};
use litesvm::types::TransactionMetadata;
use serde_json::{Value, json};
use solana_rpc_client_types::{
    config::{CommitmentConfig, RpcContextConfig, RpcSendTransactionConfig},
    response::RpcSimulateTransactionResult,
};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

pub(super) fn send(
    endpoint: &EndpointState,
    chain: &mut Chain,
    transaction: VersionedTransaction,
    config: &RpcSendTransactionConfig,
    lie: Option<&Fault>,
) -> Result<Value, RpcError> {
    let signature = transaction.signatures.first().map(ToString::to_string);
    let commitment = config.preflight_commitment.map(|commitment| CommitmentConfig { commitment });
    let context = RpcContextConfig { commitment, min_context_slot: config.min_context_slot };
    let height = endpoint.context(chain, &context)?.height;
    if !config.skip_preflight {
        preflight(endpoint, chain, &transaction, height)?;
    }
    let not_before = match lie {
        Some(Fault::Withhold) => WITHHELD,
        Some(Fault::Late { blocks }) => chain.height().saturating_add(1).saturating_add(*blocks),
        _ => 0,
    };
    chain.pool(transaction, not_before);
    Ok(json!(signature))
}

/// Tries the transaction on the block of its preflight commitment.
fn preflight(
    endpoint: &EndpointState,
    chain: &mut Chain,
    transaction: &VersionedTransaction,
    height: u64,
) -> Result<(), RpcError> {
    if !transaction.verify_with_results().iter().all(|valid| *valid) {
        return Err(RpcError::signature_verification());
    }
    blocks::health(endpoint, chain)?;
    let (error, meta) = match chain.simulate(transaction, height) {
        Ok(executed) => match executed.result {
            Ok(()) => return Ok(()),
            Err(error) => (error, executed.meta),
        },
        Err(error) => (error, TransactionMetadata::default()),
    };
    Err(failure(&error, meta))
}

fn failure(error: &TransactionError, meta: TransactionMetadata) -> RpcError {
    let data = meta.return_data;
    let result = RpcSimulateTransactionResult {
        err: Some(error.clone().into()),
        logs: Some(meta.logs),
        accounts: None,
        units_consumed: Some(meta.compute_units_consumed),
        loaded_accounts_data_size: None,
        return_data: Some(data).filter(|data| !data.data.is_empty()).map(Into::into),
        inner_instructions: None,
        replacement_blockhash: None,
        fee: None,
        pre_balances: None,
        post_balances: None,
        pre_token_balances: None,
        post_token_balances: None,
        loaded_addresses: None,
    };
    RpcError::preflight(format!("Transaction simulation failed: {error}"), &result)
}
