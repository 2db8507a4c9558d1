//! `/devnet/…`: scripting faults and blocks over HTTP, for users and for tests in other languages.

use super::{EndpointState, reply};
use crate::near::{
    chain::events::{EventKind, TokenEvent},
    faults::Rule,
    wallet::Wallet,
};
use axum::body::Body;
use hyper::{Method, Response, StatusCode};
use near_primitives::types::AccountId;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

#[derive(Deserialize)]
struct Count {
    blocks: u64,
}

/// A key of an account by its number, as the setup gives them.
#[derive(Deserialize)]
struct KeyNumber {
    account: AccountId,
    key: usize,
}

/// No more blocks than this by one request.
const MOST_BLOCKS: u64 = 100_000;

pub(super) fn route(
    endpoint: &EndpointState,
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: &[u8],
) -> Response<Body> {
    let answer = match (method, path) {
        (&Method::GET, "/devnet") => Ok(overview(endpoint)),
        (&Method::GET, "/devnet/faults") => Ok(json!(endpoint.script.list())),
        (&Method::POST, "/devnet/faults") => read::<Rule>(body).map(|rule| {
            endpoint.script.add(rule);
            json!(endpoint.script.list())
        }),
        (&Method::DELETE, "/devnet/faults") => {
            endpoint.script.clear();
            Ok(json!([]))
        }
        (&Method::POST, "/devnet/lag") => read::<Count>(body).map(|lag| {
            endpoint.lag.store(lag.blocks, Ordering::SeqCst);
            overview(endpoint)
        }),
        (&Method::POST, "/devnet/blocks") => read::<Count>(body).map(|count| {
            let blocks = if count.blocks > MOST_BLOCKS { MOST_BLOCKS } else { count.blocks };
            for _ in 0..blocks {
                endpoint.node.produce();
            }
            overview(endpoint)
        }),
        (&Method::POST, "/devnet/pause") => {
            endpoint.node.pause(true);
            Ok(overview(endpoint))
        }
        (&Method::POST, "/devnet/resume") => {
            endpoint.node.pause(false);
            Ok(overview(endpoint))
        }
        (&Method::POST, "/devnet/release") => Ok(json!({"released": endpoint.node.release()})),
        (&Method::POST, "/devnet/wallet") => read::<KeyNumber>(body).and_then(|key| {
            let wallet = Wallet::nth(key.account, key.key);
            let hash = endpoint.node.wallet_signs(&wallet)?;
            Ok(json!({"hash": hash}))
        }),
        (&Method::GET, "/devnet/events") => events(endpoint, query),
        _ => return reply(StatusCode::NOT_FOUND, &json!({"error": "no such route"})),
    };
    match answer {
        Ok(value) => reply(StatusCode::OK, &value),
        Err(error) => reply(StatusCode::BAD_REQUEST, &json!({"error": error})),
    }
}

fn overview(endpoint: &EndpointState) -> Value {
    let seen = endpoint.seen();
    let chain = endpoint.node.chain();
    let (height, last_final, pooled) =
        (chain.height(), chain.final_height(chain.height()), chain.pooled());
    drop(chain);
    json!({
        "height": height,
        "final_height": last_final,
        "seen_here": seen,
        "pooled": pooled,
        "withheld": endpoint.node.withheld_hashes(),
        "faults": endpoint.script.list(),
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

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}
