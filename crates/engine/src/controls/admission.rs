//! The controls say whether money may move now: HALT, pauses, and ledgers whose identity is not settled
//! stop it.
//!
//! Every worker asks [`Controls`] before each batch of calls, repeats included. The flags in the journal
//! are the truth, and the controls are their copy in RAM. The copy stops money before the flag is stored,
//! and releases it only after a read of the journal says so.

use crate::plan::planner::FuseMode;
use kernel::ids::{ChainId, FlowId, LedgerId};
use kernel::operation::{Incarnation, Known};
use kernel::operators::Scope;
use kernel::ports::clock::Clock;
use kernel::ports::journal::ServiceStatus;
use kernel::record::{Account, Party, Record, System, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The incarnation for which this process takes each ledger.
pub(crate) type KnownLedgers = BTreeMap<LedgerId, Known>;

/// What this process knows of a ledger outside the journal's database.
#[derive(Debug, Clone, Copy)]
struct LedgerState {
    /// The last that an adopted incarnation said of itself.
    known: Known,
    /// It is the ledger that the journal knows.
    adopted: bool,
    /// The number of the last HALT that this process told this incarnation of.
    told_halt: Option<u64>,
}

#[derive(Debug, Default)]
struct Flags {
    halted: Option<Arc<str>>,
    /// The number of the last HALT in the journal that is followed. It rises together with what follows from it: no
    /// call begins with the number of a HALT that stands.
    last_halt: u64,
    /// How many halts this process is writing now.
    halting: u32,
    /// The flags that are set in the journal.
    paused: BTreeSet<Scope>,
    /// The flags that are set here and are being written.
    pausing: BTreeSet<Scope>,
    /// Raised by each change that begins here, and by each read of the journal that is followed: an earlier
    /// read is out of date then.
    epoch: u64,
    ledgers: BTreeMap<LedgerId, LedgerState>,
    draining: bool,
}

impl Flags {
    fn has_pause(&self, scope: Scope) -> bool {
        self.paused.contains(&scope) || self.pausing.contains(&scope)
    }

    /// True where persons must lift something before the ledger may be called for this flow.
    fn bars_calls(&self, flow: FlowId, ledger: LedgerId) -> bool {
        let paused = self.has_pause(Scope::Flow(flow)) || self.has_pause(Scope::Ledger(ledger));
        self.halted.is_some() || paused
    }

    fn system_stands(&self, party: &Party) -> bool {
        self.has_pause(system(party))
    }

    fn quiet(&self) -> bool {
        self.halted.is_none() && self.paused.is_empty() && self.pausing.is_empty()
    }

    /// Whether a pause of the transfer itself, of an asset or of one of its accounts stops it.
    fn bars(&self, record: &Record) -> bool {
        let parties = [record.source(), record.target()];
        self.has_pause(Scope::Transfer(record.id))
            || finer(parties).any(|scope| self.has_pause(scope))
    }
}

const fn scope(system: System) -> Scope {
    match system {
        System::Ledger(ledger) => Scope::Ledger(ledger),
        System::Chain(chain) => Scope::Chain(chain),
    }
}

fn system(party: &Party) -> Scope {
    scope(party.system)
}

fn account(party: &Party) -> Option<Scope> {
    match (party.system, &party.account) {
        (System::Ledger(ledger), Account::User(user)) => Some(Scope::Account(*user, ledger)),
        (System::Ledger(_), Account::Named(_) | Account::Unnamed) | (System::Chain(_), _) => None,
    }
}

/// The assets and the accounts of a transfer. A pause of one stops the transfer, while others of its
/// station go on.
fn finer(parties: [&Party; 2]) -> impl Iterator<Item = Scope> + use<> {
    let accounts = parties.map(account);
    let assets = parties.map(|party| Scope::Asset(party.asset));
    assets.into_iter().chain(accounts.into_iter().flatten())
}

/// Every scope of a transfer that may be paused, except its flow and itself.
fn scopes(terms: &Terms) -> impl Iterator<Item = Scope> {
    terms.parties().map(system).into_iter().chain(finer(terms.parties()))
}

/// What changed when the controls followed the journal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusChanges {
    /// Persons resumed from HALT.
    pub resumed: bool,
    pub unpaused: bool,
}

