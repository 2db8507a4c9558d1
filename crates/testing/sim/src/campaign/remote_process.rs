//! Simulates Spot as a process of its own, outside of all workers: it dies, pauses, and restarts over its folder
//! while they go on.
//!
//! A worker calls it over a connection, which is cut when Spot dies; while Spot is down, no call is answered.

use super::env::{Env, opened};
use super::workers::{Ended, STEP, STILL, is_due};
use super::{Knob, connection};
use crate::world::{Sim, Stop};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long it is down at most between two processes.
const DOWN: Millis = 5_000;
/// More starts in a row than any run needs until one lives.
const STARTS: u64 = 2_000;

/// One of its processes.
#[derive(Clone)]
struct Life {
    sim: Sim,
    ledger: Arc<dyn Ledger>,
}

#[derive(Default)]
struct Inner {
    life: Option<Life>,
    /// What it was told of the assets; the next process is told it again.
    assets: Vec<Asset>,
}

/// Spot as the workers reach it. A handle: clones are the same one.
#[derive(Clone, Default)]
pub(super) struct RemoteSpot(Arc<Mutex<Inner>>);

impl RemoteSpot {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> Option<Life> {
        self.inner().life.clone()
    }

    /// Begins the next process over the folder, and where it dies of its disk the one after it.
    pub(super) fn begin(&self, env: &mut Env) -> Ended {
        for _ in 0..STARTS {
            env.lives += 1;
            let sim = env.sim.process(env.lives);
            let disk = env.disk.under(sim.crash());
            let opening = opened(
                (env.build.clone(), env.oracles.clone()),
                (sim.clone(), disk),
                env.place.status(),
            );
            let died = match sim.block_on(opening) {
                Ok(Ok(ledger)) => {
                    let mut inner = self.inner();
                    ledger.know(&inner.assets);
                    inner.life = Some(Life { sim, ledger });
                    return Ok(());
                }
                Ok(Err(why)) => why,
                Err(Stop::Dead(why)) => why.to_string(),
                Err(stop) => return Err(format!("{stop:?}")),
            };
            if !died.starts_with("crashed") {
                return Err(format!("refused to start: {died}"));
            }
            sim.kill(&died);
            Self::buried(env, &died);
        }
        Err("Spot dies for ever".to_owned())
    }

    /// Ends its process, if there is one.
    pub(super) fn end(&self, env: &mut Env) {
        let life = self.inner().life.take();
        if let Some(life) = life {
            life.sim.resume();
            life.sim.kill("crashed: Spot killed");
            Self::buried(env, "crashed: Spot killed");
        }
    }

    /// What a process leaves that died.
    fn buried(env: &mut Env, why: &str) {
        // whatever it had in hand ends before the power does
        env.sim.bury_fallen();
        env.stats.crash(why);
        env.trace.remark(env.sim.time(), format_args!("Spot {why}"));
        if env.options.get(Knob::Power) > 0 && env.draws.once_in(1, 2) {
            env.disk.power_cut();
        }
    }

    /// Dead, of its disk or killed: true where there is none any more.
    pub(super) fn is_gone(&self, env: &mut Env) -> Result<bool, String> {
        let Some(life) = self.life() else { return Ok(true) };
        let Some(why) = life.sim.fallen() else { return Ok(false) };
        if !why.starts_with("crashed") {
            return Err(why.to_string());
        }
        self.inner().life = None;
        Self::buried(env, &why);
        Ok(true)
    }

    /// It goes on, if it stood still.
    pub(super) fn resume(&self) {
        if let Some(life) = self.life() {
            life.sim.resume();
        }
    }
}

/// What becomes of Spot while things go wrong.
#[derive(Debug, Default)]
pub(super) struct RemoteFaults {
    /// Until then it stands still.
    still: Option<Millis>,
    /// Until then it is down.
    down: Option<Millis>,
}

impl RemoteFaults {
    /// It dies, stands still, goes on. True where it is down and could begin again.
    pub(super) fn is_due(&mut self, spot: &RemoteSpot, env: &mut Env) -> Result<bool, String> {
        let now = env.sim.time();
        if spot.is_gone(env)? {
            let until = *self.down.get_or_insert_with(|| now + env.draws.next() % DOWN);
            self.still = None;
            if until > now {
                return Ok(false);
            }
            self.down = None;
            return Ok(true);
        }
        let Some(Life { sim, .. }) = spot.life() else { return Ok(false) };
        if self.still.is_some_and(|until| until <= now) {
            self.still = None;
            sim.resume();
        }
        if is_due(env, Knob::Kill) {
            sim.resume();
            sim.kill("crashed: Spot killed");
        } else if self.still.is_none() && is_due(env, Knob::Pause) {
            self.still = Some(now + STEP + env.draws.next() % STILL);
            sim.pause();
            env.stats.fault("Spot stands still");
        }
        Ok(false)
    }
}

/// Asks its process over a connection; there is no answer where there is none, or it dies meanwhile.
macro_rules! asked {
    ($self:ident, $ledger:ident => $request:expr) => {
        Box::pin(async move {
            let nothing = || Reply::NoAnswer(Cause::of("TIMEOUT"));
            let Some(Life { sim, ledger: $ledger }) = $self.life() else { return nothing() };
            connection::call(&sim, async move { $request.await }).await.unwrap_or_else(nothing)
        })
    };
}

impl Ledger for RemoteSpot {
    fn id(&self) -> LedgerId {
        LedgerId::SPOT
    }
    fn know(&self, assets: &[Asset]) {
        self.inner().assets = assets.to_vec();
        if let Some(life) = self.life() {
            life.ledger.know(assets);
        }
    }
    fn hello(&self) -> Fut<'_, Reply<()>> {
        asked!(self, ledger => ledger.hello())
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        asked!(self, ledger => ledger.execute(known, ops))
    }
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        asked!(self, ledger => ledger.query(known, key))
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        asked!(self, ledger => ledger.fence(known, key))
    }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        asked!(self, ledger => ledger.totals())
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        asked!(self, ledger => ledger.operations(after, limit))
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        asked!(self, ledger => ledger.horizon(known, id, open))
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        asked!(self, ledger => ledger.accounts(whose))
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        asked!(self, ledger => ledger.status(known, change))
    }
}
