//! Chooses the asset of the relay's token where `relay.asset` is not set: the one of the symbol that the contract shows
//! (NEP-148), in upper case, once for each contract. A known asset is taken only where the contract spells it so: of
//! `USDt` only a person says whether it is USDT. The choice is a row of the journal, so that a contract which shows
//! another symbol later changes nothing.

use super::{TOKEN_ASKED_EVERY, near_settings};
use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use crate::link_context::LinkContext;
use engine::operators::asset::{SYMBOL, add_asset_to_store, fits_as_symbol};
use engine::operators::{Actor, NewAsset, Objection};
use kernel::answer::Cause;
use kernel::ids::ChainId;
use kernel::money::{Amount, Asset};
use kernel::ports::clock::TICKS;
use kernel::unit::{Guard, Put, Unit, Wrote};
use links::near::{TokenMetadata, other_decimals, token_metadata};
use std::sync::Arc;

/// The rows of the choices: behind it stands the contract; the value is the symbol of its asset.
const CHOICES: &str = "relay-asset:";
/// The caller of the action that adds an asset, in the audit.
const CALLER: &str = "portage|relay";
/// How long the providers are asked before the start is refused, in ticks.
const ASKED_FOR: u64 = 10_000 * TICKS;

/// The symbol of the asset of the relay's token.
///
/// # Errors
/// 78: the contract shows none that can be used here, and `relay.asset` has to be set; 69: the providers do not answer
/// alike; 74: the journal does not answer.
pub(crate) async fn chosen_asset(
    settings: &Relay,
    context: &LinkContext<'_>,
) -> Result<String, Fault> {
    if !settings.asset.is_empty() {
        return Ok(settings.asset.clone());
    }
    let contract = &*settings.token_contract;
    let rows = context.store.resources(CHOICES.into()).await.map_err(journal)?;
    let name: Arc<str> = format!("{CHOICES}{contract}").into();
    if let Some(row) = rows.iter().find(|row| row.name == name) {
        return Ok(row.value.to_string());
    }
    if settings.rpc_urls.is_empty() {
        let what = "no asset is chosen yet, and relay.rpc_urls names no provider that shows one";
        return Err(unset(contract, what));
    }
    let TokenMetadata { symbol: spelled, decimals } = shown(settings, context).await?;
    let symbol = spelled.to_ascii_uppercase();
    if let Some(other) = rows.iter().find(|row| *row.value == *symbol) {
        let other = other.name.strip_prefix(CHOICES).unwrap_or(&other.name);
        let what = format!("it shows the symbol {symbol}, which stands for the contract {other}");
        return Err(unset(contract, &what));
    }
    let choice = Unit::guarded(
        vec![Guard::Resource { name: name.clone(), version: 0 }],
        vec![Put::Resource { name: name.clone(), value: symbol.as_str().into() }],
    );
    let written = match context.assets.iter().find(|asset| asset.symbol == symbol) {
        Some(asset) if u64::from(asset.precision) != decimals => {
            let what = other_decimals(contract, decimals, asset.precision.into());
            return Err(Fault::new(Exit::Config, what));
        }
        Some(_) if symbol != spelled => {
            let what = format!(
                "it shows the symbol {spelled}, and whether that is the asset {symbol} is not known"
            );
            return Err(unset(contract, &what));
        }
        Some(_) => write(context, choice).await,
        None => add(contract, &symbol, decimals, context, choice).await?.map(|_| ()),
    };
    let Err(cause) = written else {
        tracing::info!(contract, symbol, decimals, "relay: the asset of the token is chosen");
        return Ok(symbol);
    };
    // another process may have been first: what it wrote counts
    let row = context.store.resource(name).await.map_err(journal)?;
    row.map(|row| row.value.to_string()).ok_or_else(|| journal(cause))
}

/// What the contract shows, as soon as enough providers show it alike.
async fn shown(settings: &Relay, context: &LinkContext<'_>) -> Result<TokenMetadata, Fault> {
    let contract = &*settings.token_contract;
    let bound = engine::bound_chain(&**context.store, ChainId::NEAR).await.map_err(journal)?;
    let (near, clock) = (near_settings(settings, Vec::new()), context.clock);
    let (begun, mut failed) = (clock.ticks(), false);
    let metadata = loop {
        match token_metadata(&near, contract, bound.as_ref(), clock, context.meter).await {
            Ok(metadata) => break metadata,
            Err(cause) if clock.ticks().saturating_sub(begun) >= ASKED_FOR => {
                let what = format!("its symbol is not known: {cause}");
                return Err(Fault { exit: Exit::Unavailable, ..unset(contract, &what) });
            }
            Err(cause) if !failed => {
                failed = true;
                tracing::warn!(%cause, contract, "relay: the token's symbol is not known yet");
            }
            Err(_) => {}
        }
        clock.sleep(TOKEN_ASKED_EVERY).await;
    };
    let metadata = metadata.ok_or_else(|| unset(contract, "it shows no symbol and decimals"))?;
    if !fits_as_symbol(&metadata.symbol.to_ascii_uppercase()) {
        // it is a stranger's text, and is not repeated
        return Err(unset(contract, &format!("its symbol, in upper case, is not {SYMBOL}")));
    }
    Ok(metadata)
}

/// Adds the asset with the row of the choice.
async fn add(
    contract: &str,
    symbol: &str,
    decimals: u64,
    context: &LinkContext<'_>,
    choice: Unit,
) -> Result<Result<Asset, Cause>, Fault> {
    let why =
        format!("relay.asset is not set, and {contract} shows {symbol} with {decimals} decimals");
    let new = NewAsset {
        id: None,
        symbol: symbol.to_owned(),
        precision: u8::try_from(decimals).unwrap_or(u8::MAX),
        transferable: true,
        min: Amount(1),
        max: None,
        daily: None,
    };
    let key = format!("relay-asset-{contract}").into();
    let actor = Actor { caller: CALLER.into(), key, reason: why.into() };
    match add_asset_to_store(&**context.store, actor, &new, choice).await {
        Ok(asset) => Ok(Ok(asset)),
        Err(Objection::Unknown(cause)) => Ok(Err(cause)),
        Err(Objection::Invalid(why) | Objection::NotPossible(why)) => Err(unset(contract, &why)),
        Err(objection) => Err(unset(contract, &format!("{objection:?}"))),
    }
}

async fn write(context: &LinkContext<'_>, choice: Unit) -> Result<(), Cause> {
    match context.store.write(vec![choice]).await.pop() {
        Some(Wrote::Written(_)) => Ok(()),
        Some(Wrote::Unknown(cause)) => Err(cause),
        Some(Wrote::Refused(refusal)) => Err(refusal.into_cause()),
        Some(Wrote::Lost(_) | Wrote::Full) | None => Err(Cause::of("NOT_WRITTEN")),
    }
}

/// Why a person has to name the asset.
fn unset(contract: &str, why: &str) -> Fault {
    let what = format!(
        "relay.asset is not set, and the contract {contract} gives none: {why}. Start again when that has changed, \
         or set relay.asset to the symbol of an asset with the contract's decimals (`portage ops assets`); \
         `portage ops add-asset SYMBOL --precision N --reason …` adds one while relay.account_id is unset"
    );
    Fault::new(Exit::Config, what)
}

fn journal(cause: Cause) -> Fault {
    Fault::new(Exit::Io, format!("the journal does not answer: {cause}"))
}
