//! Defines the RPC methods that the adapter calls, each with its parameters and the way to read its
//! answer.

use super::status::{self, StatusReply};
use crate::near::tx::{base58, lane_of};
use crate::rpc::{RpcCall, RpcFailure, amount, bad_reply, hash, number, shortened, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::ids::Millis;
use kernel::ports::chain::ChainIdentity;
use kernel::ports::clock::TICKS;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The block that a query is answered at.
#[derive(Debug, Clone, Copy)]
pub(in crate::near) enum BlockAt {
    /// The provider's last final one.
    Final,
    /// The one of this hash.
    Hash([u8; 32]),
    /// The one of this height, where there is one.
    Height(u64),
}

impl BlockAt {
    fn into(self, mut params: Value) -> Value {
        if let Some(fields) = params.as_object_mut() {
            match self {
                Self::Final => fields.insert("finality".to_owned(), json!("final")),
                Self::Hash(hash) => fields.insert("block_id".to_owned(), json!(base58(&hash))),
                Self::Height(height) => fields.insert("block_id".to_owned(), json!(height)),
            };
        }
        params
    }
}

/// A block's own words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::near) struct BlockHead {
    /// Its height above genesis.
    pub height: u64,
    /// The hash that names it.
    pub hash: [u8; 32],
    /// The hash of the block before it.
    pub before: [u8; 32],
    /// The time at which it was made, by the chain.
    pub time: Millis,
}

impl fmt::Debug for BlockHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} ({}) of {} ms", self.height, base58(&self.hash), self.time)
    }
}

/// An access key at a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::near) struct KeyView {
    /// The height of the block.
    pub height: u64,
    /// The last nonce that the chain has spent of it; `None`: the account has no such key.
    pub nonce: Option<u64>,
    /// Whether it may attach deposits.
    pub full_access: bool,
}

impl KeyView {
    /// The key's nonce and its block, for operators.
    pub(in crate::near) fn in_words(&self) -> String {
        let Self { height, nonce, full_access } = self;
        match nonce {
            None => format!("no such key at block {height}"),
            Some(nonce) if *full_access => format!("nonce {nonce} at block {height}"),
            Some(nonce) => format!("nonce {nonce} at block {height}, of a restricted key"),
        }
    }
}

/// An account's access keys at a block, each by its spelling.
#[derive(Debug, Clone)]
pub(in crate::near) struct KeyList {
    /// The height of the block.
    pub height: u64,
    keys: BTreeMap<String, KeyView>,
}

impl KeyList {
    #[cfg(test)]
    pub(in crate::near) fn of(height: u64, keys: &[&str]) -> Self {
        let view = KeyView { height, nonce: Some(7), full_access: true };
        Self { height, keys: keys.iter().map(|key| ((*key).to_owned(), view)).collect() }
    }

    /// The keys that it has, by their spelling.
    pub(in crate::near) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// The state of a key in the list; a key that is not in it is absent.
    pub(in crate::near) fn view(&self, key: &str) -> KeyView {
        let absent = KeyView { height: self.height, nonce: None, full_access: false };
        self.keys.get(key).copied().unwrap_or(absent)
    }
}

fn has_full_access(permission: Option<&Value>) -> bool {
    permission.and_then(Value::as_str) == Some("FullAccess")
}

/// The method that has an effect.
pub(super) const SENDS: &str = "send_tx";

/// Sends signed bytes, and waits for nothing.
pub(in crate::near) fn send(bytes: &[u8]) -> RpcCall<()> {
    let params = json!({ "signed_tx_base64": STANDARD.encode(bytes), "wait_until": "NONE" });
    RpcCall { method: SENDS, params, read: |reply| reply.map(drop) }
}

/// The status of a transaction.
pub(in crate::near) fn transaction(name: &[u8], signer: &str) -> RpcCall<StatusReply> {
    let params = json!({
        "tx_hash": base58(name), "sender_account_id": signer, "wait_until": "NONE",
    });
    RpcCall { method: "tx", params, read: status::read }
}

/// The objection of a node to signed bytes that no block has: words for operators, and no proof. `None`: none.
pub(in crate::near) fn objection(bytes: &[u8]) -> RpcCall<Option<String>> {
    let params = json!({ "signed_tx_base64": STANDARD.encode(bytes), "wait_until": "NONE" });
    RpcCall {
        method: "tx",
        params,
        read: |reply| match reply {
            Err(RpcFailure::Refused { name, text, .. }) if name == "INVALID_TRANSACTION" => {
                Ok(Some(text))
            }
            Err(RpcFailure::Refused { .. }) | Ok(_) => Ok(None),
            Err(failure) => Err(failure),
        },
    }
}

