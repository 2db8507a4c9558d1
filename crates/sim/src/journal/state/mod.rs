//! Everything that was written, and how a unit is added to it: decided first, then written whole.

mod put;
mod unit;

use crate::books::Books;
use crate::suite::ledger::Profile;
use kernel::attempt::{Attempt, AttemptId};
use kernel::audit::Hash;
use kernel::ids::{FlowId, Id, LedgerId, Millis, Serial};
use kernel::money::Asset;
use kernel::ports::journal::{Count, Linked, Standing};
use kernel::ports::ledger::{Incarnation, Known};
use kernel::record::Record;
use kernel::table::Flows;
use kernel::unit::{Case, Key, Operation, Outgoing};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type BindingKey = (FlowId, Arc<str>, Arc<str>);

#[derive(Debug, Clone)]
pub(super) struct State {
    pub flows: Arc<Flows>,
    pub last: Millis,
    pub books: Books,
    pub transfers: BTreeMap<Id, Record>,
    pub by_serial: BTreeMap<Serial, Id>,
    pub bindings: BTreeMap<BindingKey, Id>,
    pub history: BTreeMap<Id, Vec<Linked>>,
    pub open: BTreeSet<Id>,
    pub due: BTreeMap<Id, Millis>,
    pub receipts: BTreeMap<(LedgerId, Key), Operation>,
    pub cases: Vec<Case>,
    ledgers: BTreeMap<LedgerId, (Known, BTreeSet<Incarnation>)>,
    horizon: Option<Id>,
    halted: Option<Arc<str>>,
    paused: BTreeMap<FlowId, Arc<str>>,
    counters: BTreeMap<Arc<str>, u128>,
    resources: BTreeMap<Arc<str>, (u32, Arc<str>)>,
    attempts: BTreeMap<AttemptId, Attempt>,
    inbox: BTreeSet<(&'static str, u128)>,
    outbox: Vec<Outgoing>,
    /// One row per group write: how many entries, and their digest.
    audit: Vec<(u32, Hash)>,
}

impl State {
    pub(super) fn new(flows: Arc<Flows>) -> Self {
        Self {
            flows,
            last: 0,
            books: Books::new(Profile::FUNDING),
            transfers: BTreeMap::new(),
            by_serial: BTreeMap::new(),
            bindings: BTreeMap::new(),
            history: BTreeMap::new(),
            open: BTreeSet::new(),
            due: BTreeMap::new(),
            receipts: BTreeMap::new(),
            cases: Vec::new(),
            ledgers: BTreeMap::new(),
            horizon: None,
            halted: None,
            paused: BTreeMap::new(),
            counters: BTreeMap::new(),
            resources: BTreeMap::new(),
            attempts: BTreeMap::new(),
            inbox: BTreeSet::new(),
            outbox: Vec::new(),
            audit: Vec::new(),
        }
    }

    pub(super) fn opens(&self) -> impl Iterator<Item = &Record> {
        self.open.iter().filter_map(|id| self.transfers.get(id))
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        let mut counts: BTreeMap<_, Count> = BTreeMap::new();
        for record in self.opens() {
            let (flow, state, oldest) = (record.flow, record.head.state, record.created_at);
            let fresh = Count { flow, state, transfers: 0, oldest };
            let count = counts.entry((flow, state)).or_insert(fresh);
            count.transfers += 1;
            count.oldest = if oldest < count.oldest { oldest } else { count.oldest };
        }
        counts.into_values().collect()
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            halted: self.halted.clone(),
            paused: self.paused.iter().map(|(flow, why)| (*flow, why.clone())).collect(),
            assets: Asset::fresh(),
            ledgers: self.ledgers.iter().map(|(ledger, (known, _))| (*ledger, *known)).collect(),
            horizon: self.horizon,
        }
    }
}
