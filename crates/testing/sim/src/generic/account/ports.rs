//! The ports of a service that offers `account`: the simulated bus, and checks that may give no answer for a while.

use super::cases::AccountCase;
use crate::bus::{FaultyBus, SimBus};
use crate::event_log::EventLog;
use crate::service::{ProcessBase, quiet_settings};
use crate::world::Sim;
use engine::BusParts;
use engine::{Parts, Settings};
use flows::account::AccountChecks;
use kernel::answer::{Answer, Cause};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::Record;
use kernel::retry::Backoff;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of the process whose clock is the broker's.
pub(super) const BROKER: u64 = u64::MAX;

/// The broker behind a link, and the checks.
#[derive(Clone)]
pub(super) struct AccountPorts {
    /// The broker, which knows nothing of processes.
    pub(super) bus: SimBus,
    /// The link that each process reaches it through.
    pub(super) link: FaultyBus,
    /// Checks of transfers of this amount get no answer while [`AccountPorts::silent`] is set.
    silent_amount: Option<u128>,
    /// Whether they are silent now.
    pub(super) silent: Arc<AtomicBool>,
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

/// The settings of a service that offers `account`. Where units are fused a message that is consumed does
/// everything, so nothing is sent again by the scanner: what is lost stays lost, and is found. A claim that is a
/// unit of its own has consumed its message, and its call is driven by another one.
pub(super) fn settings(fuse: bool) -> Settings {
    // the longest that a store waits for
    const NEVER: u64 = 3_600_000;
    let resend = if fuse {
        Backoff { base: NEVER, cap: NEVER }
    } else {
        Backoff { base: 4_000, cap: 16_000 }
    };
    Settings { fuse, resend, ..quiet_settings(Backoff { base: 100, cap: 2_000 }) }
}

impl AccountPorts {
    /// A broker of its own, and a link on which nothing goes wrong yet.
    pub(super) fn new(sim: &Sim, case: &AccountCase, log: EventLog) -> Self {
        let bus = SimBus::new(Arc::new(sim.process(BROKER)));
        let link = FaultyBus::new(bus.clone(), sim.crash(), log);
        let first = case.transfers.first().map(|transfer| transfer.amount);
        let silent_amount = first.filter(|_| case.parks);
        Self { bus, link, silent_amount, silent: Arc::new(AtomicBool::new(true)) }
    }

    /// The same broker through a link of a worker's own.
    pub(super) fn of_worker(&self, sim: &Sim, log: EventLog) -> Self {
        Self { link: FaultyBus::new(self.bus.clone(), sim.crash(), log), ..self.clone() }
    }

    /// What a process is made of.
    pub(super) fn parts(&self, ProcessBase { store, parts, .. }: ProcessBase<'_>) -> Parts {
        let facts: Arc<dyn FactSource> = Arc::new(SilentChecks {
            inner: AccountChecks::new(parts.journal.clone()),
            amount: self.silent_amount,
            silent: self.silent.clone(),
        });
        let bus = BusParts {
            bus: Arc::new(self.link.clone()),
            outbox: store.outbox.clone(),
            inbox: store.inbox.clone(),
        };
        Parts { facts: BTreeMap::from([("account", facts)]), bus: Some(bus), ..parts }
    }
}