/// The state of an access key at a block.
pub(in crate::near) fn access_key(signer: &str, key: &[u8; 32], at: BlockAt) -> RpcCall<KeyView> {
    let params = json!({
        "request_type": "view_access_key", "account_id": signer, "public_key": &*lane_of(key),
    });
    RpcCall { method: "query", params: at.into(params), read: key_view }
}

/// The final state of each of an account's keys, by their spelling.
pub(in crate::near) fn access_keys(signer: &str) -> RpcCall<KeyList> {
    let params = json!({ "request_type": "view_access_key_list", "account_id": signer });
    RpcCall {
        method: "query",
        params: BlockAt::Final.into(params),
        read: |reply| {
            let view = reply?;
            let height = number(&view, "/block_height")?;
            let list = view.get("keys").and_then(Value::as_array);
            let list = list.ok_or_else(|| bad_reply("/keys"))?;
            let read = |one: &Value| {
                let nonce = Some(number(one, "/access_key/nonce")?);
                let full_access = has_full_access(one.pointer("/access_key/permission"));
                let key = text(one, "/public_key")?.to_owned();
                Ok((key, KeyView { height, nonce, full_access }))
            };
            let keys = list.iter().map(read).collect::<Result<_, RpcFailure>>()?;
            Ok(KeyList { height, keys })
        },
    }
}

fn key_view(reply: Result<Value, RpcFailure>) -> Result<KeyView, RpcFailure> {
    let view = match reply {
        // nodes have said this as an error too
        Err(RpcFailure::Refused { name, height, .. }) if name == "UNKNOWN_ACCESS_KEY" => {
            let height = height.unwrap_or_default();
            return Ok(KeyView { height, nonce: None, full_access: false });
        }
        reply => reply?,
    };
    let height = number(&view, "/block_height")?;
    match view.get("error").and_then(Value::as_str) {
        Some(error) if error.contains("does not exist") => {
            Ok(KeyView { height, nonce: None, full_access: false })
        }
        Some(error) => Err(bad_reply(&shortened(error))),
        None => {
            let full_access = has_full_access(view.get("permission"));
            Ok(KeyView { height, nonce: Some(number(&view, "/nonce")?), full_access })
        }
    }
}

/// The balance of an account, in yoctoNEAR; `None`: there is no such account.
pub(in crate::near) fn account(id: &str) -> RpcCall<Option<u128>> {
    view_account(id, |reply| known(reply)?.map(|view| amount(&view, "/amount")).transpose())
}

/// Whether there is such an account.
pub(in crate::near) fn exists(id: &str) -> RpcCall<bool> {
    view_account(id, |reply| Ok(known(reply)?.is_some()))
}

fn view_account<T>(
    id: &str,
    read: fn(Result<Value, RpcFailure>) -> Result<T, RpcFailure>,
) -> RpcCall<T> {
    let params = json!({ "request_type": "view_account", "account_id": id });
    RpcCall { method: "query", params: BlockAt::Final.into(params), read }
}

/// The reply about an account; `None`: there is no such account.
fn known(reply: Result<Value, RpcFailure>) -> Result<Option<Value>, RpcFailure> {
    match reply {
        Err(RpcFailure::Refused { name, .. }) if name == "UNKNOWN_ACCOUNT" => Ok(None),
        reply => reply.map(Some),
    }
}

/// Whether an account has a contract; `None`: there is no such account. One that uses another account's code, or
/// code of the whole network, has one.
pub(in crate::near) fn code(id: &str) -> RpcCall<Option<bool>> {
    /// The code hash of an account without code.
    const NONE: &str = "11111111111111111111111111111111";
    view_account(id, |reply| {
        let Some(view) = known(reply)? else { return Ok(None) };
        let other = ["/global_contract_hash", "/global_contract_account_id"];
        let shared = other.iter().any(|at| view.pointer(at).is_some_and(Value::is_string));
        Ok(Some(shared || text(&view, "/code_hash")? != NONE))
    })
}

/// Whether a contract has a view method. What else a call of it fails with says nothing.
pub(in crate::near) fn has_view(
    contract: &str,
    method: &str,
    args: &Value,
    at: BlockAt,
) -> RpcCall<bool> {
    let RpcCall { method, params, .. } = view(contract, method, args, at);
    let read: fn(Result<Value, RpcFailure>) -> Result<bool, RpcFailure> =
        |reply| match viewed(reply) {
            Ok(_) => Ok(true),
            // in the result, or as an error of its own by newer nodes
            Err(RpcFailure::Refused { text, .. }) if text.contains("MethodNotFound") => Ok(false),
            Err(failure) => Err(failure),
        };
    RpcCall { method, params, read }
}

/// The result of a contract's view method, as JSON.
pub(in crate::near) fn view(
    contract: &str,
    method: &str,
    args: &Value,
    at: BlockAt,
) -> RpcCall<Value> {
    let params = json!({
        "request_type": "call_function",
        "account_id": contract,
        "method_name": method,
        "args_base64": STANDARD.encode(args.to_string()),
    });
    RpcCall { method: "query", params: at.into(params), read: viewed }
}

