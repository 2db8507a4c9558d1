//! The chain for a user: a vault, a mint, customers, and the settings that point Portage at all this.

use super::{Blocks, Devnet, Options, Wallet};
use crate::{Outcome, front::clock};
use solana_address::Address;
use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

/// What `devnet solana` is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The port of the first endpoint; without it, any that is free for each.
    pub port: Option<u16>,
    pub endpoints: usize,
    pub customers: usize,
    /// Nonce accounts of the vault's key.
    pub lanes: usize,
    pub block_millis: u64,
    /// Number of blocks that the last final block is behind the head.
    pub finality_lag: u64,
    /// Without it, the time of the start.
    pub seed: Option<u64>,
    /// The folder of the vault's keypair file.
    pub dir: PathBuf,
}

/// A chain that is ready for swaps.
#[derive(Debug)]
pub struct Served {
    pub devnet: Devnet,
    pub mint: Address,
    pub vault: Wallet,
    pub vault_account: Address,
    pub quarantine_account: Address,
    pub lanes: Vec<Address>,
    pub customers: Vec<Wallet>,
    pub keypair_file: PathBuf,
}

/// USDC of the vault at the start, in base units.
pub const INVENTORY: u64 = 1_000_000_000_000;
/// USDC of each customer at the start, in base units.
pub const CUSTOMER: u64 = 100_000_000_000;

/// Starts the chain and sets it up.
///
/// # Errors
///
/// If a port is taken, or the keypair file cannot be written.
pub fn start(request: &Request) -> Outcome<Served> {
    let devnet = Devnet::start(Options {
        blocks: Blocks::Every(Duration::from_millis(request.block_millis)),
        finality_lag: request.finality_lag,
        endpoints: request.endpoints,
        port: request.port,
        seed: request.seed.unwrap_or_else(clock::nanoseconds),
        ..Options::default()
    })?;
    // the setup makes its own blocks
    devnet.pause_blocks(true);
    let mint = devnet.create_mint()?;
    let vault = devnet.create_wallet("vault")?;
    let vault_account = devnet.create_token_account(&vault.address())?;
    let quarantine = Wallet::derived("quarantine").address();
    let quarantine_account = devnet.create_token_account(&quarantine)?;
    let lanes = devnet.create_lanes(&vault, request.lanes)?;
    let mut amounts = vec![(vault_account, INVENTORY)];
    let mut customers = Vec::new();
    for n in 0..request.customers {
        let wallet = devnet.create_wallet(&format!("customer {n}"))?;
        amounts.push((devnet.create_token_account(&wallet.address())?, CUSTOMER));
        customers.push(wallet);
    }
    devnet.mint_to(&amounts)?;
    devnet.settle();
    devnet.pause_blocks(false);
    let port = devnet.urls().first().and_then(|url| url.rsplit(':').next()).map(str::to_owned);
    let name = format!("portage-devnet-vault-{}.json", port.unwrap_or_default());
    let keypair_file = request.dir.join(name);
    write_keypair(&keypair_file, &vault)?;
    Ok(Served {
        devnet,
        mint,
        vault,
        vault_account,
        quarantine_account,
        lanes,
        customers,
        keypair_file,
    })
}

/// A keypair file as Solana's own tools write it: 64 numbers. Only its owner may read it.
fn write_keypair(path: &Path, wallet: &Wallet) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed)?;
    let bytes = wallet.keypair();
    let text = serde_json::to_string(bytes.as_slice()).map_err(|error| error.to_string())?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// The environment that points Portage at a chain, by the names of the source where it has them.
pub fn environment(served: &Served) -> Vec<(&'static str, String)> {
    vec![
        ("SOLANA_RPC_URL", served.devnet.urls().join(",")),
        ("USDC_MINT", served.mint.to_string()),
        ("SOL_MAIN_ACCOUNT", served.vault.address().to_string()),
        ("VAULT_USDC_ACCOUNT", served.vault_account.to_string()),
        ("USDC_QUARANTINE_ACCOUNT", served.quarantine_account.to_string()),
        ("VAULT_KEYPAIR", served.keypair_file.display().to_string()),
        ("PORTAGE_SWAP__SOLANA_NETWORK", "localnet".to_owned()),
        ("PORTAGE_SWAP__SOLANA_LANES", served.lanes.len().to_string()),
    ]
}

/// What a user needs to know, as text, with the lines that point Portage at the chain.
pub fn describe(served: &Served) -> String {
    let urls = served.devnet.urls();
    let first = urls.first().map_or("", String::as_str);
    let customers = served.customers.iter().map(|wallet| wallet.address().to_string());
    let lines = environment(served).into_iter().map(|(name, value)| format!("{name}={value}\n"));
    format!(
        "# A local Solana chain is running, until this process ends.\n\
         # mint       {mint}, 6 decimals; the vault holds {INVENTORY} base units of it\n\
         # lanes      {lanes} nonce accounts of the vault's key, by the seeds portage-lane-0 and on\n\
         # customers  {customers}, each with {CUSTOMER} base units; a deposit of one:\n\
         #   curl -XPOST {first}/devnet/deposit -d '{{\"customer\":0,\"to\":\"{vault}\",\"amount\":25000000,\"memo\":\"nexus:…\"}}'\n\
         # faults     {first}/devnet, and the same at each endpoint: see docs/guide/devnet-solana.md\n\
         # The keypair file holds the vault's key, on this chain only. The environment of `portage serve`:\n\
         \n\
         {lines}",
        mint = served.mint,
        lanes = served.lanes.len(),
        customers = customers.collect::<Vec<_>>().join(" "),
        vault = served.vault_account,
        lines = lines.collect::<String>(),
    )
}
