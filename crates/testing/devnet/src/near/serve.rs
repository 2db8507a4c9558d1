//! The chain for a user: one account for the relay, one token, receivers, and how to point Portage at it.

use super::{Blocks, Devnet, Execution, Options, TokenOptions, Wallet, clock};
use crate::Outcome;
use near_primitives::types::AccountId;
use std::time::Duration;

/// What `devnet near` is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub port: u16,
    pub endpoints: usize,
    pub keys: usize,
    pub receivers: usize,
    pub block_millis: u64,
    pub native: bool,
    pub validity_period: u64,
    /// Without it, the time of the start.
    pub seed: Option<u64>,
}

/// A chain that is ready for the relay.
#[derive(Debug)]
pub struct Served {
    pub devnet: Devnet,
    pub token: AccountId,
    pub relay: Wallet,
    pub keys: Vec<Wallet>,
    pub receivers: Vec<AccountId>,
}

const SUPPLY: u128 = 1_000_000_000_000;

/// Starts the chain and sets it up.
///
/// # Errors
///
/// If a port is taken.
pub fn start(request: &Request) -> Outcome<Served> {
    let devnet = Devnet::start(Options {
        blocks: Blocks::Every(Duration::from_millis(request.block_millis)),
        execution: if request.native { Execution::Native } else { Execution::Wasm },
        endpoints: request.endpoints,
        port: Some(request.port),
        validity_period: request.validity_period,
        seed: request.seed.unwrap_or_else(clock::nanoseconds),
        ..Options::default()
    })?;
    let token = devnet.deploy_token("usdd.devnet", &TokenOptions::default())?;
    let relay = devnet.create_account("relay.devnet", 10_000)?;
    let mut keys = vec![relay.clone()];
    keys.extend(devnet.add_keys(&relay, request.keys.saturating_sub(1))?);
    devnet.mint(&token, &[(relay.account.clone(), SUPPLY)])?;
    let mut receivers = Vec::new();
    for n in 0..request.receivers {
        receivers.push(devnet.create_account(&format!("r{n}.devnet"), 1)?.account);
    }
    let registered = receivers.iter().step_by(2).cloned().collect::<Vec<_>>();
    devnet.register(&token, &registered)?;
    Ok(Served { devnet, token, relay, keys, receivers })
}

/// What a user needs to know, as text.
pub fn describe(served: &Served) -> String {
    let urls = served.devnet.urls();
    let keys = served.keys.iter().map(|key| format!("  {}\n", key.key)).collect::<String>();
    let receivers = served.receivers.iter().map(ToString::to_string).collect::<Vec<_>>();
    format!(
        "A local NEAR chain is running.\n\n\
         endpoints   {}\n\
         token       {} (6 decimals)\n\
         relay       {} holds {SUPPLY} base units\n\
         receivers   {} (every second one is registered with the token)\n\
         secret keys of the relay, each with full access; for this chain only:\n{keys}\n\
         control     {}/devnet\n",
        urls.join(","),
        served.token,
        served.relay.account,
        receivers.join(" "),
        urls.first().map_or("", String::as_str),
    )
}
