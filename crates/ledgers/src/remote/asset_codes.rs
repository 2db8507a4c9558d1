//! Maps assets between the wire, which names them by symbol, and the kernel, which numbers them.

use kernel::ids::AssetId;
use std::sync::{Arc, PoisonError, RwLock};

/// The symbol of each asset on the wire. A handle: clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct AssetCodes(Arc<RwLock<Vec<(AssetId, String)>>>);

impl AssetCodes {
    /// The list of these assets.
    pub fn of(assets: impl IntoIterator<Item = (AssetId, String)>) -> Self {
        let asset_codes = Self::default();
        asset_codes.set(assets);
        asset_codes
    }

    /// Replaces the list of assets.
    pub fn set(&self, assets: impl IntoIterator<Item = (AssetId, String)>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = assets.into_iter().collect();
    }

    pub fn symbol(&self, asset: AssetId) -> Option<String> {
        let assets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        assets.iter().find(|(id, _)| *id == asset).map(|(_, symbol)| symbol.clone())
    }

    /// The asset of a symbol.
    pub fn asset(&self, symbol: &str) -> Option<AssetId> {
        let assets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        assets.iter().find(|(_, name)| name == symbol).map(|(id, _)| *id)
    }

    /// All of them, by number.
    pub fn assets(&self) -> Vec<AssetId> {
        let assets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        assets.iter().map(|(id, _)| *id).collect()
    }
}
