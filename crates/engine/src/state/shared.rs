//! What all components of the engine share: the ports, the plan, the controls, and a few questions that
//! several of them ask.

use crate::commit::writer::{JournalWriter, JournalWriterParts};
use crate::controls::admission::Controls;
use crate::controls::lease::Lease;
use crate::controls::outstanding_calls::OutstandingCalls;
use crate::plan::planner::{FuseMode, Plan};
use crate::state::assets::Assets;
use crate::state::parts::Parts;
use crate::state::transfer_ids::TransferIds;
use crate::state::waiters::{Waiter, Waiters};
use kernel::answer::Answer;
use kernel::ids::{FlowId, Id, LedgerId, Millis};
use kernel::money::Asset;
use kernel::operation::Identity;
use kernel::ports::ledger::Ledger;
use kernel::ports::meter::Seen;
use kernel::ports::sending::SendPermission;
use kernel::record::{Record, System, Terms};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The controls of an engine, for as long as it is there: its ports hold this, and it holds its ports.
struct EnginePermission(Weak<SharedState>);

impl SendPermission for EnginePermission {
    fn may_send(&self, system: System, transfers: &[Id]) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.may_send(system, transfers))
    }

    fn last_halt(&self) -> u64 {
        self.0.upgrade().map_or(0, |shared| shared.controls.last_halt())
    }
}

/// The state that every component holds. It holds none of them.
pub(crate) struct SharedState {
    pub parts: Parts,
    /// The identity of the journal.
    pub journal_identity: Identity,
    pub plan: Arc<Plan>,
    pub controls: Arc<Controls>,
    /// Writes every unit of this process.
    pub writer: Arc<JournalWriter>,
    pub lease: Lease,
    /// The calls and writes that have begun here and have not ended.
    pub calls: Arc<OutstandingCalls>,
    /// The callers that wait for the end of a transfer.
    pub waiters: Waiters,
    pub assets: Assets,
    /// Makes the ids of transfers that a chain pays; `None` where no flow of this process sends.
    ids: Option<TransferIds>,
    /// The last id that was minted.
    last: Mutex<Id>,
}

impl SharedState {
    pub(crate) fn new(
        parts: Parts,
        journal_identity: Identity,
        plan: Plan,
        lease: Lease,
        ids: Option<TransferIds>,
    ) -> Self {
        let (plan, calls) = (Arc::new(plan), Arc::<OutstandingCalls>::default());
        let controls = Arc::new(Controls::new(parts.clock.clone()));
        let writer = JournalWriter::new(JournalWriterParts {
            journal: parts.journal.clone(),
            clock: parts.clock.clone(),
            plan: plan.clone(),
            controls: controls.clone(),
            calls: calls.clone(),
            retire: parts.retire.clone(),
            wait: parts.settings.backoff.base,
        });
        Self {
            ids,
            journal_identity,
            controls,
            writer,
            plan,
            lease,
            calls,
            waiters: Waiters::default(),
            assets: Assets::default(),
            last: Mutex::default(),
            parts,
        }
    }

    /// Has each port ask these controls before it sends what has an effect. Once the engine is gone, nothing
    /// is sent any more.
    pub(crate) fn is_asked_before_sending(self: &Arc<Self>) {
        let permission: Arc<dyn SendPermission> = Arc::new(EnginePermission(Arc::downgrade(self)));
        self.parts.ledgers.iter().for_each(|ledger| ledger.ask_before_sending(&permission));
        self.parts.chains.iter().for_each(|chain| chain.ask_before_sending(&permission));
    }

    /// Whether what has an effect may be sent to this system now, for these transfers; none: whichever they are.
    fn may_send(&self, system: System, transfers: &[Id]) -> bool {
        if !self.controls.may_send(system) {
            return false;
        }
        let pauses = self.controls.partial_pauses();
        pauses.is_empty() || !self.calls.are_paused(system, transfers, &pauses)
    }

