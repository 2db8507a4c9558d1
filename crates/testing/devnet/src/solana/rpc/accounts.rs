//! Accounts and balances, as a block has them.

use super::{EndpointState, RpcError, at_slot};
use crate::solana::chain::{Chain, block::Block, record};
use base64::Engine;
use serde_json::Value;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_account_decoder_client_types::{UiAccount, UiAccountData, UiAccountEncoding};
use solana_address::Address;
use solana_rpc_client_types::config::{RpcAccountInfoConfig, RpcContextConfig};

/// Bytes that a node writes in base 58, at most.
const LONGEST_BASE58: usize = 128;

pub(super) fn one(
    endpoint: &EndpointState,
    chain: &Chain,
    address: &Address,
    config: &RpcAccountInfoConfig,
) -> Result<Value, RpcError> {
    let bank = endpoint.context(chain, &context(config))?;
    let encoding = config.encoding.unwrap_or(UiAccountEncoding::Binary);
    at_slot(bank, shown(chain, bank, address, encoding, config)?)
}

pub(super) fn several(
    endpoint: &EndpointState,
    chain: &Chain,
    addresses: &[Address],
    config: &RpcAccountInfoConfig,
) -> Result<Value, RpcError> {
    let bank = endpoint.context(chain, &context(config))?;
    let encoding = config.encoding.unwrap_or(UiAccountEncoding::Base64);
    let accounts = addresses.iter().map(|address| shown(chain, bank, address, encoding, config));
    at_slot(bank, accounts.collect::<Result<Vec<_>, _>>()?)
}

pub(super) fn balance(chain: &Chain, bank: &Block, address: &Address) -> Result<Value, RpcError> {
    at_slot(bank, chain.lamports(address, bank.height))
}

pub(super) fn token_balance(bank: &Block, address: &Address) -> Result<Value, RpcError> {
    let missing = || RpcError::invalid_params("Invalid param: could not find account");
    let other = || RpcError::invalid_params("Invalid param: not a Token account");
    bank.accounts.get(address).ok_or_else(missing)?;
    let (_, held) = record::token_account(&bank.accounts, address).ok_or_else(other)?;
    let amount = record::shown_amount(&bank.accounts, &held.mint, held.amount);
    at_slot(bank, amount.ok_or_else(other)?)
}

fn context(config: &RpcAccountInfoConfig) -> RpcContextConfig {
    RpcContextConfig { commitment: config.commitment, min_context_slot: config.min_context_slot }
}

fn shown(
    chain: &Chain,
    bank: &Block,
    address: &Address,
    encoding: UiAccountEncoding,
    config: &RpcAccountInfoConfig,
) -> Result<Option<UiAccount>, RpcError> {
    let Some(account) = chain.account(address, bank.height) else { return Ok(None) };
    let data = data(&account, encoding, config)?;
    Ok(Some(UiAccount {
        lamports: account.lamports(),
        data,
        owner: account.owner().to_string(),
        executable: account.executable(),
        rent_epoch: account.rent_epoch(),
        space: u64::try_from(account.data().len()).ok(),
    }))
}

fn data(
    account: &AccountSharedData,
    encoding: UiAccountEncoding,
    config: &RpcAccountInfoConfig,
) -> Result<UiAccountData, RpcError> {
    let whole = account.data();
    let bytes = match config.data_slice {
        None => whole,
        Some(slice) => {
            let rest = whole.get(slice.offset..).unwrap_or_default();
            rest.get(..slice.length).unwrap_or(rest)
        }
    };
    let base58 = || {
        let message = format!(
            "Encoded binary (base 58) data should be less than {LONGEST_BASE58} bytes, please use Base64 encoding."
        );
        let text = || bs58::encode(bytes).into_string();
        if bytes.len() > LONGEST_BASE58 {
            Err(RpcError::invalid_request(message))
        } else {
            Ok(text())
        }
    };
    match encoding {
        UiAccountEncoding::Binary => Ok(UiAccountData::LegacyBinary(base58()?)),
        UiAccountEncoding::Base58 => Ok(UiAccountData::Binary(base58()?, encoding)),
        UiAccountEncoding::Base64 => {
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            Ok(UiAccountData::Binary(text, encoding))
        }
        UiAccountEncoding::JsonParsed | UiAccountEncoding::Base64Zstd => {
            Err(RpcError::invalid_params("devnet: accounts are written in base58 or base64 only"))
        }
    }
}
