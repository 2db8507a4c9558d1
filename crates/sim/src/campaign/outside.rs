//! Spot outside of all workers: a process of its own, which dies, stands still, and begins again over
//! its folder while they go on.
//!
//! Whoever asks it has a connection that its death cuts; while it is down nobody is answered.

use super::Knob;
use super::crew::{Ended, STEP, STILL, strikes};
use super::line;
use super::stage::{Stage, opened};
use crate::world::{Sim, Stop};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose};
use kernel::unit::{Key, Op, Operation};
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
pub(super) struct Outside(Arc<Mutex<Inner>>);

impl Outside {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> Option<Life> {
        self.inner().life.clone()
    }

    /// Begins the next process over the folder, and where it dies of its disk the one after it.
    pub(super) fn begin(&self, stage: &mut Stage) -> Ended {
        for _ in 0..STARTS {
            stage.lives += 1;
            let sim = stage.sim.process(stage.lives);
            let disk = stage.disk.under(sim.crash());
            let opening = opened(
                (stage.build.clone(), stage.witness.clone()),
                (sim.clone(), disk),
                stage.place.standing(),
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
            Self::buried(stage, &died);
        }
        Err("Spot dies for ever".to_owned())
    }

    /// Ends its process, if there is one.
    pub(super) fn end(&self, stage: &mut Stage) {
        let life = self.inner().life.take();
        if let Some(life) = life {
            life.sim.resume();
            life.sim.kill("crashed: Spot killed");
            Self::buried(stage, "crashed: Spot killed");
        }
    }

    /// What a process leaves that died.
    fn buried(stage: &mut Stage, why: &str) {
        // whatever it had in hand ends before the power does
        stage.sim.bury_fallen();
        stage.tally.crash(why);
        stage.trace.remark(stage.sim.time(), format_args!("Spot {why}"));
        if stage.options.get(Knob::Power) > 0 && stage.draws.once_in(1, 2) {
            stage.disk.power_cut();
        }
    }

    /// Dead, of its disk or killed: true where there is none any more.
    pub(super) fn is_gone(&self, stage: &mut Stage) -> Result<bool, String> {
        let Some(life) = self.life() else { return Ok(true) };
        let Some(why) = life.sim.fallen() else { return Ok(false) };
        if !why.starts_with("crashed") {
            return Err(why.to_string());
        }
        self.inner().life = None;
        Self::buried(stage, &why);
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
pub(super) struct Fate {
    /// Until then it stands still.
    still: Option<Millis>,
    /// Until then it is down.
    down: Option<Millis>,
}

impl Fate {
    /// It dies, stands still, goes on. True where it is down and could begin again.
    pub(super) fn strikes(&mut self, spot: &Outside, stage: &mut Stage) -> Result<bool, String> {
        let now = stage.sim.time();
        if spot.is_gone(stage)? {
            let until = *self.down.get_or_insert_with(|| now + stage.draws.next() % DOWN);
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
        if strikes(stage, Knob::Kill) {
            sim.resume();
            sim.kill("crashed: Spot killed");
        } else if self.still.is_none() && strikes(stage, Knob::Pause) {
            self.still = Some(now + STEP + stage.draws.next() % STILL);
            sim.pause();
            stage.tally.fault("Spot stands still");
        }
        Ok(false)
    }
}

/// Asks its process over a line; nobody answers where there is none, or it dies meanwhile.
macro_rules! asked {
    ($self:ident, $ledger:ident => $ask:expr) => {
        Box::pin(async move {
            let nothing = || Heard::Nothing(Cause::of("TIMEOUT"));
            let Some(Life { sim, ledger: $ledger }) = $self.life() else { return nothing() };
            line::call(&sim, async move { $ask.await }).await.unwrap_or_else(nothing)
        })
    };
}

impl Ledger for Outside {
    fn id(&self) -> LedgerId {
        LedgerId::SPOT
    }
    fn know(&self, assets: &[Asset]) {
        self.inner().assets = assets.to_vec();
        if let Some(life) = self.life() {
            life.ledger.know(assets);
        }
    }
    fn hello(&self) -> Fut<'_, Heard<()>> {
        asked!(self, ledger => ledger.hello())
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        asked!(self, ledger => ledger.execute(known, ops))
    }
    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        asked!(self, ledger => ledger.query(known, key))
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        asked!(self, ledger => ledger.fence(known, key))
    }
    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        asked!(self, ledger => ledger.totals())
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        asked!(self, ledger => ledger.operations(after, limit))
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        asked!(self, ledger => ledger.horizon(known, id, open))
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        asked!(self, ledger => ledger.accounts(whose))
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        asked!(self, ledger => ledger.status(known, change))
    }
}
