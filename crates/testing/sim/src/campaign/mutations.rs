//! Wraps the parts of a run in one of the wrong builds of [`crate::wrong`].

use super::{Build, Core};
use crate::disk::SimDisk;
use crate::journal::SimFunding;
use crate::world::Sim;
use crate::wrong;
use crate::wrong::builds::{Lie, two};
use engine::Engine;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{External, Ledger, Moved, World};
use std::sync::{Arc, OnceLock};

/// A build and the lie around it. One is made for each run.
pub struct MutatedBuild {
    inner: Arc<dyn Build>,
    name: Arc<str>,
    lie: Lie,
    /// Known once the first core was opened, which is before anything else is made.
    sim: OnceLock<Sim>,
}

impl std::fmt::Debug for MutatedBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MutatedBuild").field("name", &self.name).finish_non_exhaustive()
    }
}

impl MutatedBuild {
    /// The build with the lie of that name: one that the campaign finds, or one of an acceptance
    /// test.
    pub fn new(inner: Arc<dyn Build>, name: &str) -> Self {
        let lie = Lie::named(name).unwrap_or_default();
        Self { inner, name: name.into(), lie, sim: OnceLock::new() }
    }
}

impl Build for MutatedBuild {
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core> {
        // the lies live in the world: they outlast each process
        self.sim.get_or_init(|| sim.process(0));
        let acknowledged = if self.lie.opens_anything { 0 } else { acknowledged };
        let first = self.inner.core(sim, disk.clone(), acknowledged);
        if !self.lie.two_cores {
            return first;
        }
        let second = self.inner.core(sim, disk, acknowledged);
        Box::pin(async move { Ok(two(first.await?, second.await?)) })
    }

    fn journal(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        match (&self.lie.journal, self.sim.get()) {
            (Some(around), Some(sim)) => around(sim, inner),
            _ => wrong::journal(Some(&self.name), inner),
        }
    }

    fn near(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        match (&self.lie.near, self.sim.get()) {
            (Some(around), Some(sim)) => around(sim, inner),
            _ => wrong::ledger(Some(&self.name), inner),
        }
    }

    fn far(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        match (&self.lie.far, self.sim.get()) {
            (Some(around), Some(sim)) => around(sim, inner),
            _ => inner,
        }
    }

    fn movement(
        &self,
        engine: Arc<Engine>,
        world: Arc<SimFunding>,
        movement: External,
    ) -> Fut<'static, Result<Moved, Cause>> {
        if !self.lie.books_beside {
            return self.inner.movement(engine, world, movement);
        }
        Box::pin(async move {
            if engine.halted().is_some() {
                let before = world.booked(movement).await?;
                return Ok(before.unwrap_or(Moved::Refused(Code::Halted)));
            }
            world.unguarded(movement).await
        })
    }

    fn disk(&self, disk: SimDisk) -> SimDisk {
        if self.lie.syncs_lie {
            disk.lie();
        }
        disk
    }
}
