//! The campaign plays the real engine, flow and Spot core on one thread, with many clients, operators who
//! interfere, and every kind of fault, all drawn from one seed.
//!
//! ```text
//! clients ─► engine ─► trace ─► (wrong build) ─► network, faulty writes ─► oracles ─► ledgers, journal
//! ```
//!
//! A run has a phase in which everything goes wrong, and one in which nothing does and all must
//! end. The [`Oracles`] looks at every durable write, every effect and every answer. The same
//! [`Options`] are the same run, to the last call.

mod clients;
mod connection;
mod drawn;
mod env;
mod fault_plan;
mod fault_rates;
mod folder;
mod mutations;
mod network;
mod observed_ledger;
mod operator;
mod operators;
mod options;
mod oracles;
mod phases;
mod ports;
mod program;
mod remote_process;
mod search;
mod shrink;
mod stats;
mod trace;
mod workers;

pub use mutations::MutatedBuild;
pub use options::{Knob, Options};
pub use oracles::{ClientView, Halts, Oracles};
pub use phases::{run, within};
pub use program::{Make, Program, Say, main};
pub use search::first;
pub use shrink::shrunk;
pub use stats::{Counts, Stats};
pub use trace::{Reader, Trace};

use crate::disk::SimDisk;
use crate::journal::SimFunding;
use crate::world::Sim;
use engine::{Accepted, Engine, Refused, Settings};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::FlowId;
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{External, Ledger, Moved};
use kernel::record::Terms;
use std::sync::Arc;

/// What a core that was opened is, or why it was not. Where it begins with `crashed` the process
/// died of its disk, and the next one tries again.
pub type Core = Result<Arc<dyn Ledger>, String>;

/// What is tried: the Spot core that the simulation may not know by name, and, for a wrong build,
/// what is around the real parts. One is made for each run.
pub trait Build: Send + Sync {
    /// Opens the Spot core; it is told the highest operation that the journal has a receipt of.
    fn core(&self, sim: &Sim, disk: SimDisk, acknowledged: u64) -> Fut<'static, Core>;

    /// The journal as the engine reaches it.
    fn journal(&self, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        inner
    }

    /// A ledger as the engine reaches it, on this side of the network.
    fn near(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        inner
    }

    /// A ledger itself, on the far side of the network and of the oracles.
    fn far(&self, inner: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        inner
    }

    /// The disk of the Spot core.
    fn disk(&self, disk: SimDisk) -> SimDisk {
        disk
    }

    fn settings(&self, settings: Settings) -> Settings {
        settings
    }

    /// What an operator's external movement comes to, as the server answers it; a wrong build may book
    /// it beside the engine.
    fn movement(
        &self,
        engine: Arc<Engine>,
        _beside: Arc<SimFunding>,
        movement: External,
    ) -> Fut<'static, Result<Moved, Cause>> {
        Box::pin(async move { engine.operators.book(movement).await })
    }

    /// What a client's request comes to, as the server answers it.
    fn create(
        &self,
        engine: Arc<Engine>,
        flow: FlowId,
        terms: Terms,
    ) -> Fut<'static, Result<Accepted, Refused>> {
        Box::pin(async move {
            match engine.intake.create(flow, terms.clone()).await {
                Err(Refused::Code(code)) => replayed(&engine, flow, &terms, code).await,
                came => came,
            }
        })
    }
}

/// What is refused now may have been taken in before: then its key says so.
async fn replayed(
    engine: &Arc<Engine>,
    flow: FlowId,
    terms: &Terms,
    code: Code,
) -> Result<Accepted, Refused> {
    let Some(binding) = &terms.binding else { return Err(Refused::Code(code)) };
    let found = engine.intake.replay(flow, binding.scope.clone(), binding.key.clone()).await;
    match found.map_err(Refused::Unknown)? {
        Some(Accepted { record, .. }) if record.terms.fingerprint() != terms.fingerprint() => {
            Err(Refused::Mismatch(Box::new(record)))
        }
        Some(accepted) => Ok(accepted),
        None => Err(Refused::Code(code)),
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Of every port call with its answer, in order.
    pub hash: u64,
    pub counts: Counts,
    /// The first thing that was wrong.
    pub broken: Option<String>,
    /// It was cut off before its end.
    pub cut: bool,
}
