//! The state of the simulated journal, and the way a unit changes it: decided first, then written whole.

mod attempts;
mod log;
mod message;
mod operators;
mod put;
mod state_reader;
mod unit;
mod world;

use super::inbox::ParkedTable;
use super::leases::Leases;
use super::outbox::OutboxTables;
use crate::books::Books;
use crate::numbered_books::NumberedBooks;
use attempts::Attempts;
use kernel::audit::Hash;
use kernel::flow::life::Leg;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, Day, FlowId, Id, LedgerId, Millis, Serial, UserId, WorkerId};
use kernel::limits::DailyUsage;
use kernel::operation::{Identity, Incarnation, Key, Known, Operation};
use kernel::operators::{Halt, Subject};
use kernel::ports::journal::{Count, Due, DueQuery, Linked, OtherLease, Owner, ServiceStatus};
use kernel::record::Record;
use ledger_contract::Profile;
use log::OperatorLog;
use operators::Operators;
pub(super) use put::bound;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// The highest key there is.
const LAST: Key = Key { id: Id(u128::MAX), leg: Leg::Cost };

type BindingKey = (FlowId, Arc<str>, Arc<str>);

#[derive(Debug, Clone)]
pub(super) struct State {
    pub flows: Arc<Flows>,
    pub last: Millis,
    pub books: Books,
    pub accounts: NumberedBooks,
    pub transfers: BTreeMap<Id, Record>,
    pub by_serial: BTreeMap<Serial, Id>,
    pub bindings: BTreeMap<BindingKey, Id>,
    pub history: BTreeMap<Id, Vec<Linked>>,
    pub open: BTreeSet<Id>,
    pub due: BTreeMap<Id, Millis>,
    pub receipts: BTreeMap<(LedgerId, Key), Operation>,
    pub(super) operators: Operators,
    /// What operators wrote, in order.
    pub log: OperatorLog,
    ledgers: BTreeMap<LedgerId, (Known, BTreeSet<Incarnation>)>,
    horizon: Option<Id>,
    pub halted: Option<Arc<str>>,
    /// Every HALT that was raised; the last one's number is how many there were.
    halts: Vec<Halt>,
    owners: BTreeMap<LedgerId, Owner>,
    /// How often a process opened it for itself.
    pub lives: u64,
    /// Which worker holds which transfer.
    pub leases: Leases,
    counters: BTreeMap<Arc<str>, u128>,
    pub resources: BTreeMap<Arc<str>, (u32, Arc<str>)>,
    pub attempts: Attempts,
    /// The messages that groups consumed.
    pub inbox: BTreeSet<(&'static str, u128)>,
    /// Messages that wait under their keys.
    pub parked: ParkedTable,
    /// What is to be published, and what was.
    pub outbox: OutboxTables,
    /// One row per group write: how many entries, and their digest.
    audit: Vec<(u32, Hash)>,
    /// Entries in the rows of the audit, and in the histories.
    pub audited: (u64, u64),
    /// The transfers that this write changed.
    pub touched: Vec<Id>,
}

impl State {
    pub(super) fn new(flows: Arc<Flows>) -> Self {
        Self {
            flows,
            last: 0,
            books: Books::new(Profile::FUNDING),
            accounts: NumberedBooks::default(),
            transfers: BTreeMap::new(),
            by_serial: BTreeMap::new(),
            bindings: BTreeMap::new(),
            history: BTreeMap::new(),
            open: BTreeSet::new(),
            due: BTreeMap::new(),
            receipts: BTreeMap::new(),
            operators: Operators::new(),
            log: OperatorLog::default(),
            ledgers: BTreeMap::new(),
            horizon: None,
            halted: None,
            halts: Vec::new(),
            owners: BTreeMap::new(),
            lives: 0,
            leases: Leases::default(),
            counters: BTreeMap::new(),
            resources: BTreeMap::new(),
            attempts: Attempts::default(),
            inbox: BTreeSet::new(),
            parked: ParkedTable::default(),
            outbox: OutboxTables::default(),
            audit: Vec::new(),
            audited: (0, 0),
            touched: Vec::new(),
        }
    }

