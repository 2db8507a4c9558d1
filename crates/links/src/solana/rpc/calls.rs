//! Defines the RPC methods that the adapter calls, each with its parameters and the way to read its
//! answer. Whatever decides something is asked at the commitment `finalized`.

use crate::base58::{base58, from_base58};
use crate::rpc::{RpcCall, RpcFailure, bad_reply, number, text};
use crate::solana::settings::SolanaNetwork;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::ids::Millis;
use kernel::ports::chain::ChainIdentity;
use serde_json::{Value, json};
use solana_address::Address;
use solana_hash::Hash;

/// The class of a cause: a provider does not find what it was asked for, which proves nothing.
pub(in crate::solana) const NONE_SHOWN: &str = "NOT_FOUND";

/// The method that has an effect.
pub(super) const SENDS: &str = "sendTransaction";

/// An account at a final block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct AccountView {
    /// The program that it belongs to.
    pub owner: Address,
    /// Its balance for fees and rent.
    pub lamports: u64,
    /// Its state, as its program writes it.
    pub data: Vec<u8>,
}

/// Several accounts at the final block of a slot, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct AccountsView {
    pub slot: u64,
    pub accounts: Vec<Option<AccountView>>,
}

/// One transaction in the history of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct HistoryEntry {
    /// Its signature, as the network spells it.
    pub signature: String,
    /// The slot of its block.
    pub slot: u64,
}

/// Which chain a node is of.
pub(super) fn identity() -> RpcCall<ChainIdentity> {
    RpcCall {
        method: "getGenesisHash",
        params: json!([]),
        read: |reply| {
            let hash = from_base58(text(&reply?, "")?).ok_or_else(|| bad_reply("a hash"))?;
            let genesis = base58(&hash);
            let name = SolanaNetwork::of(&genesis).name().into();
            Ok(ChainIdentity { name, genesis: genesis.into() })
        },
    }
}

/// Several accounts at the node's last final block.
pub(in crate::solana) fn accounts(addresses: &[Address]) -> RpcCall<AccountsView> {
    let addresses: Vec<String> = addresses.iter().map(|one| base58(one.as_ref())).collect();
    RpcCall {
        method: "getMultipleAccounts",
        params: json!([addresses, { "encoding": "base64", "commitment": "finalized" }]),
        read: |reply| {
            let view = reply?;
            let slot = number(&view, "/context/slot")?;
            let list = view.get("value").and_then(Value::as_array);
            let list = list.ok_or_else(|| bad_reply("/value"))?;
            let accounts = list.iter().map(account).collect::<Result<_, RpcFailure>>()?;
            Ok(AccountsView { slot, accounts })
        },
    }
}

fn account(shown: &Value) -> Result<Option<AccountView>, RpcFailure> {
    if shown.is_null() {
        return Ok(None);
    }
    let owner = from_base58(text(shown, "/owner")?).ok_or_else(|| bad_reply("/owner"))?;
    let data = STANDARD.decode(text(shown, "/data/0")?).map_err(|_| bad_reply("/data"))?;
    let lamports = number(shown, "/lamports")?;
    Ok(Some(AccountView { owner: Address::from(owner), lamports, data }))
}

/// One page of the final transactions that name an address, newest first: those older than `before`, by a node that has
/// come as far as the slot `least`.
pub(in crate::solana) fn signatures(
    address: &Address,
    before: Option<&str>,
    limit: usize,
    least: u64,
) -> RpcCall<Vec<HistoryEntry>> {
    let mut config = json!({ "limit": limit, "commitment": "finalized", "minContextSlot": least });
    if let (Some(before), Some(fields)) = (before, config.as_object_mut()) {
        fields.insert("before".to_owned(), json!(before));
    }
    RpcCall {
        method: "getSignaturesForAddress",
        params: json!([base58(address.as_ref()), config]),
        read: |reply| {
            let list = reply?;
            let list = list.as_array().ok_or_else(|| bad_reply("a history"))?;
            let read = |one: &Value| {
                let signature = text(one, "/signature")?.to_owned();
                Ok(HistoryEntry { signature, slot: number(one, "/slot")? })
            };
            list.iter().map(read).collect()
        },
    }
}

/// Sends signed bytes, and waits for nothing. A node that tried them first would keep from the chain what fails, and
/// only a failure on the chain is proof.
pub(in crate::solana) fn send(bytes: &[u8]) -> RpcCall<()> {
    let config = json!({ "encoding": "base64", "skipPreflight": true });
    let params = json!([STANDARD.encode(bytes), config]);
    RpcCall { method: SENDS, params, read: |reply| reply.map(drop) }
}

/// The lamports that an account of this size has to have, so that the chain keeps it.
pub(in crate::solana) fn rent(size: usize) -> RpcCall<u64> {
    RpcCall {
        method: "getMinimumBalanceForRentExemption",
        params: json!([size]),
        read: |reply| number(&reply?, ""),
    }
}

/// The hash of the newest final block.
pub(in crate::solana) fn blockhash() -> RpcCall<Hash> {
    RpcCall {
        method: "getLatestBlockhash",
        params: json!([{ "commitment": "finalized" }]),
        read: |reply| {
            let hash = from_base58(text(&reply?, "/value/blockhash")?);
            hash.map(Hash::new_from_array).ok_or_else(|| bad_reply("/value/blockhash"))
        },
    }
}

/// The slot of the newest final block.
pub(in crate::solana) fn slot() -> RpcCall<u64> {
    RpcCall {
        method: "getSlot",
        params: json!([{ "commitment": "finalized" }]),
        read: |reply| number(&reply?, ""),
    }
}

/// The time of the block of a slot, in milliseconds since 1970.
pub(in crate::solana) fn block_time(slot: u64) -> RpcCall<Millis> {
    RpcCall {
        method: "getBlockTime",
        params: json!([slot]),
        read: |reply| {
            let seconds = number(&reply?, "")?;
            seconds.checked_mul(1_000).ok_or_else(|| bad_reply("a time"))
        },
    }
}
