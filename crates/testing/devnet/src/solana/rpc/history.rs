//! Transactions: one by its signature, the statuses of several, and the history of an address.

use super::{EndpointState, RpcError, at_slot, encode, request::SignaturesRequest, written};
use crate::solana::{
    chain::{Chain, WINDOW, history::Page, record::Record},
    faults::{Fault, Lie},
};
use serde_json::Value;
use solana_rpc_client_types::{
    config::{CommitmentConfig, CommitmentLevel, RpcTransactionConfig},
    response::RpcConfirmedTransactionStatusWithSignature,
};
use solana_signature::Signature;
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::{
    EncodedConfirmedTransactionWithStatusMeta, TransactionConfirmationStatus, TransactionStatus,
    UiTransactionEncoding,
};

pub(super) fn signatures(
    endpoint: &EndpointState,
    chain: &Chain,
    request: SignaturesRequest,
    lie: Option<&Fault>,
) -> Result<Value, RpcError> {
    at_least_confirmed(request.context.commitment)?;
    let bank = endpoint.context(chain, &request.context)?;
    let SignaturesRequest { address, before, until, limit, .. } = request;
    let mut page = Page { address, before, until, limit, hidden: Vec::new() };
    match lie {
        Some(Fault::Lie(Lie::UnknownUntil)) => page.until = None,
        Some(Fault::Lie(Lie::Gap { signatures })) => {
            page.hidden = signatures.iter().filter_map(|text| text.parse().ok()).collect();
        }
        _ => {}
    }
    let seen = endpoint.seen_at(chain.height());
    let shown = chain.history(&page, bank.height).into_iter().filter_map(|record| {
        Some(RpcConfirmedTransactionStatusWithSignature {
            signature: record.transaction.signatures.first()?.to_string(),
            slot: record.slot,
            err: record.meta.status.clone().err().map(Into::into),
            memo: memo(record),
            block_time: chain.block(record.height).map(|block| block.seconds()),
            confirmation_status: Some(confirmation(chain, record.height, seen)),
            transaction_index: None,
        })
    });
    written(&shown.collect::<Vec<_>>())
}

/// The memos of a transaction in one line, each with its length in bytes.
fn memo(record: &Record) -> Option<String> {
    let memos = record.memos.iter().map(|memo| format!("[{}] {memo}", memo.len()));
    Some(memos.collect::<Vec<_>>().join("; ")).filter(|line| !line.is_empty())
}

pub(super) fn transaction(
    endpoint: &EndpointState,
    chain: &Chain,
    signature: &Signature,
    config: RpcTransactionConfig,
    lie: Option<&Fault>,
) -> Result<Value, RpcError> {
    at_least_confirmed(config.commitment)?;
    let bank = endpoint.bank(chain, config.commitment)?;
    let hidden = matches!(lie, Some(Fault::Lie(Lie::Unknown)));
    let record = chain.record(signature, bank.height).filter(|_| !hidden);
    let Some(record) = record else { return Ok(Value::Null) };
    let encoding = config.encoding.unwrap_or(UiTransactionEncoding::Json);
    let max_version = config.max_supported_transaction_version;
    written(&EncodedConfirmedTransactionWithStatusMeta {
        slot: record.slot,
        transaction: encode::transaction(record, encoding, max_version, outcome(lie))?,
        block_time: chain.block(record.height).map(|block| block.seconds()),
        transaction_index: None,
    })
}

pub(super) fn statuses(
    endpoint: &EndpointState,
    chain: &Chain,
    signatures: &[Signature],
    search: bool,
    lie: Option<&Fault>,
) -> Result<Value, RpcError> {
    let bank = endpoint.bank(chain, Some(CommitmentConfig::processed()))?;
    let seen = bank.height;
    // a node's cache holds the blocks that are not final and as many final ones as blockhashes live
    let cached = chain.final_height(seen).saturating_sub(WINDOW);
    let status = |signature: &Signature| {
        if matches!(lie, Some(Fault::Lie(Lie::Unknown))) {
            return None;
        }
        let record = chain.record(signature, seen);
        let record = record.filter(|record| search || record.height > cached);
        let Some(record) = record else {
            // a success or a failure that never was
            return outcome(lie).map(|result| invented(bank.slot, result));
        };
        let result = outcome(lie).unwrap_or_else(|| record.meta.status.clone());
        let confirmation = confirmation(chain, record.height, seen);
        let blocks = usize::try_from(seen.saturating_sub(record.height)).ok();
        let rooted = confirmation == TransactionConfirmationStatus::Finalized;
        Some(TransactionStatus {
            slot: record.slot,
            confirmations: blocks.filter(|_| !rooted),
            err: result.clone().err(),
            status: result,
            confirmation_status: Some(confirmation),
        })
    };
    at_slot(bank, signatures.iter().map(status).collect::<Vec<_>>())
}

fn invented(slot: u64, result: Result<(), TransactionError>) -> TransactionStatus {
    TransactionStatus {
        slot,
        confirmations: None,
        err: result.clone().err(),
        status: result,
        confirmation_status: Some(TransactionConfirmationStatus::Finalized),
    }
}

/// The outcome that a lie shows.
fn outcome(lie: Option<&Fault>) -> Option<Result<(), TransactionError>> {
    match lie {
        Some(Fault::Lie(Lie::Outcome { err })) => Some(err.clone().map_or(Ok(()), Err)),
        _ => None,
    }
}

fn confirmation(chain: &Chain, height: u64, seen: u64) -> TransactionConfirmationStatus {
    if height <= chain.height_of(CommitmentLevel::Finalized, seen) {
        TransactionConfirmationStatus::Finalized
    } else if height <= chain.height_of(CommitmentLevel::Confirmed, seen) {
        TransactionConfirmationStatus::Confirmed
    } else {
        TransactionConfirmationStatus::Processed
    }
}

fn at_least_confirmed(commitment: Option<CommitmentConfig>) -> Result<(), RpcError> {
    if commitment.is_some_and(|config| config.commitment == CommitmentLevel::Processed) {
        let message = "Method does not support commitment below `confirmed`";
        return Err(RpcError::invalid_params(message));
    }
    Ok(())
}
