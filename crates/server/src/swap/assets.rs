//! Chooses the assets of a swap: USDC, and USDD, which a fresh store does not have. One that is missing is added, as an
//! operator's action of the service's own.

use crate::cli::exit::{Exit, Fault};
use crate::config::chains::swap::{DECIMALS, USDC, USDD};
use crate::open_store::Store;
use engine::operators::asset::add_asset_to_store;
use engine::operators::{Actor, NewAsset, Objection};
use kernel::answer::Cause;
use kernel::ids::AssetId;
use kernel::money::{Amount, Asset};
use kernel::unit::Unit;

/// The caller of the action that adds an asset, in the audit.
const CALLER: &str = "portage|swap";

/// The assets of both ends of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SwapAssets {
    pub usdc: AssetId,
    pub usdd: AssetId,
}

impl SwapAssets {
    /// Stands for both where no store is open.
    pub(crate) const ANY: Self = Self { usdc: AssetId(0), usdd: AssetId(0) };

    /// The assets by their symbols; what the store lacks is added.
    ///
    /// # Errors
    /// 78: one is known with another number of decimals, or cannot be added; 74: the journal does not answer.
    pub(crate) async fn of(store: &dyn Store) -> Result<Self, Fault> {
        Ok(Self { usdc: asset(store, USDC).await?, usdd: asset(store, USDD).await? })
    }
}

async fn asset(store: &dyn Store, symbol: &str) -> Result<AssetId, Fault> {
    if let Some(id) = known(store, symbol).await? {
        return Ok(id);
    }
    let new = NewAsset {
        id: None,
        symbol: symbol.to_owned(),
        precision: DECIMALS,
        transferable: true,
        min: Amount(1),
        max: None,
        daily: None,
    };
    let key = format!("swap-asset-{symbol}").into();
    let reason = format!("swap.vault_account is set, and {symbol} is not known").into();
    let actor = Actor { caller: CALLER.into(), key, reason };
    let objection = match add_asset_to_store(store, actor, &new, Unit::default()).await {
        Ok(asset) => return Ok(asset.id),
        Err(objection) => objection,
    };
    // another process may have been first: what it wrote counts
    if let Some(id) = known(store, symbol).await? {
        return Ok(id);
    }
    if let Objection::Unknown(cause) = objection {
        return Err(journal(cause));
    }
    Err(Fault::new(Exit::Config, format!("swap: {symbol}: {objection:?}")))
}

/// The id of a known asset, whose decimals are those of the mint.
async fn known(store: &dyn Store, symbol: &str) -> Result<Option<AssetId>, Fault> {
    let assets = store.service_status().await.map_err(journal)?.assets;
    let Some(asset) = assets.iter().find(|asset| asset.symbol == symbol) else { return Ok(None) };
    let Asset { id, precision, .. } = asset;
    if *precision == DECIMALS {
        return Ok(Some(*id));
    }
    let what = format!(
        "swap: the asset {symbol} has {precision} decimals here, and {DECIMALS} on its chain"
    );
    Err(Fault::new(Exit::Config, what))
}

fn journal(cause: Cause) -> Fault {
    Fault::new(Exit::Io, format!("the journal does not answer: {cause}"))
}
