//! The control routes that only this chain has: taking blocks back, deposits, lamports, and what really happened.

use super::EndpointState;
use crate::{
    Outcome,
    front::Control,
    solana::{
        chain::movements::Movement,
        setup::{self, DepositRequest},
    },
};
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_address::Address;

#[derive(Deserialize)]
struct Rollback {
    blocks: u64,
    /// True where the transactions of these blocks wait for a block again.
    #[serde(default)]
    again: bool,
}

/// USDC from one of the customers that the setup made.
#[derive(Deserialize)]
struct Deposit {
    customer: usize,
    /// Token account that is paid.
    to: String,
    /// The payment, in base units of USDC.
    amount: u64,
    #[serde(default)]
    memo: Option<String>,
}

#[derive(Deserialize)]
struct Airdrop {
    to: String,
    lamports: u64,
}

pub(super) fn route(endpoint: &EndpointState, control: Control<'_>) -> Option<Outcome<Value>> {
    match (control.method, control.path) {
        (&Method::POST, "/devnet/rollback") => Some(control.read::<Rollback>().and_then(|asked| {
            let taken = endpoint.node.chain().roll_back(asked.blocks, asked.again)?;
            let taken: Vec<String> = taken.iter().map(ToString::to_string).collect();
            Ok(json!({"taken_back": taken}))
        })),
        (&Method::POST, "/devnet/deposit") => {
            Some(control.read::<Deposit>().and_then(|asked| deposit(endpoint, asked)))
        }
        (&Method::POST, "/devnet/airdrop") => Some(control.read::<Airdrop>().and_then(|asked| {
            let to = address(&asked.to)?;
            let transaction = setup::airdrop(&endpoint.node, &to, asked.lamports)?;
            let signature = transaction.signatures.first().map(ToString::to_string);
            endpoint.node.chain().pool(transaction, 0);
            Ok(json!({"signature": signature}))
        })),
        (&Method::GET, "/devnet/events") => Some(events(endpoint, control.query)),
        _ => None,
    }
}

fn deposit(endpoint: &EndpointState, asked: Deposit) -> Outcome<Value> {
    let to = address(&asked.to)?;
    let memos = asked.memo.into_iter().collect();
    let request = DepositRequest { to, amount: asked.amount, memos };
    let transaction = setup::deposit(&endpoint.node, &setup::customer(asked.customer), &request)?;
    let signature = transaction.signatures.first().map(ToString::to_string);
    endpoint.node.chain().pool(transaction, 0);
    Ok(json!({"signature": signature}))
}

pub(super) fn overview(endpoint: &EndpointState) -> Value {
    let chain = endpoint.node.chain();
    let head = chain.height();
    let slot = |height| chain.block(height).map(|block| block.slot);
    let withheld: Vec<String> = chain.withheld().iter().map(ToString::to_string).collect();
    json!({
        "height": head,
        "slot": slot(head),
        "final_height": chain.final_height(head),
        "final_slot": slot(chain.final_height(head)),
        "pooled": chain.pooled(),
        "withheld": withheld,
    })
}

/// `GET /devnet/events?account=…`: what really became of a token account in final blocks, whatever the endpoints say.
fn events(endpoint: &EndpointState, query: Option<&str>) -> Outcome<Value> {
    let account = query.and_then(|query| query.strip_prefix("account="));
    let account = address(account.ok_or("name the token account: ?account=…")?)?;
    let chain = endpoint.node.chain();
    let movements = chain.movements(&account, chain.final_height(chain.height()));
    Ok(movements.iter().map(shown).collect())
}

fn shown(movement: &Movement) -> Value {
    json!({
        "signature": movement.signature.to_string(),
        "slot": movement.slot,
        "before": movement.before.to_string(),
        "after": movement.after.to_string(),
        "error": movement.error,
        "memos": movement.memos,
    })
}

fn address(text: &str) -> Outcome<Address> {
    text.parse().map_err(|error| format!("{text}: {error:?}"))
}
