//! The chain for a user: one account for the relay, one token, receivers, and how to point Portage at it.

use super::{Blocks, Devnet, Execution, Options, TokenOptions, Wallet};
use crate::{Outcome, front::clock};
use near_primitives::types::AccountId;
use std::time::Duration;

/// What `devnet near` is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The port of the first endpoint; without it, any that is free for each.
    pub port: Option<u16>,
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

/// What the relay's account has of the token at the start, in base units.
pub const SUPPLY: u128 = 1_000_000_000_000;

/// Starts the chain and sets it up.
///
/// # Errors
///
/// If a port is taken.
pub fn start(request: &Request) -> Outcome<Served> {
    let devnet = Devnet::start(Options {
        blocks: Blocks::Every(Duration::from_millis(request.block_millis)),
        execution: if request.native { Execution::Native } else { Execution::Wasm },
        // A bench of what is outside the chain must not wait for the gas of its blocks.
        block_gas: Options::default().block_gas.filter(|_| !request.native),
        endpoints: request.endpoints,
        port: request.port,
        validity_period: request.validity_period,
        seed: request.seed.unwrap_or_else(clock::nanoseconds),
        ..Options::default()
    })?;
    let token = devnet.deploy_token("usdc.devnet", &TokenOptions::default())?;
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

/// The environment that points a relay at a chain: its account is the one that the keys are of.
pub fn environment(
    devnet: &Devnet,
    token: &AccountId,
    keys: &[Wallet],
) -> Vec<(&'static str, String)> {
    let account = keys.first().map(|wallet| wallet.account.to_string()).unwrap_or_default();
    let keys: Vec<String> = keys.iter().map(|wallet| wallet.key.to_string()).collect();
    vec![
        ("RELAY_ACCOUNT_ID", account),
        ("FT_TOKEN_ADDRESS", token.to_string()),
        ("PORTAGE_RELAY__ASSET", "USDC".to_owned()),
        ("NEAR_NETWORK", "localnet".to_owned()),
        ("NEAR_RPC_URL", devnet.urls().join(",")),
        ("RELAY_ACCESS_KEYS", keys.join(",")),
    ]
}

/// What a user needs to know, as text, with the lines that point Portage at the chain.
pub fn describe(served: &Served) -> String {
    let urls = served.devnet.urls();
    let key = |wallet: &Wallet| wallet.key.to_string();
    let keys = served.keys.iter().map(key).collect::<Vec<_>>().join(",");
    let receivers = served.receivers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (token, relay) = (&served.token, &served.relay.account);
    format!(
        "# A local NEAR chain is running, until this process ends.\n\
         # token      {token}, 6 decimals; {relay} holds {SUPPLY} base units of it\n\
         # receivers  {receivers} (the first and every second one after it are registered)\n\
         # faults     {first}/devnet, and the same at each endpoint: see docs/guide/devnet.md\n\
         # The keys below have full access to {relay}, on this chain only. For portage.toml:\n\
         \n\
         [relay]\n\
         account_id = \"{relay}\"\n\
         token_contract = \"{token}\"\n\
         network = \"localnet\"\n\
         rpc_urls = [{urls}]\n\
         access_keys = \"{keys}\"\n",
        receivers = receivers.join(" "),
        first = urls.first().map_or("", String::as_str),
        urls = urls.iter().map(|url| format!("\"{url}\"")).collect::<Vec<_>>().join(", "),
    )
}
