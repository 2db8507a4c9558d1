//! Keeps the assets that a remote ledger says it holds, each with its decimals, and compares them with ours.
//!
//! Amounts cross the wire in base units: with one decimal more or less a ledger would book ten times too much, or a
//! tenth.

use kernel::ids::{AssetId, LedgerId};
use kernel::money::Asset;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Decimals by the symbol of an asset.
pub(crate) type Decimals = BTreeMap<String, u64>;

#[derive(Debug, Default)]
pub(crate) struct HeldAssets(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    ours: Vec<Asset>,
    /// As the ledger said last; `None`: it says nothing of its assets.
    theirs: Option<Decimals>,
}

impl Known {
    /// The decimals of an asset there, where they are not ours.
    fn other_decimals(&self, asset: &Asset) -> Option<u64> {
        let theirs = *self.theirs.as_ref()?.get(&asset.symbol)?;
        (theirs != u64::from(asset.precision)).then_some(theirs)
    }
}

impl HeldAssets {
    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// These assets are known here.
    pub(crate) fn know(&self, assets: &[Asset]) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).ours = assets.to_vec();
    }

    /// The ledger said which assets it holds.
    pub(crate) fn hear(&self, ledger: LedgerId, theirs: Option<Decimals>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.theirs == theirs {
            return;
        }
        known.theirs = theirs;
        for asset in &known.ours {
            if let Some(theirs) = known.other_decimals(asset) {
                let (ledger, asset, ours) = (ledger.name(), &asset.symbol, asset.precision);
                tracing::error!(
                    ledger, %asset, ours, theirs,
                    "the ledger counts an asset with other decimals: nothing of it is sent there"
                );
            }
        }
    }

    /// False where the ledger names its assets, and this one is none of them or has other decimals.
    pub(crate) fn holds(&self, asset: &Asset) -> bool {
        let known = self.known();
        let theirs = known.theirs.as_ref().map(|theirs| theirs.get(&asset.symbol));
        theirs.is_none_or(|decimals| decimals == Some(&u64::from(asset.precision)))
    }

    /// The symbols that the ledger names; `None`: it says nothing of its assets.
    pub(crate) fn symbols(&self) -> Option<Vec<String>> {
        self.known().theirs.as_ref().map(|theirs| theirs.keys().cloned().collect())
    }

    /// True where an amount of the asset would be another one there.
    pub(crate) fn miscounts(&self, asset: AssetId) -> bool {
        let known = self.known();
        if known.theirs.is_none() {
            return false;
        }
        let ours = known.ours.iter().find(|one| one.id == asset);
        ours.is_some_and(|asset| known.other_decimals(asset).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::{Decimals, HeldAssets};
    use kernel::ids::LedgerId;
    use kernel::money::Asset;

    /// Turns red where other decimals pass, where an asset that the ledger does not name passes, and where a ledger
    /// that names none holds none.
    #[test]
    fn decimals_are_compared() {
        let held = HeldAssets::default();
        let (coin, other) = (Asset::plain(3, "USDT", 6), Asset::plain(1, "BTC", 8));
        held.know(&[coin.clone(), other.clone()]);
        let says = |theirs: Option<Decimals>| {
            held.hear(LedgerId::FUTURE, theirs);
            [&coin, &other].map(|asset| (held.holds(asset), held.miscounts(asset.id)))
        };
        assert_eq!(says(None), [(true, false), (true, false)]);
        assert_eq!(says(Some([("USDT".to_owned(), 6)].into())), [(true, false), (false, false)]);
        assert_eq!(says(Some([("USDT".to_owned(), 8)].into())), [(false, true), (false, false)]);
        assert_eq!(says(None), [(true, false), (true, false)]);
    }
}
