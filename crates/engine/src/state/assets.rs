//! Keeps the assets as the journal gave them last. Two reads of the journal may end in any order: the one
//! with the higher version counts.

use kernel::money::Asset;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Assets(Mutex<(u32, Arc<[Asset]>)>);

impl Assets {
    fn last(&self) -> MutexGuard<'_, (u32, Arc<[Asset]>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Arc<[Asset]> {
        self.last().1.clone()
    }

    /// Takes in the assets of a version that was read. Where it is newer, `before` runs first.
    pub(crate) fn read(&self, version: u32, assets: &[Asset], before: impl FnOnce()) {
        let mut last = self.last();
        if version >= last.0 && *last.1 != *assets {
            before();
            *last = (version, assets.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Assets;
    use kernel::money::Asset;

    /// Turns red where the reading that comes last counts (run: without the comparison).
    #[test]
    fn an_older_reading_takes_nothing_away() {
        let (assets, fresh) = (Assets::default(), Asset::fresh());
        let (all, some) = (fresh.as_slice(), &fresh[1..]);
        assets.read(1, some, || {});
        assets.read(2, all, || {});
        assets.read(1, some, || panic!("it is old"));
        assert_eq!(*assets.all(), *all);
        assets.read(2, all, || panic!("it is known"));
        assets.read(3, some, || {});
        assert_eq!(*assets.all(), *some);
    }
}
