//! Opens what the flow `swap_in` needs in this process: the port to Solana, the watch of its vault, and the facts for the
//! flow's rules. [`open`] is the one function that knows the adapter.

pub(crate) mod assets;
pub(crate) mod keys;

use self::assets::SwapAssets;
use self::keys::NoKey;
use crate::cli::exit::{Exit, Fault};
use crate::config::{self, Swap};
use crate::link_context::{AGREE, LinkContext};
use crate::runtime::SystemClock;
use flows::swap_in::State;
use kernel::flow::life::Life as _;
use kernel::flow::table::Flows;
use kernel::ids::{ChainId, Millis};
use kernel::ports::chain::Chain;
use kernel::ports::clock::Clock;
use kernel::ports::deposits::DepositSource;
use kernel::ports::facts::FactSource;
use kernel::ports::meter::{Meter, NoMeter};
use links::solana::{
    self, ChainSigner, DepositSettings, RpcLimits, SolanaChain, SolanaDeposits, SolanaSettings,
    SolanaVault,
};
use links::swap_facts::{SwapInFacts, SwapPolicy};
use std::sync::Arc;

/// The principal of the transfers that deposits open: the watch of the vault.
const WATCHER: &str = "portage|swap";
/// How long nothing is signed on a local chain after a payment failed for a reason of ours, in milliseconds.
const LOCAL_REST_MS: Millis = 3_000;

/// The ports of the swaps on Solana.
pub(crate) struct SwapLink {
    pub chain: Arc<dyn Chain>,
    pub deposits: Arc<dyn DepositSource>,
    pub facts: Arc<dyn FactSource>,
}

/// Opens what carries swaps by their settings. Without the vault's key deposits are taken in, and nothing is sent from
/// this process.
///
/// # Errors
/// 78: the settings cannot be used, or the key cannot be read or is not the vault's.
pub(crate) fn open(
    settings: &Swap,
    assets: SwapAssets,
    context: &LinkContext<'_>,
) -> Result<SwapLink, Fault> {
    let signer = keys::signer(settings)?;
    let chain = adapter(settings, assets, signer, context.clock, context.meter)?;
    let deposits = chain.deposits(deposit_settings(settings, assets, context.flows)?);
    let deposits = deposits.map_err(unfit)?;
    let policy = SwapPolicy {
        accepting: settings.accept,
        most: settings.most(),
        most_rejections: settings.max_refund_rejections,
        cooldown_ms: seconds(settings.retry_cooldown_seconds),
        quarantine_account: named(&settings.quarantine_account),
    };
    let source = Arc::new(chain.clone());
    let facts = SwapInFacts::new(context.flows, context.store.clone(), source, None, policy);
    let facts = facts.ok_or_else(|| Fault::new(Exit::Software, "this binary has no swap_in"))?;
    if settings.accept {
        tracing::warn!(
            "swap: this release has no adapter to Nexus: no swap is accepted, and each deposit is given back after {} s",
            settings.refund_timeout_seconds
        );
    }
    Ok(SwapLink { chain: Arc::new(chain), deposits: Arc::new(deposits), facts: Arc::new(facts) })
}

/// What the vault's chain shows of its deposits, for a person: no key is read, and the chain is the one that its
/// providers show.
///
/// # Errors
/// 78: the settings cannot be used; 69: the providers do not show one chain.
pub(crate) async fn watched(settings: &Swap) -> Result<SolanaDeposits, Fault> {
    let chain = chain_without_key(settings).await?;
    let assets = SwapAssets::ANY;
    chain.deposits(deposit_settings(settings, assets, &flows::registry())?).map_err(unfit)
}

/// The adapter of a command that opens no store and reads no key.
///
/// # Errors
/// As [`watched`].
pub(crate) async fn chain_without_key(settings: &Swap) -> Result<SolanaChain, Fault> {
    bound(settings, Arc::new(NoKey)).await
}

/// The adapter of a command that opens no store and signs.
///
/// # Errors
/// As [`watched`]; 78: the key cannot be read, or is not the vault's.
pub(crate) async fn chain_with_key(settings: &Swap) -> Result<SolanaChain, Fault> {
    bound(settings, keys::signer(settings)?).await
}

