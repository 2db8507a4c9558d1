//! The ports and settings that the engine is built of.

use crate::state::settings::Settings;
use kernel::answer::Cause;
use kernel::audit::seal::SealKey;
use kernel::flow::check;
use kernel::flow::table::{Flows, Table};
use kernel::ids::{FlowId, LedgerId, WorkerId};
use kernel::ports::bus::Bus;
use kernel::ports::chain::Chain;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::deposits::DepositSource;
use kernel::ports::facts::FactSource;
use kernel::ports::inbox::Inbox;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::{Ledger, World};
use kernel::ports::meter::Meter;
use kernel::ports::outbox::Outbox;
use kernel::ports::spawn::Spawn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parts that the engine is built of. The server gives the real ones, the simulation its own.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Parts {
    pub flows: Arc<Flows>,
    /// The flows that this process takes in and carries: it has an adapter for their systems.
    pub offered: Vec<FlowId>,
    /// The port through which each flow learns from outside, by the flow's name. A flow that neither
    /// gathers facts nor asks questions needs none.
    pub facts: BTreeMap<&'static str, Arc<dyn FactSource>>,
    /// The bus and the outbox, where a flow that events drive is offered.
    pub bus: Option<BusParts>,
    /// The store of transfers.
    pub journal: Arc<dyn Journal>,
    /// Every ledger that may be an end of a transfer.
    pub ledgers: Vec<Arc<dyn Ledger>>,
    /// Every chain on which attempts are made.
    pub chains: Vec<Arc<dyn Chain>>,
    /// The vaults whose deposits this process watches.
    pub deposits: Vec<Arc<dyn DepositSource>>,
    /// The port that books deposits and withdrawals of external money.
    pub world: Arc<dyn World>,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    pub spawn: Arc<dyn Spawn>,
    pub meter: Arc<dyn Meter>,
    pub settings: Settings,
    /// The id of this run of this process, drawn at its start and never again. A shared store was opened
    /// with the same one.
    pub worker: WorkerId,
    /// The ledgers whose cores run inside this process, where other processes could open theirs over the
    /// same journal: the start takes them over, or fails.
    pub cores: Vec<LedgerId>,
    /// The key of the audit's seals: a stored proof of conservation is believed by it.
    pub seal_key: SealKey,
    /// Ends the process after another one took over a core that runs in it.
    pub retire: Arc<dyn Fn(String) + Send + Sync>,
}

/// The bus and the journal's outbox and inbox, for a worker that publishes and consumes.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct BusParts {
    pub bus: Arc<dyn Bus>,
    pub outbox: Arc<dyn Outbox>,
    pub inbox: Arc<dyn Inbox>,
}

impl Parts {
    /// Checks that each offered flow has the ports that it needs.
    ///
    /// # Errors
    /// `NO_FACT_SOURCE`, `NO_BUS` or `NO_CHAIN`, with the flow's name.
    pub(crate) fn check_flows(&self) -> Result<(), Cause> {
        for table in self.tables() {
            if let Some(fault) = check::faults(table).into_iter().next() {
                return Err(Cause::because("BAD_TABLE", format!("{}: {fault}", table.flow)));
            }
            let lacks = if table.learns() && !self.facts.contains_key(table.flow) {
                "NO_FACT_SOURCE"
            } else if table.follows_events() && self.bus.is_none() {
                "NO_BUS"
            } else if sends(table) && self.chains.is_empty() {
                "NO_CHAIN"
            } else {
                continue;
            };
            return Err(Cause::because(lacks, table.flow));
        }
        Ok(())
    }

    /// True where a flow that is carried here sends on a chain.
    pub(crate) fn sends(&self) -> bool {
        self.tables().any(sends)
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.offered.iter().map(|flow| self.flows.table(*flow))
    }
}

/// True for a flow that sends on a chain.
fn sends(table: &Table) -> bool {
    table.all().any(|state| table.sends(state))
}
