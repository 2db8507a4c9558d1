//! The oracles of a run check every durable write, every effect and every answer at the moment it happens.
//!
//! Each looks only at what changed, so that a run may be watched at every step. The first thing
//! that is wrong ends the run and is its result.

mod answers;
mod effects;
mod halts;
mod journal;

pub use answers::ClientView;

use crate::world::Sim;
use kernel::audit::Hash;
use kernel::flow::life::Leg;
use kernel::flow::table::{Flows, S, Table};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::{Key, Op, Operation};
use kernel::ports::ledger::Totals;
use kernel::record::{Party, System, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of one transfer.
#[derive(Debug, Clone)]
struct Life {
    terms: Arc<Terms>,
    state: S,
    version: u32,
    /// Number of unknown answers that are written down.
    retries: u32,
    /// Of its history: the number of entries, and the hash of the last.
    entries: usize,
    hash: Hash,
    /// Every state that it durably stood in.
    stood: BTreeSet<S>,
    /// The effects that exist.
    effects: BTreeSet<Leg>,
    ended: bool,
}

impl Life {
    fn has(&self, leg: Leg) -> bool {
        self.effects.contains(&leg)
    }
}

/// What one ledger stored.
#[derive(Debug, Default)]
struct LedgerView {
    /// The number of the last operation that was looked at.
    cursor: u64,
    stored: BTreeMap<Key, Operation>,
    /// What the operations add up to, but for the users' own.
    sums: BTreeMap<AssetId, Totals>,
}

/// Whether no money may move, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halts {
    /// Nothing is wrong: money must move.
    Never,
    /// A person may have halted.
    ByHand,
    /// The Spot folder is not what the journal knows.
    WrongLedger,
}

struct Inner {
    flows: Arc<Flows>,
    lives: BTreeMap<Id, Life>,
    ledgers: BTreeMap<LedgerId, LedgerView>,
    answered: BTreeMap<(LedgerId, Key), answers::Final>,
    keys: BTreeMap<Arc<str>, answers::KnownKey>,
    /// The transfers that may be fenced: by an approved verdict, or as a fault of the network.
    fences: BTreeSet<Id>,
    /// What the engine was told that is done, and has not written down yet.
    done: BTreeMap<Id, Leg>,
    /// Several workers share the journal: what one was told another may not know.
    several: bool,
    halts: Halts,
    /// What was written of HALT.
    halted: halts::Halted,
    /// A process may read sums wrong, and halt for it.
    misread: bool,
    /// Spot is not what the journal knows, and its highest operation stays this.
    barred: Option<u64>,
    cases: usize,
    opened: u64,
    open: u64,
    broken: Option<String>,
}

/// The oracles. A handle: clones are the same one.
#[derive(Clone)]
pub struct Oracles {
    inner: Arc<Mutex<Inner>>,
    sim: Sim,
}

impl fmt::Debug for Oracles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oracles").field("broken", &self.broken()).finish_non_exhaustive()
    }
}

/// The complaint of an oracle, where it has one.
type Wrong = Result<(), String>;

/// A complaint unless it holds.
fn must(holds: bool, what: impl FnOnce() -> String) -> Wrong {
    if holds { Ok(()) } else { Err(what()) }
}

