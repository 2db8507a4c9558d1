//! A build with one of the wrong builds of [`crate::wrong`] around its parts.

use super::{Build, Core};
use crate::disk::SimDisk;
use crate::world::Sim;
use crate::wrong;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::Ledger;
use std::sync::Arc;

/// A build and the name of the lie around it.
pub(super) struct Bent {
    pub inner: Arc<dyn Build>,
    pub name: Arc<str>,
}

impl Build for Bent {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        self.inner.core(sim, disk, acknowledged)
    }

    fn journal(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        wrong::journal(Some(&self.name), inner)
    }

    fn near(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        wrong::ledger(Some(&self.name), inner)
    }
}
