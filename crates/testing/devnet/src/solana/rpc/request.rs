//! Reading a JSON-RPC request with the node's own types: parameters by position, the last one a configuration.

use super::error::RpcError;
use base64::Engine;
use serde::de::DeserializeOwned;
use serde_json::Value;
use solana_address::Address;
use solana_rpc_client_types::{
    config::{
        CommitmentConfig, RpcAccountInfoConfig, RpcContextConfig, RpcEncodingConfigWrapper,
        RpcSendTransactionConfig, RpcSignatureStatusConfig, RpcSignaturesForAddressConfig,
        RpcTransactionConfig,
    },
    request::{
        MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT, MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS,
        MAX_MULTIPLE_ACCOUNTS,
    },
};
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_status_client_types::{TransactionBinaryEncoding, UiTransactionEncoding};
use std::{collections::VecDeque, str::FromStr};

/// Bytes of a transaction on the wire, at most, and of its two encodings.
const PACKET: usize = 1_232;
const PACKET_BASE58: usize = 1_683;
const PACKET_BASE64: usize = 1_644;
const TRANSACTION: &str = "solana_transaction::versioned::VersionedTransaction";
/// Addresses of one `getRecentPrioritizationFees`, at most.
const MOST_LOCKS: usize = 128;

#[derive(Debug)]
pub(crate) enum Request {
    GenesisHash,
    Health,
    Version,
    Slot(RpcContextConfig),
    BlockHeight(RpcContextConfig),
    LatestBlockhash(RpcContextConfig),
    BlockTime(u64),
    Account(Address, RpcAccountInfoConfig),
    Accounts(Vec<Address>, RpcAccountInfoConfig),
    Balance(Address, RpcContextConfig),
    TokenBalance(Address, Option<CommitmentConfig>),
    Rent(usize),
    PrioritizationFees(Vec<Address>),
    Signatures(Box<SignaturesRequest>),
    Transaction(Signature, RpcTransactionConfig),
    Statuses(Vec<Signature>, bool),
    Send(Box<VersionedTransaction>, RpcSendTransactionConfig),
}

#[derive(Debug)]
pub(crate) struct SignaturesRequest {
    pub(super) address: Address,
    pub(super) before: Option<Signature>,
    pub(super) until: Option<Signature>,
    pub(super) limit: usize,
    pub(super) context: RpcContextConfig,
}

impl Request {
    /// The transaction that it is about.
    pub(super) fn transaction(&self) -> Option<String> {
        match self {
            Self::Transaction(signature, _) => Some(signature.to_string()),
            Self::Statuses(signatures, _) => signatures.first().map(Signature::to_string),
            Self::Send(transaction, _) => transaction.signatures.first().map(Signature::to_string),
            Self::GenesisHash
            | Self::Health
            | Self::Version
            | Self::Slot(_)
            | Self::BlockHeight(_)
            | Self::LatestBlockhash(_)
            | Self::BlockTime(_)
            | Self::Account(..)
            | Self::Accounts(..)
            | Self::Balance(..)
            | Self::TokenBalance(..)
            | Self::Rent(_)
            | Self::PrioritizationFees(_)
            | Self::Signatures(_) => None,
        }
    }
}

pub(super) fn parse(method: &str, params: Value) -> Result<Request, RpcError> {
    let mut params = Params::new(params)?;
    Ok(match method {
        "getGenesisHash" => Request::GenesisHash,
        "getHealth" => Request::Health,
        "getVersion" => Request::Version,
        "getSlot" => Request::Slot(params.or_default()?),
        "getBlockHeight" => Request::BlockHeight(params.or_default()?),
        "getLatestBlockhash" => Request::LatestBlockhash(params.or_default()?),
        "getBlockTime" => Request::BlockTime(params.required()?),
        "getAccountInfo" => Request::Account(params.parsed()?, params.or_default()?),
        "getMultipleAccounts" => {
            let addresses = params.list(MAX_MULTIPLE_ACCOUNTS)?;
            Request::Accounts(addresses, params.or_default()?)
        }
        "getBalance" => Request::Balance(params.parsed()?, params.or_default()?),
        "getTokenAccountBalance" => Request::TokenBalance(params.parsed()?, params.or_default()?),
        "getMinimumBalanceForRentExemption" => Request::Rent(params.required()?),
        "getRecentPrioritizationFees" => Request::PrioritizationFees(if params.ended() {
            Vec::new()
        } else {
            params.list(MOST_LOCKS)?
        }),
        "getSignaturesForAddress" => Request::Signatures(Box::new(signatures(&mut params)?)),
        "getTransaction" => {
            let signature = params.parsed()?;
            let config: Option<RpcEncodingConfigWrapper<RpcTransactionConfig>> =
                params.or_default()?;
            let config = config.map(|config| config.convert_to_current()).unwrap_or_default();
            Request::Transaction(signature, config)
        }
        "getSignatureStatuses" => {
            let signatures = params.list(MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS)?;
            let config: Option<RpcSignatureStatusConfig> = params.or_default()?;
            let search = config.is_some_and(|config| config.search_transaction_history);
            Request::Statuses(signatures, search)
        }
        "sendTransaction" => {
            let text: String = params.required()?;
            let config: RpcSendTransactionConfig = params.or_default()?;
            Request::Send(Box::new(transaction(&text, config.encoding)?), config)
        }
        _ => return Err(RpcError::method_not_found()),
    })
}

