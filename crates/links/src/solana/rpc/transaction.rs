//! Reads a final transaction as a provider shows it: its own bytes, its outcome, and the token balances around it.

use crate::base58::from_base58;
use crate::rpc::{RpcCall, RpcFailure, bad_reply, number, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use solana_address::Address;
use std::collections::BTreeMap;

/// The balance of one token account, by its place among the keys of the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct TokenBalance {
    /// The mint of its token.
    pub mint: Address,
    /// The amount, in base units.
    pub amount: u64,
}

/// An instruction that a program called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct InnerInstruction {
    /// The place of the message's own instruction that it was called in.
    pub outer: u64,
    /// Its place among those that were called there.
    pub place: usize,
    /// Its program and its accounts, by their places among the keys of the transaction.
    pub program: u8,
    pub accounts: Vec<u8>,
    /// What the program reads.
    pub data: Vec<u8>,
}

/// A transaction in a final block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solana) struct SeenTransaction {
    /// The slot of its block.
    pub slot: u64,
    /// The signed bytes of the transaction.
    pub bytes: Vec<u8>,
    /// The error that it ended with, as the node writes it; `None`: it succeeded.
    pub error: Option<Value>,
    /// The token balances before it.
    pub before: BTreeMap<u64, TokenBalance>,
    /// The token balances after it.
    pub after: BTreeMap<u64, TokenBalance>,
    /// The addresses that its message loads from tables, behind its own keys.
    pub loaded: Vec<Address>,
    /// The instructions that programs called.
    pub inner: Vec<InnerInstruction>,
}

/// A transaction of either version by its signature; `None`: the provider has no final block with it, which proves
/// nothing.
pub(in crate::solana) fn transaction(signature: &str) -> RpcCall<Option<SeenTransaction>> {
    let config = json!({
        "encoding": "base64", "commitment": "finalized", "maxSupportedTransactionVersion": 0,
    });
    RpcCall { method: "getTransaction", params: json!([signature, config]), read }
}

fn read(reply: Result<Value, RpcFailure>) -> Result<Option<SeenTransaction>, RpcFailure> {
    let shown = reply?;
    if shown.is_null() {
        return Ok(None);
    }
    let bytes = STANDARD.decode(text(&shown, "/transaction/0")?);
    // an outcome that is left out is none: only a `null` says that there was no error
    let error = shown.pointer("/meta/err").ok_or_else(|| bad_reply("/meta/err"))?;
    let mut loaded = addresses(&shown, "/meta/loadedAddresses/writable")?;
    loaded.extend(addresses(&shown, "/meta/loadedAddresses/readonly")?);
    Ok(Some(SeenTransaction {
        slot: number(&shown, "/slot")?,
        bytes: bytes.map_err(|_| bad_reply("/transaction"))?,
        error: Some(error.clone()).filter(|error| !error.is_null()),
        before: balances(&shown, "/meta/preTokenBalances")?,
        after: balances(&shown, "/meta/postTokenBalances")?,
        loaded,
        inner: inner(&shown)?,
    }))
}

fn address(text: &str, at: &str) -> Result<Address, RpcFailure> {
    from_base58(text).map(Address::from).ok_or_else(|| bad_reply(at))
}

fn addresses(shown: &Value, at: &str) -> Result<Vec<Address>, RpcFailure> {
    list(shown, at).iter().map(|one| address(text(one, "")?, at)).collect()
}

/// The instructions that programs called; a node that recorded none says so with `null` or an empty list.
fn inner(shown: &Value) -> Result<Vec<InnerInstruction>, RpcFailure> {
    const AT: &str = "/meta/innerInstructions";
    let small = |value: Option<&Value>| {
        let number = value.and_then(Value::as_u64).and_then(|number| u8::try_from(number).ok());
        number.ok_or_else(|| bad_reply(AT))
    };
    let mut all = Vec::new();
    for set in list(shown, AT) {
        let outer = number(set, "/index")?;
        for (place, one) in list(set, "/instructions").iter().enumerate() {
            let accounts = list(one, "/accounts").iter().map(|account| small(Some(account)));
            let data = bs58::decode(text(one, "/data")?).into_vec();
            all.push(InnerInstruction {
                outer,
                place,
                program: small(one.get("programIdIndex"))?,
                accounts: accounts.collect::<Result<_, RpcFailure>>()?,
                data: data.map_err(|_| bad_reply(AT))?,
            });
        }
    }
    Ok(all)
}

/// The items at a place; none where there is no list.
fn list<'a>(shown: &'a Value, at: &str) -> &'a [Value] {
    shown.pointer(at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn balances(shown: &Value, at: &str) -> Result<BTreeMap<u64, TokenBalance>, RpcFailure> {
    let list = shown.pointer(at).and_then(Value::as_array).ok_or_else(|| bad_reply(at))?;
    let read = |one: &Value| {
        let mint = address(text(one, "/mint")?, at)?;
        let amount = text(one, "/uiTokenAmount/amount")?.parse().map_err(|_| bad_reply(at))?;
        Ok((number(one, "/accountIndex")?, TokenBalance { mint, amount }))
    };
    list.iter().map(read).collect()
}
