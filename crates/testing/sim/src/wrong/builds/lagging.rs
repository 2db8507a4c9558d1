//! A wrong build of a journal that loses writes with its primary.

use super::Lie;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Unit, Written, Wrote};
use std::sync::Arc;
use testkit::wrapper::{JournalWrapper, Wrapper};

/// A commit whose wait for the standby was cancelled is answered as one that was waited for.
pub(super) fn commit_not_replicated() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(NotReplicated(inner))))
}

struct NotReplicated(Arc<dyn Journal>);

impl JournalWrapper for NotReplicated {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let plain: Vec<bool> = units.iter().map(|unit| unit.then.fork.is_none()).collect();
        Box::pin(async move {
            let mut wrote = self.0.write(units).await;
            for (wrote, plain) in wrote.iter_mut().zip(plain) {
                if plain && matches!(wrote, Wrote::Unknown(why) if why.class == "NOT_REPLICATED") {
                    let at = self.0.now();
                    *wrote = Wrote::Written(Written { at, serial: None, fork: None });
                }
            }
            wrote
        })
    }
}