    /// The ledgers outside the journal's database.
    pub(crate) fn outside(&self) -> Vec<LedgerId> {
        let outside = self.parts.ledgers.iter().filter(|ledger| ledger.enlist().is_none());
        outside.map(|ledger| ledger.id()).collect()
    }

    pub(crate) fn assets(&self) -> Arc<[Asset]> {
        self.assets.all()
    }

    /// The asset of that symbol.
    pub(crate) fn asset(&self, symbol: &str) -> Option<Asset> {
        self.assets().iter().find(|asset| asset.symbol == symbol).cloned()
    }

    /// The configured ledger of that account type.
    pub(crate) fn ledger(&self, id: LedgerId) -> Option<Arc<dyn Ledger>> {
        self.parts.ledgers.iter().find(|ledger| ledger.id() == id).cloned()
    }

    /// Why no money moves; `None` where it moves.
    pub(crate) fn halted(&self) -> Option<Arc<str>> {
        self.controls.halted()
    }

    /// How far a unit of this record may go in one write.
    pub(crate) fn fuse_mode(&self, record: &Record) -> FuseMode {
        match self.controls.fuse_mode(record) {
            Some(fuse_mode) => fuse_mode,
            None => self.parts.settings.fuse_mode(),
        }
    }

    /// Adds a caller that waits for the end of a transfer.
    pub(crate) fn wait_for(&self, id: Id, waiter: Waiter) {
        self.waiters.add(id, waiter, self.parts.clock.ticks());
    }

    /// The time of the next try after this many unknown answers.
    pub(crate) fn due(&self, retries: u32) -> Millis {
        let wait = self.parts.settings.backoff.wait(retries, self.parts.rng.next());
        self.parts.journal.now().saturating_add(wait)
    }

    /// True for a flow that is offered here and that no station carries.
    pub(crate) fn follows_events(&self, flow: FlowId) -> bool {
        self.plan.table(flow).follows_events() && self.offers(flow)
    }

    /// Reads these transfers from the journal, which is asked until it answers.
    pub(crate) async fn read(&self, ids: Vec<Id>) -> Vec<Record> {
        self.writer.stored(ids).await
    }

    /// Has recovery look at a transfer that was seen in this version.
    pub(crate) fn watch(&self, id: Id, version: u32) {
        self.writer.watch(id, version);
    }

    /// True for a flow that this process takes in and carries.
    pub(crate) fn offers(&self, flow: FlowId) -> bool {
        self.parts.offered.contains(&flow)
    }

    /// Makes a new id: of the journal's time, and above every id that this process made before, so that
    /// rows are appended.
    pub(crate) fn mint(&self) -> Id {
        let random = u128::from(self.parts.rng.next());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Id::new(self.parts.journal.now(), random << 16);
        *last =
            if fresh > *last { fresh } else { Id(last.0.saturating_add(1 + (random & 0xffff))) };
        *last
    }

    /// Makes the id of a new transfer. `refused`: the id that was taken.
    pub(crate) fn mint_for(&self, flow: FlowId, terms: &Terms, refused: Option<Id>) -> Id {
        let table = self.plan.table(flow);
        let keyed = self.ids.as_ref().zip(terms.binding.as_ref());
        let Some((ids, binding)) = keyed.filter(|_| table.all().any(|state| table.sends(state)))
        else {
            return self.mint();
        };
        let (now, next) =
            (self.parts.journal.now(), refused.map_or(0, |id| id.at().saturating_add(1)));
        ids.of_key(if now > next { now } else { next }, table.flow, binding)
    }

    /// Measures the answer to a step, and how long it took.
    pub(crate) fn seen(&self, record: &Record, answer: &Answer, nanos: u64) {
        let table = self.plan.table(record.flow);
        let Some(act) = table.makes(record.head.state) else { return };
        let (flow, act, answer) = (table.flow, table.act(act).name, answer.word());
        self.parts.meter.see(Seen::Step { flow, act, answer, nanos });
    }
}
