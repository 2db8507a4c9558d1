//! Opens what the flow `relay` needs in this process: the chain port, and the facts of the chain for the flow's
//! rules. [`open`] is the one function that knows the adapter.

mod intake_only;
mod key_scope;
mod keys;
mod receiver_row;
mod registrations;
mod token_asset;

pub(crate) use self::key_scope::opening_guard;
pub(crate) use self::token_asset::chosen_asset;

use self::intake_only::IntakeOnly;
use self::registrations::{RegistrationBudget, Registrations};
use crate::cli::exit::{Exit, Fault};
use crate::config::{NearNetwork, Relay};
use crate::link_context::{AGREE, LinkContext};
use kernel::ids::{ChainId, Millis};
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::chain::Chain;
use kernel::ports::clock::Clock;
use kernel::ports::facts::FactSource;
use links::near::{self, NearChain, NearSettings, NearToken, RpcLimits, TokenCheck};
use std::sync::Arc;

/// The chain port of a relay, and the fact source of its rules.
pub(crate) struct RelayLink {
    pub chain: Arc<dyn Chain>,
    pub facts: Arc<dyn FactSource>,
    /// The chain's adapter, where this process has keys.
    near: Option<NearChain>,
}

/// The number of quick checks at the providers, and the milliseconds between two, before one check a minute.
const TOKEN_ASKED: usize = 40;
const TOKEN_ASKED_EVERY: Millis = 250;

impl RelayLink {
    /// Asks the providers whether the account and the token's contract are there, as soon as it is proven which chain
    /// they are of. What they say is in the log, and a definite no refuses transfers. `None`: this process has no keys.
    pub(crate) fn asks_for_token(&self, clock: Arc<dyn Clock>) -> Option<Fut<'static, ()>> {
        let near = self.near.clone()?;
        Some(Box::pin(async move {
            for _ in 0..TOKEN_ASKED {
                if !matches!(near.check_tokens().await, TokenCheck::Unknown(_)) {
                    return;
                }
                clock.sleep(TOKEN_ASKED_EVERY).await;
            }
        }))
    }
}

/// Opens what carries the relay by its settings. Without keys nothing is sent from this process: transfers
/// are taken in, and stay where they are until a process with keys carries them.
///
/// # Errors
/// 78: the settings cannot be used, or the keys cannot be read.
pub(crate) fn open(settings: &Relay, context: &LinkContext<'_>) -> Result<RelayLink, Fault> {
    let asset = asset(settings, context.assets)?;
    if !settings.has_keys() {
        tracing::warn!("relay: no keys: transfers are taken in here and not sent");
        let link = Arc::new(IntakeOnly);
        return Ok(RelayLink { chain: link.clone(), facts: link, near: None });
    }
    let signer = Arc::new(keys::ring(settings)?);
    let near = near_settings(settings, vec![token(settings, asset)]);
    let unfit = |why| Fault::new(Exit::Config, format!("relay: {why}"));
    let chain = NearChain::new(near, signer, Arc::clone(context.clock), Arc::clone(context.meter));
    let chain = chain.map_err(unfit)?;
    let budget = RegistrationBudget {
        per_day: settings.registration_budget(),
        per_caller: settings.registration_budget_per_caller(),
        waits_for: settings.registration_wait_seconds.saturating_mul(1_000),
    };
    let registrations = Registrations::new(context, &settings.token_contract, budget);
    let facts = Arc::new(chain.facts(Arc::new(registrations)));
    Ok(RelayLink { chain: Arc::new(chain.clone()), facts, near: Some(chain) })
}

fn token(settings: &Relay, asset: &Asset) -> NearToken {
    NearToken {
        contract: settings.token_contract.as_str().into(),
        asset: asset.id,
        decimals: asset.precision,
        least_tgas: NearToken::LEAST_TGAS,
        events: settings.token_events,
    }
}

fn near_settings(settings: &Relay, tokens: Vec<NearToken>) -> NearSettings {
    let urls: Vec<String> = settings.rpc_urls.iter().map(|url| url.to_string()).collect();
    let agree = if urls.len() < AGREE { urls.len() } else { AGREE };
    let defaults = NearSettings::new(ChainId::NEAR, &settings.account_id, tokens, urls);
    let localnet = settings.network == NearNetwork::Localnet;
    // blocks of a local chain come faster
    let base_block_ms = if localnet { defaults.base_block_ms / 4 } else { defaults.base_block_ms };
    let token_rest_ms = if localnet { defaults.token_rest_ms / 10 } else { defaults.token_rest_ms };
    let per_second = u64::from(settings.rpc_per_second);
    let limits = RpcLimits { per_second, burst: per_second.saturating_mul(2), ..defaults.limits };
    let network = match settings.network {
        NearNetwork::Mainnet => near::NearNetwork::Mainnet,
        NearNetwork::Testnet => near::NearNetwork::Testnet,
        NearNetwork::Localnet => near::NearNetwork::Localnet,
    };
    NearSettings {
        network,
        base_block_ms,
        token_rest_ms,
        providers_needed: agree,
        most_storage_deposit: settings.max_registration_deposit(),
        limits,
        ..defaults
    }
}

/// The asset of the token.
///
/// # Errors
/// 78: it is not known here.
fn asset<'a>(settings: &Relay, assets: &'a [Asset]) -> Result<&'a Asset, Fault> {
    assets.iter().find(|asset| asset.symbol == settings.asset).ok_or_else(|| {
        let what = format!(
            "relay.asset: there is no asset {}; add it while relay.account_id is unset (`portage ops \
             assets`), with the decimals of its contract",
            settings.asset
        );
        Fault::new(Exit::Config, what)
    })
}