/// A lease that never ends.
const FOR_EVER: u64 = u64::MAX;

/// Says which calls and writes may begin at this moment.
pub(crate) struct Controls {
    flags: Mutex<Flags>,
    changed: Notify,
    /// A HALT or a pause is in force. Where none is, a hot path reads no more than this.
    stops: AtomicBool,
    clock: Arc<dyn Clock>,
    /// Until when, by the clock's ticks, the other workers surely take this one for alive.
    leased: AtomicU64,
    /// Another process took over a core that runs in this one.
    retired: AtomicBool,
}

impl Controls {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            flags: Mutex::default(),
            changed: Notify::new(),
            stops: AtomicBool::new(false),
            clock,
            leased: AtomicU64::new(FOR_EVER),
            retired: AtomicBool::new(false),
        }
    }

    /// Sets until when the lease lasts, by the clock's ticks.
    pub(crate) fn leased(&self, until: u64) {
        let stale = self.stale();
        self.leased.store(until, Ordering::SeqCst);
        if stale {
            self.changed.notify_waiters();
        }
    }

    /// True where the other workers may take this one for dead, and a HALT for obeyed: it makes no call
    /// before it has renewed its lease.
    pub(crate) fn stale(&self) -> bool {
        let until = self.leased.load(Ordering::SeqCst);
        self.retired() || (until != FOR_EVER && self.clock.ticks() >= until)
    }

    /// Stops all calls of this process for good. True for the first caller.
    pub(crate) fn retire(&self) -> bool {
        !self.retired.swap(true, Ordering::SeqCst)
    }

    /// True where this process begins no call any more.
    pub(crate) fn retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst)
    }

    fn flags(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Flags)) {
        let mut flags = self.flags();
        change(&mut flags);
        flags.epoch = flags.epoch.wrapping_add(1);
        self.stops.store(!flags.quiet(), Ordering::SeqCst);
    }

    /// Why no money moves; `None` where it moves.
    pub(crate) fn halted(&self) -> Option<Arc<str>> {
        self.flags().halted.clone()
    }

    /// The number of the last HALT that this process follows; 0 before the first one.
    pub(crate) fn last_halt(&self) -> u64 {
        self.flags().last_halt
    }

    /// Stops every claim and effect from now on. The first reason stays. The caller writes the HALT, and
    /// calls [`Controls::halt_stored`] then.
    pub(crate) fn halt(&self, reason: Arc<str>) {
        self.change(|flags| {
            flags.halting = flags.halting.saturating_add(1);
            flags.halted.get_or_insert(reason);
        });
    }

    /// The journal has the halt, or the halt was never written.
    pub(crate) fn halt_stored(&self) {
        self.change(|flags| flags.halting = flags.halting.saturating_sub(1));
    }

    /// True while this process writes a halt that the journal may not have yet.
    pub(crate) fn stores_halt(&self) -> bool {
        self.flags().halting > 0
    }

    /// Follows a journal that says that it is halted.
    pub(crate) fn is_halted(&self, reason: Arc<str>) {
        self.change(|flags| {
            flags.halted.get_or_insert(reason);
        });
    }

    /// Stops every step of the scope. The caller writes the pause, and calls [`Controls::stored`] then.
    pub(crate) fn pause(&self, scope: Scope) {
        self.change(|flags| {
            flags.pausing.insert(scope);
        });
    }

    /// The journal has the pause.
    pub(crate) fn stored(&self, scope: Scope) {
        self.change(|flags| {
            flags.pausing.remove(&scope);
            flags.paused.insert(scope);
        });
    }

    /// The number of the last change, for [`Controls::follow`].
    pub(crate) fn epoch(&self) -> u64 {
        self.flags().epoch
    }

    /// Follows a read of the journal. `None`: something changed here since `epoch`, or another read was
    /// followed, so this read may be older. An older read would release what a later one stopped.
    pub(crate) fn follow(&self, epoch: u64, status: &ServiceStatus) -> Option<StatusChanges> {
        let mut flags = self.flags();
        if flags.epoch != epoch {
            return None;
        }
        let paused: BTreeSet<Scope> = status.paused.iter().map(|paused| paused.scope).collect();
        let resumed = status.halted.is_none() && flags.halted.is_some() && flags.halting == 0;
        let unpaused = flags.paused.iter().any(|scope| !paused.contains(scope));
        if status.halted.is_some() || resumed {
            flags.halted.clone_from(&status.halted);
        }
        flags.last_halt = status.halts;
        flags.paused = paused;
        flags.epoch = flags.epoch.wrapping_add(1);
        self.stops.store(!flags.quiet(), Ordering::SeqCst);
        drop(flags);
        if resumed || unpaused {
            self.changed.notify_waiters();
        }
        Some(StatusChanges { resumed, unpaused })
    }

    /// Stops the intake: the process is ending.
    pub(crate) fn drain(&self) {
        self.flags().draining = true;
    }

    /// True while the process is ending.
    pub(crate) fn draining(&self) -> bool {
        self.flags().draining
    }

    /// Whether persons paused exactly this scope.
    pub(crate) fn scope_paused(&self, scope: Scope) -> bool {
        self.flags().has_pause(scope)
    }

    /// True where the flow is not paused, so that it may open transfers and ask its questions.
    pub(crate) fn takes(&self, flow: FlowId) -> bool {
        !self.stops.load(Ordering::SeqCst) || !self.flags().has_pause(Scope::Flow(flow))
    }

    /// The scope that is paused, of a flow and, where they are known, of a transfer's terms: the flow, one
    /// of the ledgers, the asset, one of the accounts. A pause of a chain is none of these, since it stops
    /// claims and sends alone: the intake goes on, and the transfer waits.
    pub(crate) fn paused(&self, flow: FlowId, terms: Option<&Terms>) -> Option<Scope> {
        if !self.stops.load(Ordering::SeqCst) {
            return None;
        }
        let flags = self.flags();
        let of_terms = terms.into_iter().flat_map(scopes);
        let of_terms = of_terms.filter(|scope| !matches!(scope, Scope::Chain(_)));
        std::iter::once(Scope::Flow(flow)).chain(of_terms).find(|scope| flags.has_pause(*scope))
    }

    /// True where a pause of this transfer, its asset or its accounts stops it, while others of its station
    /// may go on.
    pub(crate) fn bars(&self, record: &Record) -> bool {
        self.stops.load(Ordering::SeqCst) && self.flags().bars(record)
    }

    /// How far a unit of this transfer may go where something is paused: it claims nothing where its flow,
    /// its asset, an account or the transfer itself is paused, and makes no call at a ledger where one of
    /// its ledgers is. `None`: as far as it likes.
    pub(crate) fn fuse_mode(&self, record: &Record) -> Option<FuseMode> {
        if !self.stops.load(Ordering::SeqCst) {
            return None;
        }
        let flags = self.flags();
        let stands = flags.has_pause(Scope::Flow(record.flow)) || flags.bars(record);
        if flags.halted.is_some() || stands {
            return Some(FuseMode::NoClaim);
        }
        let Terms { source, target, .. } = &*record.terms;
        let one_stands = flags.system_stands(source) || flags.system_stands(target);
        one_stands.then_some(FuseMode::Plain)
    }

    /// True where persons must lift something before the ledger may be called for this flow.
    pub(crate) fn is_stopped(&self, flow: FlowId, ledger: LedgerId) -> bool {
        self.flags().bars_calls(flow, ledger)
    }

    /// The incarnation to address where the ledger may be called now for this flow; `None`: it may not.
    pub(crate) fn call(&self, flow: FlowId, ledger: LedgerId) -> Option<Known> {
        let flags = self.flags();
        if flags.bars_calls(flow, ledger) || self.stale() {
            return None;
        }
        flags.ledgers.get(&ledger).filter(|state| state.adopted).map(|state| state.known)
    }

    /// The incarnation to address where a person wants to fence an operation at a ledger. Neither HALT nor
    /// a pause of the ledger allows it; other pauses do.
    pub(crate) fn fence(&self, ledger: LedgerId) -> Option<Known> {
        let flags = self.flags();
        if flags.halted.is_some() || flags.has_pause(Scope::Ledger(ledger)) || self.stale() {
            return None;
        }
        flags.ledgers.get(&ledger).filter(|state| state.adopted).map(|state| state.known)
    }

    /// True where forms may be signed and sent on the chain for this flow. Questions to the chain and
    /// proofs go on where they may not.
    pub(crate) fn sends(&self, flow: FlowId, chain: ChainId) -> bool {
        let flags = self.flags();
        let stands = flags.has_pause(Scope::Flow(flow)) || flags.has_pause(Scope::Chain(chain));
        flags.halted.is_none() && !stands && !self.stale()
    }

    /// True where what has an effect may reach this system now, of a flow and a transfer that is not paused.
    pub(crate) fn may_send(&self, system: System) -> bool {
        let flags = self.flags();
        flags.halted.is_none() && !flags.has_pause(scope(system)) && !self.stale()
    }

    /// The pauses that concern some of the calls at a system, where there are any.
    pub(crate) fn partial_pauses(&self) -> BTreeSet<Scope> {
        if !self.stops.load(Ordering::SeqCst) {
            return BTreeSet::new();
        }
        let flags = self.flags();
        let all = flags.paused.iter().chain(&flags.pausing).copied();
        all.filter(|scope| !matches!(scope, Scope::Ledger(_) | Scope::Chain(_))).collect()
    }

    /// Waits until forms may be signed and sent.
    pub(crate) async fn wait_sends(&self, flow: FlowId, chain: ChainId) {
        loop {
            let changed = self.changed.notified();
            if self.sends(flow, chain) {
                return;
            }
            changed.await;
        }
    }

    /// True where a unit of this flow may claim.
    pub(crate) fn claims(&self, flow: FlowId) -> bool {
        let flags = self.flags();
        flags.halted.is_none() && !flags.has_pause(Scope::Flow(flow))
    }

    /// Learns what a ledger said of itself with an answer. False: the answer does not count, since it is of
    /// an incarnation that is not the one that we know, or no longer.
    pub(crate) fn learn(&self, ledger: LedgerId, said: Known) -> bool {
        let mut flags = self.flags();
        let Some(state) = flags.ledgers.get_mut(&ledger) else { return false };
        let who = |known: Known| (known.identity, known.incarnation);
        if who(state.known) != who(said) {
            return false;
        }
        if state.known.highest < said.highest {
            state.known.highest = said.highest;
        }
        true
    }

    /// Lets the ledger be called as this incarnation. Where one is named, the answers of that earlier
    /// incarnation alone count.
    ///
    /// # Errors
    /// The highest operation that an earlier incarnation answered for, where this one does not know
    /// it. Such answers may come in until this very moment, so nothing earlier can be sure.
    pub(crate) fn adopt(
        &self,
        ledger: LedgerId,
        mut known: Known,
        answered_by: Option<Incarnation>,
    ) -> Result<(), u64> {
        let mut flags = self.flags();
        if let Some(LedgerState { known: before, .. }) = flags.ledgers.get(&ledger)
            && before.highest > known.highest
        {
            if before.incarnation == known.incarnation {
                known.highest = before.highest;
            } else if answered_by.is_none_or(|by| by == before.incarnation) {
                return Err(before.highest);
            }
        }
        flags.ledgers.insert(ledger, LedgerState { known, adopted: true, told_halt: None });
        drop(flags);
        self.changed.notify_waiters();
        Ok(())
    }

    /// True where the ledger is adopted.
    pub(crate) fn adopted(&self, ledger: LedgerId) -> bool {
        self.flags().ledgers.get(&ledger).is_some_and(|state| state.adopted)
    }

    /// Stops calls to a ledger until its identity is found out. True for the first caller.
    pub(crate) fn suspect(&self, ledger: LedgerId, used: Known) -> bool {
        match self.flags().ledgers.get_mut(&ledger) {
            Some(state) if state.adopted && state.known.incarnation == used.incarnation => {
                state.adopted = false;
                true
            }
            _ => false,
        }
    }

    /// The ledger that is to be told of the last HALT, with its number; `None`: it is not adopted, or was told.
    pub(crate) fn untold_halt(&self, ledger: LedgerId) -> Option<(Known, u64)> {
        let flags = self.flags();
        let number = flags.last_halt;
        let state = flags.ledgers.get(&ledger).filter(|state| state.adopted)?;
        (state.told_halt != Some(number)).then_some((state.known, number))
    }

    /// Notes of which HALT the ledger was told; `None`: it says that it was told of another one.
    pub(crate) fn note_told_halt(&self, ledger: LedgerId, number: Option<u64>) {
        if let Some(state) = self.flags().ledgers.get_mut(&ledger) {
            state.told_halt = number;
        }
    }

    /// What is known of every ledger.
    pub(crate) fn all_known(&self) -> KnownLedgers {
        self.flags().ledgers.iter().map(|(ledger, state)| (*ledger, state.known)).collect()
    }

    /// What is known of a ledger.
    pub(crate) fn known(&self, ledger: LedgerId) -> Option<Known> {
        self.flags().ledgers.get(&ledger).map(|state| state.known)
    }

    /// Waits until the ledger may be called for this flow.
    pub(crate) async fn wait(&self, flow: FlowId, ledger: LedgerId) -> Known {
        loop {
            let changed = self.changed.notified();
            if let Some(known) = self.call(flow, ledger) {
                return known;
            }
            changed.await;
        }
    }

    /// Waits until the flow is not paused. A question goes on under HALT.
    pub(crate) async fn wait_takes(&self, flow: FlowId) {
        loop {
            let changed = self.changed.notified();
            if self.takes(flow) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until units of this flow may claim.
    pub(crate) async fn wait_claims(&self, flow: FlowId) {
        loop {
            let changed = self.changed.notified();
            if self.claims(flow) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Controls, StatusChanges};
    use kernel::ports::Fut;
    use kernel::ports::clock::Clock;
    use kernel::ports::journal::ServiceStatus;
    use std::sync::Arc;

    struct Never;

    impl Clock for Never {
        fn now(&self) -> u64 {
            0
        }

        fn ticks(&self) -> u64 {
            0
        }

        fn sleep(&self, _: u64) -> Fut<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn status(halts: u64, reason: Option<&str>) -> ServiceStatus {
        ServiceStatus { halts, halted: reason.map(Into::into), ..ServiceStatus::default() }
    }

    /// Two tasks read the journal, and the first to ask is the last to follow. Seen red where a reading
    /// that is followed does not overtake those that began before it.
    #[test]
    fn an_older_reading_resumes_nothing() {
        let controls = Controls::new(Arc::new(Never));
        let began = controls.epoch();
        let resume = status(1, None);
        // the second reading found the next halt, and is followed first
        assert_eq!(
            controls.follow(began, &status(2, Some("stop"))),
            Some(StatusChanges::default())
        );
        assert_eq!(controls.follow(began, &resume), None, "it is read again");
        assert!(controls.halted().is_some());
        let resumed = controls.follow(controls.epoch(), &status(2, None));
        assert_eq!(resumed.map(|followed| followed.resumed), Some(true));
    }
}
