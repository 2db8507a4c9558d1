//! The control routes that only this chain has: its token's events, and a wallet that signs.

use super::EndpointState;
use crate::{
    Outcome,
    front::Control,
    near::{
        chain::events::{EventKind, TokenEvent},
        wallet::Wallet,
    },
};
use hyper::Method;
use near_primitives::types::AccountId;
use serde::Deserialize;
use serde_json::{Value, json};

/// A key of an account by its number, as the setup gives them.
#[derive(Deserialize)]
struct KeyNumber {
    account: AccountId,
    key: usize,
}

pub(super) fn route(endpoint: &EndpointState, control: Control<'_>) -> Option<Outcome<Value>> {
    match (control.method, control.path) {
        (&Method::POST, "/devnet/wallet") => Some(control.read::<KeyNumber>().and_then(|key| {
            let wallet = Wallet::nth(key.account, key.key);
            let hash = endpoint.node.wallet_signs(&wallet)?;
            Ok(json!({"hash": hash}))
        })),
        (&Method::GET, "/devnet/events") => Some(events(endpoint, control.query)),
        _ => None,
    }
}

pub(super) fn overview(endpoint: &EndpointState) -> Value {
    let chain = endpoint.node.chain();
    let (height, last_final, pooled) =
        (chain.height(), chain.final_height(chain.height()), chain.pooled());
    drop(chain);
    json!({
        "height": height,
        "final_height": last_final,
        "pooled": pooled,
        "withheld": endpoint.node.withheld_hashes(),
    })
}

/// `GET /devnet/events?contract=usdc.devnet`: what really happened, whatever the endpoints say.
fn events(endpoint: &EndpointState, query: Option<&str>) -> Result<Value, String> {
    let contract = query.and_then(|query| query.strip_prefix("contract="));
    let contract = contract.ok_or("name the token: ?contract=usdc.devnet")?;
    let contract = contract.parse().map_err(|error| format!("{contract}: {error}"))?;
    let chain = endpoint.node.chain();
    let events = chain.events(&contract, chain.final_height(chain.height()));
    Ok(events.iter().map(shown).collect())
}

fn shown(event: &TokenEvent) -> Value {
    let kind = match event.kind {
        EventKind::Transfer => "ft_transfer",
        EventKind::Mint => "ft_mint",
        EventKind::Burn => "ft_burn",
    };
    json!({
        "event": kind,
        "height": event.height,
        "receipt": event.receipt,
        "signer": event.signer,
        "from": event.from,
        "to": event.to,
        "amount": event.amount.to_string(),
        "memo": event.memo,
    })
}