fn viewed(reply: Result<Value, RpcFailure>) -> Result<Value, RpcFailure> {
    let view = reply?;
    if let Some(error) = view.get("error").and_then(Value::as_str) {
        let text = shortened(error);
        return Err(RpcFailure::Refused { name: "VIEW_FAILED".to_owned(), text, height: None });
    }
    let bytes = view.get("result").and_then(Value::as_array);
    let bytes = bytes.ok_or_else(|| bad_reply("/result"))?.iter().map(|byte| {
        byte.as_u64().and_then(|byte| u8::try_from(byte).ok()).ok_or_else(|| bad_reply("/result"))
    });
    let bytes = bytes.collect::<Result<Vec<u8>, RpcFailure>>()?;
    serde_json::from_slice(&bytes).map_err(|_| bad_reply("a view's result"))
}

/// The balance that an account has of a token, in base units.
pub(in crate::near) fn token_balance(contract: &str, account: &str) -> RpcCall<Option<u128>> {
    let args = json!({ "account_id": account });
    let RpcCall { method, params, .. } = view(contract, "ft_balance_of", &args, BlockAt::Final);
    RpcCall { method, params, read: |reply| amount(&viewed(reply)?, "").map(Some) }
}

/// The head of a block.
pub(super) fn block(at: BlockAt) -> RpcCall<BlockHead> {
    RpcCall {
        method: "block",
        params: at.into(json!({})),
        read: |reply| {
            let block = reply?;
            Ok(BlockHead {
                height: number(&block, "/header/height")?,
                hash: hash(&block, "/header/hash")?,
                before: hash(&block, "/header/prev_hash")?,
                time: time(&block)?,
            })
        },
    }
}

/// The time of a block, in milliseconds.
fn time(block: &Value) -> Result<Millis, RpcFailure> {
    const AT: &str = "/header/timestamp_nanosec";
    let nanos: u64 = text(block, AT)?.parse().map_err(|_| bad_reply(AT))?;
    Ok(nanos / TICKS)
}

/// For how many blocks after its base block a transaction may be included.
pub(super) fn validity() -> RpcCall<u64> {
    RpcCall {
        method: "EXPERIMENTAL_protocol_config",
        params: BlockAt::Final.into(json!({})),
        read: |reply| number(&reply?, "/transaction_validity_period"),
    }
}

/// Which chain a node is of.
pub(super) fn identity() -> RpcCall<ChainIdentity> {
    RpcCall {
        method: "status",
        params: json!([]),
        read: |reply| {
            let status = reply?;
            // the name as it is; of the hash one spelling
            let name = text(&status, "/chain_id")?.into();
            let genesis = base58(&hash(&status, "/genesis_hash")?).into();
            Ok(ChainIdentity { name, genesis })
        },
    }
}

/// The chunks of a block, by their hashes as the network spells them.
pub(in crate::near) fn chunks(height: u64) -> RpcCall<Vec<String>> {
    RpcCall {
        method: "block",
        params: BlockAt::Height(height).into(json!({})),
        read: |reply| {
            let block = reply?;
            let list = block.get("chunks").and_then(Value::as_array);
            let list = list.ok_or_else(|| bad_reply("/chunks"))?;
            list.iter().map(|chunk| Ok(text(chunk, "/chunk_hash")?.to_owned())).collect()
        },
    }
}

/// One transaction of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::near) struct ChunkTransaction {
    /// Its hash, as the network spells it.
    pub hash: String,
    /// The account that signed it.
    pub signer: String,
    /// The key that signed it, as the network spells it.
    pub key: String,
    /// The nonce that it took.
    pub nonce: u64,
    /// The account that it acts on.
    pub receiver: String,
    /// Its actions, as the node shows them.
    pub actions: Value,
}

/// The transactions of a chunk, of all accounts.
pub(in crate::near) fn chunk(hash: &str) -> RpcCall<Vec<ChunkTransaction>> {
    RpcCall {
        method: "chunk",
        params: json!({ "chunk_id": hash }),
        read: |reply| {
            let chunk = reply?;
            let list = chunk.get("transactions").and_then(Value::as_array);
            let list = list.ok_or_else(|| bad_reply("/transactions"))?;
            let read = |one: &Value| {
                Ok(ChunkTransaction {
                    hash: text(one, "/hash")?.to_owned(),
                    signer: text(one, "/signer_id")?.to_owned(),
                    key: text(one, "/public_key")?.to_owned(),
                    nonce: number(one, "/nonce")?,
                    receiver: text(one, "/receiver_id")?.to_owned(),
                    actions: one.get("actions").cloned().unwrap_or_default(),
                })
            };
            list.iter().map(read).collect()
        },
    }
}
