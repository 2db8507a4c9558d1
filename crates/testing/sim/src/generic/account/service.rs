//! A service whose transfers go over the simulated bus: what outlives its processes, and one process after
//! another over it.

use super::cases::AccountCase;
use crate::bus::{FaultyBus, SimBus};
use crate::event_log::EventLog;
use crate::service::{process, quiet_settings, refused};
use crate::suite::journal::Site;
use crate::world::{Sim, Stop};
use engine::messaging::BusParts;
use engine::{Engine, Parts, Settings};
use flows::account::AccountChecks;
use kernel::answer::{Answer, Cause};
use kernel::flow::table::Flows;
use kernel::ports::Fut;
use kernel::ports::bus::Bus;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::inbox::Inbox;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::Ledger;
use kernel::ports::outbox::Outbox;
use kernel::record::Record;
use kernel::retry::Backoff;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::OpenedStore;

/// What stands around a port of that kind, on the engine's side.
pub type Around<P> = Arc<dyn Fn(Arc<P>) -> Arc<P> + Send + Sync>;

/// What stands around the ports of each process: where a wrong build stands.
#[derive(Clone)]
pub struct AccountWraps {
    /// Around the bus, and with it its members.
    pub bus: Around<dyn Bus>,
    /// Around the outbox that the publisher reads.
    pub outbox: Around<dyn Outbox>,
    /// Around the inbox that consumers park in.
    pub inbox: Around<dyn Inbox>,
    /// Around the journal that the engine writes.
    pub journal: Around<dyn Journal>,
    /// Around the ledger of accounts.
    pub accounts: Around<dyn Ledger>,
}

impl Default for AccountWraps {
    /// Nothing stands around them.
    fn default() -> Self {
        Self {
            bus: Arc::new(|port| port),
            outbox: Arc::new(|port| port),
            inbox: Arc::new(|port| port),
            journal: Arc::new(|port| port),
            accounts: Arc::new(|port| port),
        }
    }
}

impl fmt::Debug for AccountWraps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountWraps").finish_non_exhaustive()
    }
}

/// What outlives each process of a service that offers `account`.
pub struct AccountService {
    /// Time, and the tasks of every process.
    pub sim: Sim,
    /// The tables of every flow that is known.
    pub flows: Arc<Flows>,
    /// The settings of the next process.
    pub settings: Settings,
    /// The broker, which knows nothing of processes.
    pub bus: SimBus,
    /// The link that each process reaches it through.
    pub link: Arc<FaultyBus>,
    /// Around the ports of each process.
    pub wraps: AccountWraps,
    /// Checks of transfers of this amount get no answer while [`AccountService::silent`] is set.
    pub silent_amount: Option<u128>,
    /// Whether they are silent now.
    pub silent: Arc<AtomicBool>,
    site: Site,
    lives: u64,
}

impl fmt::Debug for AccountService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountService").field("sim", &self.sim).finish_non_exhaustive()
    }
}

/// One process over the service, until it dies.
#[derive(Clone)]
pub struct AccountProcess {
    /// The engine, which offers `account` alone.
    pub engine: Arc<Engine>,
    /// Its journal with its ledgers, past what stands around them.
    pub opened: OpenedStore,
}

impl fmt::Debug for AccountProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountProcess").finish_non_exhaustive()
    }
}

/// Checks some of which say nothing for a while.
struct SilentChecks {
    inner: AccountChecks,
    amount: Option<u128>,
    silent: Arc<AtomicBool>,
}

impl FactSource for SilentChecks {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        self.inner.facts(rule, records)
    }

    fn ask<'a>(&'a self, question: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(async move {
            let mut answers = self.inner.ask(question, records).await;
            let silent = self.silent.load(Ordering::SeqCst);
            for (record, answer) in records.iter().zip(&mut answers) {
                if silent && self.amount == Some(record.terms.source.amount.0) {
                    *answer = Answer::Unknown(Cause::of("TIMEOUT"));
                }
            }
            answers
        })
    }
}

impl AccountService {
    /// A service without a process. Where units are fused a message that is consumed does everything, so
    /// nothing is sent again by the scanner: what is lost stays lost, and is found.
    pub fn new(sim: Sim, flows: Arc<Flows>, site: Site, case: &AccountCase, log: EventLog) -> Self {
        let settings = quiet_settings(2_000);
        let bus = SimBus::new(Arc::new(sim.clone()));
        let link = Arc::new(FaultyBus::new(bus.clone(), sim.crash(), log));
        let first = case.transfers.first().map(|transfer| transfer.amount);
        Self {
            sim,
            flows,
            settings,
            bus,
            link,
            wraps: AccountWraps::default(),
            silent_amount: first.filter(|_| case.parks),
            silent: Arc::new(AtomicBool::new(true)),
            site,
            lives: 0,
        }
    }

    /// Whether units are fused, and with it how soon the scanner sends again: a claim that is a unit of its
    /// own has consumed its message, and its call is driven by another one.
    pub fn fuse(&mut self, fuse: bool) {
        // the longest that a store waits for
        const NEVER: u64 = 3_600_000;
        self.settings.fuse = fuse;
        self.settings.resend = if fuse {
            Backoff { base: NEVER, cap: NEVER }
        } else {
            Backoff { base: 4_000, cap: 16_000 }
        };
    }

    /// Ends what is left of the last process and begins the next.
    ///
    /// # Errors
    /// Why the process died, or what its start was refused with.
    pub fn start(&mut self) -> Result<AccountProcess, Stop> {
        self.sim.revive();
        self.lives += 1;
        let opening = (self.site)();
        let opened = self.sim.block_on(opening)?;
        let parts = self.parts(&self.sim, &opened, self.link.clone(), self.lives);
        let engine = self.sim.block_on(Engine::start(parts))?.map_err(refused)?;
        Ok(AccountProcess { engine, opened })
    }

    /// What a process is made of.
    pub fn parts(&self, sim: &Sim, opened: &OpenedStore, bus: Arc<dyn Bus>, worker: u64) -> Parts {
        let journal = (self.wraps.journal)(opened.journal.clone());
        let facts: Arc<dyn FactSource> = Arc::new(SilentChecks {
            inner: AccountChecks::new(journal.clone()),
            amount: self.silent_amount,
            silent: self.silent.clone(),
        });
        let bus = BusParts {
            bus: (self.wraps.bus)(bus),
            outbox: (self.wraps.outbox)(opened.outbox.clone()),
            inbox: (self.wraps.inbox)(opened.inbox.clone()),
        };
        Parts {
            offered: self.flows.ids(&["account"]),
            facts: BTreeMap::from([("account", facts)]),
            bus: Some(bus),
            journal,
            ledgers: vec![opened.funding.clone(), (self.wraps.accounts)(opened.accounts.clone())],
            ..process(sim, worker).parts(opened, &self.flows, self.settings.clone())
        }
    }
}

impl Drop for AccountService {
    fn drop(&mut self) {
        // the tasks hold the clock that holds them
        self.sim.revive();
    }
}