fn signatures(params: &mut Params) -> Result<SignaturesRequest, RpcError> {
    let most = MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT;
    let address = params.parsed()?;
    let config: RpcSignaturesForAddressConfig = params.or_default()?;
    let limit = config.limit.unwrap_or(most);
    if limit == 0 || limit > most {
        return Err(RpcError::invalid_params(format!("Invalid limit; max {most}")));
    }
    let before = config.before.as_deref().map(parsed).transpose()?;
    let until = config.until.as_deref().map(parsed).transpose()?;
    let context = RpcContextConfig {
        commitment: config.commitment,
        min_context_slot: config.min_context_slot,
    };
    Ok(SignaturesRequest { address, before, until, limit, context })
}

fn transaction(
    text: &str,
    encoding: Option<UiTransactionEncoding>,
) -> Result<VersionedTransaction, RpcError> {
    let encoding = encoding.unwrap_or(UiTransactionEncoding::Base58);
    let binary = encoding.into_binary_encoding().ok_or_else(|| {
        let message =
            format!("unsupported encoding: {encoding}. Supported encodings: base58, base64");
        RpcError::invalid_params(message)
    })?;
    let (name, most) = match binary {
        TransactionBinaryEncoding::Base58 => ("base58", PACKET_BASE58),
        TransactionBinaryEncoding::Base64 => ("base64", PACKET_BASE64),
    };
    let length = text.len();
    if length > most {
        return Err(RpcError::invalid_params(format!(
            "{name} encoded {TRANSACTION} too large: {length} bytes (max: encoded/raw {most}/{PACKET})"
        )));
    }
    let wrong = |why: String| RpcError::invalid_params(format!("invalid {name} encoding: {why}"));
    let bytes = match binary {
        TransactionBinaryEncoding::Base58 => {
            bs58::decode(text).into_vec().map_err(|error| wrong(format!("{error:?}")))?
        }
        TransactionBinaryEncoding::Base64 => base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|error| wrong(format!("{error:?}")))?,
    };
    if bytes.len() > PACKET {
        let size = bytes.len();
        return Err(RpcError::invalid_params(format!(
            "decoded {TRANSACTION} too large: {size} bytes (max: {PACKET} bytes)"
        )));
    }
    let transaction: VersionedTransaction = bincode::deserialize(&bytes).map_err(|error| {
        RpcError::invalid_params(format!("failed to deserialize {TRANSACTION}: {error}"))
    })?;
    transaction
        .sanitize()
        .map_err(|error| RpcError::invalid_params(format!("invalid transaction: {error}")))?;
    Ok(transaction)
}

/// Parameters by position, taken from the first on.
struct Params(VecDeque<Value>);

impl Params {
    fn new(params: Value) -> Result<Self, RpcError> {
        match params {
            Value::Array(list) => Ok(Self(list.into())),
            Value::Null => Ok(Self(VecDeque::new())),
            Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(RpcError::invalid_params("`params` should be an array"))
            }
        }
    }

    fn ended(&self) -> bool {
        self.0.is_empty()
    }

    fn required<T: DeserializeOwned>(&mut self) -> Result<T, RpcError> {
        let value = self.0.pop_front().ok_or_else(|| {
            RpcError::invalid_params("`params` should have at least 1 argument(s)")
        })?;
        read(value)
    }

    fn or_default<T: DeserializeOwned + Default>(&mut self) -> Result<T, RpcError> {
        match self.0.pop_front() {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => read(value),
        }
    }

    fn parsed<T: FromStr>(&mut self) -> Result<T, RpcError>
    where
        T::Err: std::fmt::Debug,
    {
        parsed(&self.required::<String>()?)
    }

    fn list<T: FromStr>(&mut self, most: usize) -> Result<Vec<T>, RpcError>
    where
        T::Err: std::fmt::Debug,
    {
        let list: Vec<String> = self.required()?;
        if list.len() > most {
            return Err(RpcError::invalid_params(format!("Too many inputs provided; max {most}")));
        }
        list.iter().map(|text| parsed(text)).collect()
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, RpcError> {
    serde_json::from_value(value)
        .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}.")))
}

fn parsed<T: FromStr>(text: &str) -> Result<T, RpcError>
where
    T::Err: std::fmt::Debug,
{
    text.parse().map_err(|error| RpcError::invalid_params(format!("Invalid param: {error:?}")))
}