    /// A transfer's history so far.
    pub(super) fn entries(&self, id: Id) -> &[Linked] {
        self.history.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether a group had the message of this number.
    pub(super) fn had(&self, group: &'static str, number: u128) -> bool {
        self.inbox.contains(&(group, number))
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

    pub(super) fn status(&self, now: Millis) -> ServiceStatus {
        ServiceStatus {
            identity: Identity(1),
            halted: self.halted.clone(),
            paused: self.operators.paused.clone(),
            accepted: self.operators.accepted.clone(),
            assets: self.operators.assets.values().cloned().collect(),
            assets_version: self.assets_version(),
            ledgers: self.ledgers.iter().map(|(ledger, (known, _))| (*ledger, *known)).collect(),
            horizon: self.horizon,
            halts: self.halts(),
            proven: self.resources.get("proven").map(|(_, value)| value.clone()),
            owners: self.owners.values().map(|owner| self.seen(*owner, now)).collect(),
            workers: self.leases.leased(now),
        }
    }

    /// The number of the last halt.
    pub(super) fn halts(&self) -> u64 {
        self.halts.last().map_or(0, |halt| halt.number)
    }

    fn seen(&self, owner: Owner, now: Millis) -> Owner {
        Owner { lives: self.leases.lives(owner.worker, now), ..owner }
    }

    /// What a worker may take.
    pub(super) fn due(&mut self, worker: WorkerId, now: Millis, query: &DueQuery) -> Vec<Due> {
        let mut leases = std::mem::take(&mut self.leases);
        let due = leases.due(self, worker, now, query);
        self.leases = leases;
        due
    }

    /// The leases of the other workers.
    pub(super) fn other_leases(&self, worker: WorkerId) -> Vec<OtherLease> {
        self.leases.others(worker)
    }

    /// The kinds of the cases that were opened, in order.
    pub(super) fn cases(&self) -> Vec<&'static str> {
        self.operators.cases.iter().map(|kept| kept.case.kind).collect()
    }

    /// The same with what each is about.
    pub(super) fn episodes(&self) -> Vec<(&'static str, Subject)> {
        self.operators.cases.iter().map(|kept| (kept.case.kind, kept.case.subject)).collect()
    }

    /// The kinds and the facts of the cases above a number.
    pub(super) fn cases_above(
        &self,
        above: usize,
    ) -> impl Iterator<Item = (&'static str, &Arc<str>)> {
        self.operators.cases.iter().skip(above).map(|kept| (kept.case.kind, &kept.case.facts))
    }

    pub(super) fn daily_usage(&self, user: UserId, day: Day, asset: AssetId) -> DailyUsage {
        self.operators.daily_usage(user, day, asset)
    }

    /// The ledgers outside that there is a receipt of, without a look at every receipt.
    pub(super) fn receipt_ledgers(&self) -> Vec<LedgerId> {
        let (mut found, mut next) = (Vec::new(), self.receipts.keys().next());
        while let Some((ledger, _)) = next {
            found.push(*ledger);
            let above = (Bound::Excluded((*ledger, LAST)), Bound::Unbounded);
            next = self.receipts.range(above).next().map(|(key, _)| key);
        }
        found
    }

    /// What every ledger stored for a transfer.
    pub(super) fn legs(&self, id: Id) -> Vec<(LedgerId, Operation)> {
        let funding = self.books.of(id).map(|o| (LedgerId::FUNDING, o.clone()));
        let numbered = self.accounts.of(id).map(|o| (LedgerId::ACCOUNT, o.clone()));
        let ledgers = self.receipt_ledgers();
        let others = ledgers.iter().flat_map(|ledger| {
            let at = |leg| (*ledger, Key { id, leg });
            let own = self.receipts.range(at(Leg::Withdraw)..=at(Leg::Cost));
            own.map(|((ledger, _), o)| (*ledger, o.clone()))
        });
        funding.chain(numbered).chain(others).collect()
    }
}
