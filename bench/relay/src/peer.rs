//! The loop that one would write: for each transfer the key's nonce and a block from the RPC, one transaction,
//! and the wait until it is final; as many at once as there are keys.

use crate::Outcome;
use crate::chain::{Chain, known};
use crate::clock::now;
use crate::load::UNITS;
use crate::run::Run;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use devnet::near::Wallet;
use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{AccountId, Balance, Gas};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testbed::Wire;

/// What a call of the token is given.
const GAS: u64 = 10_000_000_000_000;

/// What the loop's tasks share.
struct Work {
    address: SocketAddr,
    token: AccountId,
    /// Whom each transfer pays, by its number.
    receivers: Vec<String>,
    next: AtomicU64,
    end: Instant,
}

pub(crate) fn run(chain: &Chain, time: Duration) -> Outcome<Run> {
    let url = chain.devnet.urls().into_iter().next().ok_or("no endpoint")?;
    let address = url.trim_start_matches("http://").parse();
    let begun = now();
    let work = Work {
        address: address.map_err(|error| format!("{url}: {error}"))?,
        token: chain.token.clone(),
        receivers: (0..1_000).map(|n| known(chain, n)).collect(),
        next: AtomicU64::new(0),
        end: begun + time,
    };
    let before = chain.requests();
    let mut ends = Vec::new();
    std::thread::scope(|threads| -> Outcome {
        let work = &work;
        let pay = |wallet| threads.spawn(move || work.pay(wallet));
        let all: Vec<_> = chain.keys.iter().map(pay).collect();
        for paid in all {
            ends.extend(paid.join().map_err(|_| "the loop panicked")??);
        }
        Ok(())
    })?;
    ends.sort_unstable();
    Ok(Run {
        transfers: u64::try_from(ends.len()).unwrap_or(u64::MAX),
        accepted_in: begun.elapsed(),
        completed_in: begun.elapsed(),
        posts: ends.clone(),
        ends,
        requests: chain.requests().since(&before),
        cpu: Duration::ZERO,
    })
}

impl Work {
    /// One transfer after the other with one key; how long each took, in microseconds.
    fn pay(&self, wallet: &Wallet) -> Outcome<Vec<u64>> {
        let mut wire = Wire::open(self.address, "")?;
        let mut took = Vec::new();
        while now() < self.end {
            let begun = now();
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            let at = usize::try_from(n).unwrap_or_default() % self.receivers.len();
            let receiver = self.receivers.get(at).ok_or("no receiver")?;
            self.one(&mut wire, wallet, receiver)?;
            took.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        Ok(took)
    }

    fn one(&self, wire: &mut Wire, wallet: &Wallet, receiver: &str) -> Outcome {
        let key = json!({
            "request_type": "view_access_key", "finality": "final",
            "account_id": wallet.account, "public_key": wallet.public_key().to_string(),
        });
        let key = ask(wire, "query", &key)?;
        let nonce = key.get("nonce").and_then(Value::as_u64).ok_or("no nonce")?;
        let hash = key.get("block_hash").and_then(Value::as_str).ok_or("no block")?;
        let hash = hash.parse().map_err(|error| format!("{hash}: {error}"))?;
        let args = json!({ "receiver_id": receiver, "amount": UNITS.to_string() });
        let call = Action::FunctionCall(Box::new(FunctionCallAction {
            method_name: "ft_transfer".to_owned(),
            args: args.to_string().into_bytes(),
            gas: Gas::from_gas(GAS),
            deposit: Balance::from_yoctonear(1),
        }));
        let signed = wallet.sign(nonce + 1, hash, &self.token, vec![call]);
        let bytes = borsh::to_vec(&signed).map_err(|error| error.to_string())?;
        let send = json!({ "signed_tx_base64": STANDARD.encode(bytes), "wait_until": "FINAL" });
        let done = ask(wire, "send_tx", &send)?;
        let paid = done.get("status").is_some_and(|status| status.get("SuccessValue").is_some());
        if paid { Ok(()) } else { Err(format!("not paid: {done}")) }
    }
}

fn ask(wire: &mut Wire, method: &str, params: &Value) -> Outcome<Value> {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let reply = wire.post("/", "", &call.to_string())?;
    let reply: Value = serde_json::from_str(&reply).map_err(|error| format!("{error}: {reply}"))?;
    reply.get("result").cloned().ok_or_else(|| format!("{method}: {reply}"))
}