/// An adapter over the chain that its providers show.
async fn bound(settings: &Swap, signer: Arc<dyn ChainSigner>) -> Result<SolanaChain, Fault> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let meter: Arc<dyn Meter> = Arc::new(NoMeter);
    let chain = adapter(settings, SwapAssets::ANY, signer, &clock, &meter)?;
    match chain.identity().await {
        Ok(Some(identity)) => {
            chain.bind(&identity);
            Ok(chain)
        }
        Ok(None) => Err(Fault::new(Exit::Unavailable, "the providers show no chain")),
        Err(cause) => Err(Fault::new(Exit::Unavailable, format!("the providers: {cause}"))),
    }
}

fn adapter(
    settings: &Swap,
    assets: SwapAssets,
    signer: Arc<dyn ChainSigner>,
    clock: &Arc<dyn Clock>,
    meter: &Arc<dyn Meter>,
) -> Result<SolanaChain, Fault> {
    let (solana, clock) = (solana_settings(settings, assets), Arc::clone(clock));
    SolanaChain::new(solana, signer, clock, Arc::clone(meter)).map_err(unfit)
}

fn solana_settings(settings: &Swap, assets: SwapAssets) -> SolanaSettings {
    let urls: Vec<String> = settings.solana_rpc_urls.iter().map(|url| url.to_string()).collect();
    let agree = if urls.len() < AGREE { urls.len() } else { AGREE };
    let vault = SolanaVault {
        key: settings.vault.as_str().into(),
        account: settings.vault_account.as_str().into(),
        mint: settings.mint.as_str().into(),
        asset: assets.usdc,
    };
    let defaults = SolanaSettings::new(ChainId::SOLANA, vault, urls);
    let local = settings.solana_network == config::SolanaNetwork::Localnet;
    let per_second = u64::from(settings.solana_rpc_per_second);
    SolanaSettings {
        network: network(settings.solana_network),
        quarantine_account: named(&settings.quarantine_account),
        decimals: config::chains::swap::DECIMALS,
        providers_needed: agree,
        limits: RpcLimits { per_second, burst: per_second.saturating_mul(2), ..defaults.limits },
        lanes: settings.solana_lanes.into(),
        priority_fee: settings.solana_priority_fee,
        most_priority_fee: settings.solana_max_priority_fee,
        fee_floor: settings.solana_fee_floor,
        create_token_accounts: settings.create_token_accounts,
        rest_ms: if local { LOCAL_REST_MS } else { defaults.rest_ms },
        ..defaults
    }
}

const fn network(network: config::SolanaNetwork) -> solana::SolanaNetwork {
    match network {
        config::SolanaNetwork::Mainnet => solana::SolanaNetwork::Mainnet,
        config::SolanaNetwork::Devnet => solana::SolanaNetwork::Devnet,
        config::SolanaNetwork::Testnet => solana::SolanaNetwork::Testnet,
        config::SolanaNetwork::Localnet => solana::SolanaNetwork::Localnet,
    }
}

fn deposit_settings(
    settings: &Swap,
    assets: SwapAssets,
    flows: &Flows,
) -> Result<DepositSettings, Fault> {
    let missing = || Fault::new(Exit::Software, "this binary has no swap_in");
    let fees = settings.fees().ok_or_else(|| {
        Fault::new(Exit::Config, "swap.min_deposit_usdc: the prices do not fit together")
    })?;
    Ok(DepositSettings {
        flow: flows.named(State::FLOW).ok_or_else(missing)?,
        principal: WATCHER.into(),
        target_chain: ChainId::NEXUS,
        target_asset: assets.usdd,
        fees,
        refund_timeout_ms: seconds(settings.refund_timeout_seconds),
        funding_accounts: settings.funding_accounts.iter().map(|one| one.as_str().into()).collect(),
        start: named(&settings.solana_start),
        normal_lag_ms: seconds(settings.watcher_behind_seconds),
        interval_ms: settings.solana_poll_ms,
    })
}

fn named(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}

const fn seconds(seconds: u64) -> Millis {
    seconds.saturating_mul(1_000)
}

fn unfit(why: solana::BadChainSettings) -> Fault {
    Fault::new(Exit::Config, format!("swap: {why}"))
}
