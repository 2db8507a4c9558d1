//! A plain JSON-RPC client, and a chain with a token, a relay and receivers.

use devnet::{
    Outcome,
    near::{
        Devnet, Execution, Options, TokenOptions, Wallet,
        near_primitives::{
            action::{Action, FunctionCallAction},
            hash::CryptoHash,
            transaction::SignedTransaction,
            types::{AccountId, Balance, Gas},
        },
    },
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// What came over the wire.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Sends one HTTP request; an error is a connection that gave no answer.
pub(crate) fn http(url: &str, method: &str, path: &str, body: &str) -> Outcome<HttpAnswer> {
    http_within(url, method, path, body, Duration::from_secs(20))
}

/// The same, giving up after a while.
pub(crate) fn http_within(
    url: &str,
    method: &str,
    path: &str,
    body: &str,
    timeout: Duration,
) -> Outcome<HttpAnswer> {
    let address = url.strip_prefix("http://").ok_or("not http")?;
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(timeout)).map_err(failed)?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: devnet\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or("closed without an answer")?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no status")?;
    let body = serde_json::from_str(body).map_err(|error| format!("{error}: {body}"))?;
    Ok(HttpAnswer { status, body })
}

/// Calls a method and gives the whole answer.
pub(crate) fn raw(url: &str, method: &str, params: &Value) -> Outcome<HttpAnswer> {
    let call = json!({"jsonrpc": "2.0", "id": "it", "method": method, "params": params});
    http(url, "POST", "/", &call.to_string())
}

/// Calls a method that must succeed.
pub(crate) fn rpc(url: &str, method: &str, params: &Value) -> Outcome<Value> {
    let answer = raw(url, method, params)?;
    match answer.body.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(answer.body.to_string()),
    }
}

/// Calls a method that must fail, and gives the error's `cause.name` and its `data`.
pub(crate) fn error(url: &str, method: &str, params: &Value) -> Outcome<(String, Value)> {
    let answer = raw(url, method, params)?;
    let name = answer.body.pointer("/error/cause/name").and_then(Value::as_str);
    let name = name.ok_or_else(|| answer.body.to_string())?.to_owned();
    Ok((name, answer.body.pointer("/error/data").cloned().unwrap_or_default()))
}

/// A chain without a clock, with a token, a relay with tokens, and registered receivers.
pub(crate) struct World {
    pub(crate) devnet: Devnet,
    pub(crate) url: String,
    pub(crate) token: AccountId,
    pub(crate) relay: Wallet,
}

pub(crate) const SUPPLY: u128 = 1_000_000;

impl World {
    pub(crate) fn new(options: Options) -> Outcome<Self> {
        let devnet = Devnet::start(options)?;
        let token = devnet.deploy_token("usdc.devnet", &TokenOptions::default())?;
        let relay = devnet.create_account("relay.devnet", 1_000)?;
        devnet.mint(&token, &[(relay.account.clone(), SUPPLY)])?;
        let names = ["alice.devnet", "bob.devnet", "carol.devnet"];
        let receivers: Vec<AccountId> = names.iter().filter_map(|name| name.parse().ok()).collect();
        devnet.register(&token, &receivers)?;
        let url = devnet.urls().first().cloned().ok_or("no endpoint")?;
        Ok(Self { devnet, url, token, relay })
    }

    pub(crate) fn manual() -> Outcome<Self> {
        Self::new(Options::manual())
    }

    pub(crate) fn native() -> Outcome<Self> {
        Self::new(Options { execution: Execution::Native, ..Options::manual() })
    }

    pub(crate) fn next_nonce(&self) -> Outcome<u64> {
        let nonce = self.devnet.nonce(&self.relay.account, &self.relay.public_key());
        Ok(nonce.ok_or("no key")?.saturating_add(1))
    }

    pub(crate) fn sign(&self, nonce: u64, actions: Vec<Action>) -> SignedTransaction {
        self.relay.sign(nonce, self.devnet.final_hash(), &self.token, actions)
    }

    /// Signs transfers of one unit each, with the text as memo.
    pub(crate) fn transfers(&self, to: &[&str]) -> Outcome<SignedTransaction> {
        let actions = to.iter().map(|to| transfer(to, 1, Some(to))).collect();
        Ok(self.sign(self.next_nonce()?, actions))
    }

    pub(crate) fn send(&self, signed: &SignedTransaction, wait: &str) -> Outcome<HttpAnswer> {
        let params = json!({"signed_tx_base64": base64(signed)?, "wait_until": wait});
        raw(&self.url, "send_tx", &params)
    }

    pub(crate) fn tx(&self, hash: CryptoHash, wait: &str) -> Outcome<HttpAnswer> {
        let params = json!({
            "tx_hash": hash, "sender_account_id": self.relay.account, "wait_until": wait,
        });
        raw(&self.url, "tx", &params)
    }

    pub(crate) fn balance(&self, account: &str) -> Outcome<u128> {
        let account = account.parse().map_err(|error| format!("{error}"))?;
        self.devnet.balance(&self.token, &account)
    }
}

pub(crate) fn transfer(to: &str, amount: u128, memo: Option<&str>) -> Action {
    let args = json!({"receiver_id": to, "amount": amount.to_string(), "memo": memo});
    call("ft_transfer", &args, 10_000_000_000_000, 1)
}

pub(crate) fn call(method: &str, args: &Value, gas: u64, deposit: u128) -> Action {
    Action::FunctionCall(Box::new(FunctionCallAction {
        method_name: method.to_owned(),
        args: args.to_string().into_bytes(),
        gas: Gas::from_gas(gas),
        deposit: Balance::from_yoctonear(deposit),
    }))
}

pub(crate) fn base64(signed: &SignedTransaction) -> Outcome<String> {
    let value = serde_json::to_value(signed).map_err(|error| error.to_string())?;
    Ok(value.as_str().ok_or("no text")?.to_owned())
}