impl Oracles {
    /// Oracles that have seen nothing yet.
    pub fn new(sim: Sim, flows: Arc<Flows>) -> Self {
        let inner = Inner {
            flows,
            lives: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            answered: BTreeMap::new(),
            keys: BTreeMap::new(),
            fences: BTreeSet::new(),
            done: BTreeMap::new(),
            several: false,
            halts: Halts::Never,
            halted: halts::Halted::default(),
            misread: false,
            barred: None,
            cases: 0,
            opened: 0,
            open: 0,
            broken: None,
        };
        Self { inner: Arc::new(Mutex::new(inner)), sim }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Several workers share the journal from now on.
    pub fn several(&self) {
        self.inner().several = true;
    }

    /// Looks at something; what is wrong about it ends the run.
    fn look(&self, look: impl FnOnce(&mut Inner) -> Wrong) {
        let mut inner = self.inner();
        if inner.broken.is_some() {
            return;
        }
        if let Err(what) = look(&mut inner) {
            inner.broken = Some(what.clone());
            drop(inner);
            self.sim.kill(&format!("broken: {what}"));
        }
    }

    /// Something that an oracle elsewhere found.
    pub fn fail(&self, what: String) {
        self.look(|_| Err(what));
    }

    /// The first thing that was wrong.
    pub fn broken(&self) -> Option<String> {
        self.inner().broken.clone()
    }

    /// From now on a HALT is allowed only for this.
    pub fn halts(&self, halts: Halts) {
        self.inner().halts = halts;
    }

    /// From now on a process may halt for sums that it reads wrong.
    pub fn misreads(&self) {
        self.inner().misread = true;
    }

    /// From now on a tombstone may stand for this transfer.
    pub fn may_fence(&self, id: Id) {
        self.inner().fences.insert(id);
    }

    /// Spot is not what the journal knows: its highest operation is this, and stays so.
    pub fn bar(&self, highest: Option<u64>) {
        self.inner().barred = highest;
    }

    /// True while Spot is not what the journal knows.
    pub fn barred(&self) -> bool {
        self.inner().barred.is_some()
    }

    /// How many transfers were opened, and how many of them have not ended.
    pub fn transfers(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.opened, inner.open)
    }

    /// The open transfers, each with the name of its state.
    pub fn open(&self) -> Vec<(Id, &'static str)> {
        let inner = self.inner();
        let table = inner.table();
        let open = inner.lives.iter().filter(|(_, life)| !life.ended);
        open.map(|(id, life)| (*id, table.map_or("", |t| t.state(life.state).name))).collect()
    }

    /// The name of the state that a transfer durably stands in.
    pub fn state(&self, id: Id) -> &'static str {
        let inner = self.inner();
        let state = inner.lives.get(&id).map(|life| life.state);
        state.zip(inner.table()).map_or("-", |(state, table)| table.state(state).name)
    }

    /// Transfers by the name of the state that they stand in.
    pub fn ends(&self) -> BTreeMap<&'static str, u64> {
        let (inner, mut ends) = (self.inner(), BTreeMap::new());
        for life in inner.lives.values() {
            let name = inner.table().map_or("", |table| table.state(life.state).name);
            *ends.entry(name).or_insert(0) += 1;
        }
        ends
    }

    /// Why a transfer may stay open for ever: its source cannot give back, and its target refused.
    pub fn for_ever(&self, id: Id, irreversible: LedgerId) -> bool {
        let inner = self.inner();
        let Some(life) = inner.lives.get(&id) else { return false };
        let (source, target) = (at(&life.terms.source), at(&life.terms.target));
        let refused = target.is_some_and(|target| inner.refused(target, id, Leg::Deposit));
        source == Some(irreversible) && refused
    }
}

impl Inner {
    /// The one table that the campaign plays.
    fn table(&self) -> Option<&Table> {
        self.flows.0.first()
    }

    /// Whether a ledger stored that a leg will never be.
    fn refused(&self, ledger: LedgerId, id: Id, leg: Leg) -> bool {
        let stored = self.ledgers.get(&ledger).and_then(|l| l.stored.get(&Key { id, leg }));
        stored.is_some_and(|operation| operation.outcome != kernel::operation::StoredOutcome::Done)
    }
}

/// The ledger of an end.
const fn at(party: &Party) -> Option<LedgerId> {
    match party.system {
        System::Ledger(ledger) => Some(ledger),
        System::Chain(_) => None,
    }
}

/// The operation that a leg of these terms is.
fn op_of(terms: &Terms, key: Key) -> Op {
    let party = if key.leg == Leg::Deposit { &terms.target } else { &terms.source };
    Op {
        key,
        account: party.account.clone(),
        other: None,
        asset: party.asset,
        amount: party.amount,
    }
}

/// The ledger that a leg of these terms is for.
const fn ledger_of(terms: &Terms, leg: Leg) -> Option<LedgerId> {
    match leg {
        Leg::Deposit => at(&terms.target),
        Leg::Withdraw | Leg::Refund | Leg::Settle => at(&terms.source),
        Leg::Move | Leg::Quarantine | Leg::Cost => None,
    }
}
