//! A transaction as a node writes it.

use super::RpcError;
use crate::solana::chain::record::Record;
use base64::Engine;
use solana_message::{VersionedMessage, v0::MessageAddressTableLookup};
use solana_transaction::versioned::{TransactionVersion, VersionedTransaction};
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::{
    EncodedTransaction, EncodedTransactionWithStatusMeta, TransactionBinaryEncoding,
    UiAddressTableLookup, UiCompiledInstruction, UiMessage, UiRawMessage, UiTransaction,
    UiTransactionEncoding, UiTransactionStatusMeta, option_serializer::OptionSerializer,
};

/// The stack height of a message's own instructions.
const OUTER: u32 = 1;

/// The transaction with what became of it; `lie` is another outcome.
pub(super) fn transaction(
    record: &Record,
    encoding: UiTransactionEncoding,
    max_version: Option<u8>,
    lie: Option<Result<(), TransactionError>>,
) -> Result<EncodedTransactionWithStatusMeta, RpcError> {
    let version = version(&record.transaction, max_version)?;
    let mut meta = record.meta.clone();
    if let Some(status) = lie {
        meta.status = status;
    }
    let legacy = matches!(record.transaction.message, VersionedMessage::Legacy(_));
    let mut meta = UiTransactionStatusMeta::from(meta);
    // a client that names no version gets the fields from before there were any
    if max_version.is_none() && legacy {
        meta.loaded_addresses = OptionSerializer::Skip;
    }
    Ok(EncodedTransactionWithStatusMeta {
        transaction: encoded(&record.transaction, encoding)?,
        meta: Some(meta),
        version,
    })
}

fn version(
    transaction: &VersionedTransaction,
    max_version: Option<u8>,
) -> Result<Option<TransactionVersion>, RpcError> {
    match (max_version, transaction.version()) {
        (None, TransactionVersion::LEGACY) => Ok(None),
        (Some(_), version @ TransactionVersion::LEGACY) => Ok(Some(version)),
        (Some(most), TransactionVersion::Number(version)) if version <= most => {
            Ok(Some(TransactionVersion::Number(version)))
        }
        (_, TransactionVersion::Number(version)) => Err(RpcError::unsupported_version(version)),
    }
}

fn encoded(
    transaction: &VersionedTransaction,
    encoding: UiTransactionEncoding,
) -> Result<EncodedTransaction, RpcError> {
    let bytes =
        || bincode::serialize(transaction).map_err(|error| RpcError::parse(&error.to_string()));
    let base58 = |bytes: Vec<u8>| bs58::encode(bytes).into_string();
    match encoding {
        UiTransactionEncoding::Json => Ok(EncodedTransaction::Json(UiTransaction {
            signatures: transaction.signatures.iter().map(ToString::to_string).collect(),
            message: UiMessage::Raw(message(&transaction.message)),
        })),
        UiTransactionEncoding::Base64 => {
            let text = base64::engine::general_purpose::STANDARD.encode(bytes()?);
            Ok(EncodedTransaction::Binary(text, TransactionBinaryEncoding::Base64))
        }
        UiTransactionEncoding::Base58 => {
            Ok(EncodedTransaction::Binary(base58(bytes()?), TransactionBinaryEncoding::Base58))
        }
        UiTransactionEncoding::Binary => Ok(EncodedTransaction::LegacyBinary(base58(bytes()?))),
        UiTransactionEncoding::JsonParsed => Err(RpcError::invalid_params(
            "devnet: transactions are written as json, base58 or base64",
        )),
    }
}

fn message(message: &VersionedMessage) -> UiRawMessage {
    let instructions = message.instructions().iter();
    UiRawMessage {
        header: *message.header(),
        account_keys: message.static_account_keys().iter().map(ToString::to_string).collect(),
        recent_blockhash: message.recent_blockhash().to_string(),
        instructions: instructions
            .map(|instruction| UiCompiledInstruction::from(instruction, Some(OUTER)))
            .collect(),
        address_table_lookups: message
            .address_table_lookups()
            .map(|lookups| lookups.iter().map(lookup).collect()),
    }
}

fn lookup(lookup: &MessageAddressTableLookup) -> UiAddressTableLookup {
    UiAddressTableLookup {
        account_key: lookup.account_key.to_string(),
        writable_indexes: lookup.writable_indexes.clone(),
        readonly_indexes: lookup.readonly_indexes.clone(),
    }
}
