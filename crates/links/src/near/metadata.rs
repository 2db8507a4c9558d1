//! Reads what a token's contract shows of itself (NEP-148) before there is an adapter, for the start of a service that
//! names no asset for it. What as many providers as are needed show alike counts, and nothing else.

use super::rpc::{BlockAt, NearPool, has_view, view};
use super::settings::NearSettings;
use kernel::answer::Cause;
use kernel::ports::chain::ChainIdentity;
use kernel::ports::clock::Clock;
use kernel::ports::meter::Meter;
use serde_json::{Value, json};
use std::sync::Arc;

/// The view that a contract may answer (NEP-148).
const METADATA: &str = "ft_metadata";

/// The symbol and the decimals that a contract shows, as its author chose them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMetadata {
    /// The token's symbol, as it is: it may be empty, long, or of any characters.
    pub symbol: String,
    /// The decimals of the token.
    pub decimals: u64,
}

/// The metadata of a contract on the chain that a journal is bound to, or where it is bound to none, on the one that the
/// providers show. `None`: the contract shows none.
///
/// # Errors
/// The providers show another chain, differ, or do not answer; the settings name none.
pub async fn token_metadata(
    settings: &NearSettings,
    contract: &str,
    bound: Option<&ChainIdentity>,
    clock: &Arc<dyn Clock>,
    meter: &Arc<dyn Meter>,
) -> Result<Option<TokenMetadata>, Cause> {
    let rpc = NearPool::new(settings, clock, meter);
    let rpc = rpc.map_err(|why| Cause::because("BAD_SETTINGS", why))?;
    if let Some(bound) = bound {
        rpc.expected().bind(bound);
    }
    let shown = rpc.identity().await?;
    // for these requests alone: it is the engine that binds the journal
    rpc.expected().bind(&shown);
    let metadata = agreed_metadata(&rpc, contract).await?;
    Ok(metadata.and_then(|metadata| {
        let symbol = metadata.get("symbol")?.as_str()?.to_owned();
        Some(TokenMetadata { symbol, decimals: metadata.get("decimals")?.as_u64()? })
    }))
}

/// What a contract shows of its token; `None`: it has no such view, which NEP-141 allows.
pub(super) async fn agreed_metadata(
    rpc: &NearPool,
    contract: &str,
) -> Result<Option<Value>, Cause> {
    let args = json!({});
    if !rpc.agreed(&has_view(contract, METADATA, &args, BlockAt::Final)).await? {
        return Ok(None);
    }
    // it may hold a picture as well, and is not shown in a sentence
    rpc.agreed(&view(contract, METADATA, &args, BlockAt::Final)).await.map(Some)
}
