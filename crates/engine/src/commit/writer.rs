//! The writer: the only caller of the journal's `write`.

use crate::commit::consequences::{Consequences, Contradiction};
use crate::commit::outcome::{NotWritten, UnitDraft, WriteOutcome};
use crate::commit::read_back::UnitTrace;
use crate::commit::register::Register;
use crate::controls::admission::Controls;
use crate::controls::outstanding_calls::{CallStart, OutstandingCalls};
use crate::controls::store_room::StoreRoom;
use crate::plan::planner::Plan;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operation::Known;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::ports::journal::{Journal, Writing};
use kernel::record::Record;
use kernel::unit::{Guard, Unit, Wrote};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The parts of the writer.
pub(crate) struct JournalWriterParts {
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub plan: Arc<Plan>,
    pub controls: Arc<Controls>,
    pub calls: Arc<OutstandingCalls>,
    /// Ends the process after another one took over a core that runs in it.
    pub retire: Arc<dyn Fn(String) + Send + Sync>,
    /// How long it waits before it asks a journal again that does not answer.
    pub wait: Millis,
}

/// Writes units, and does what follows from each write for this process.
pub(crate) struct JournalWriter {
    parts: JournalWriterParts,
    pub room: StoreRoom,
    /// Rung after units that may have put messages into the outbox.
    pub outbox: Arc<Notify>,
    /// The transfers that recovery looks at.
    pub register: Register,
    pub consequences: Consequences,
}

impl JournalWriter {
    pub(crate) fn new(parts: JournalWriterParts) -> Arc<Self> {
        Arc::new(Self {
            room: StoreRoom::new(parts.clock.clone()),
            outbox: Arc::default(),
            register: Register::default(),
            consequences: Consequences::default(),
            parts,
        })
    }

    /// Writes one unit. Returns its outcome.
    pub(crate) async fn write(&self, draft: impl Into<UnitDraft>) -> WriteOutcome {
        self.write_all(vec![draft.into()]).await.pop().unwrap_or_else(|| WriteOutcome::from(None))
    }

    /// Writes units that do not depend on each other. Returns one outcome for each, in their order.
    pub(crate) async fn write_all(&self, drafts: Vec<UnitDraft>) -> Vec<WriteOutcome> {
        if drafts.is_empty() {
            return Vec::new();
        }
        let (units, traces) = self.guarded(drafts);
        let ticket = self.parts.calls.begin(CallStart::Write);
        let wrote = self.parts.journal.write(units).await;
        drop(ticket);
        self.rings(&traces);
        let mut wrote = wrote.into_iter();
        let each = traces.into_iter().map(|trace| (trace, wrote.next()));
        self.outcomes(each.collect()).await
    }

    /// The same, without waiting for those among them that wait for a row which another session has locked.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        drafts: Vec<UnitDraft>,
    ) -> Vec<Writing<WriteOutcome>> {
        let (units, traces) = self.guarded(drafts);
        let ticket = self.parts.calls.begin(CallStart::Write);
        let begun = self.parts.journal.begin(units).await;
        self.rings(&traces);
        let (mut writings, mut over) = (Vec::with_capacity(traces.len()), Vec::new());
        for (trace, writing) in traces.into_iter().zip(begun) {
            match writing {
                Writing::Over(wrote) => {
                    over.push((trace, Some(wrote)));
                    writings.push(None);
                }
                Writing::Waits(wrote) => writings.push(Some(self.waits(trace, wrote))),
            }
        }
        drop(ticket);
        let mut over = self.outcomes(over).await.into_iter();
        let each = writings.into_iter().filter_map(|waits| match waits {
            Some(waits) => Some(Writing::Waits(waits)),
            None => over.next().map(Writing::Over),
        });
        each.collect()
    }

    /// Waits for one write by itself. A HALT waits for it as well.
    fn waits(
        self: &Arc<Self>,
        trace: UnitTrace,
        wrote: Fut<'static, Wrote>,
    ) -> Fut<'static, WriteOutcome> {
        let (writer, ticket) = (self.clone(), self.parts.calls.begin(CallStart::Write));
        Box::pin(async move {
            let wrote = wrote.await;
            drop(ticket);
            writer.rings(std::slice::from_ref(&trace));
            writer
                .outcomes(vec![(trace, Some(wrote))])
                .await
                .pop()
                .unwrap_or_else(|| WriteOutcome::from(None))
        })
    }

    /// Writes one unit again and again, this long apart, until it is known whether it is written. It is `NotWritten`
    /// only where it contradicts what the journal has: the same unit is never written then.
    pub(crate) async fn insist(&self, unit: Unit, wait: Millis) -> WriteOutcome {
        let mut unknown = false;
        loop {
            match self.write(unit.clone()).await {
                WriteOutcome::Done(written) => return WriteOutcome::Done(written),
                WriteOutcome::Lost(guard) => return self.lost_at_last(&unit, guard, unknown).await,
                WriteOutcome::NotWritten(why) if why.cause.class == Cause::CONTRADICTION => {
                    return WriteOutcome::NotWritten(why);
                }
                WriteOutcome::NotWritten(why) => unknown |= why.refused.is_none(),
            }
            self.parts.clock.sleep(wait).await;
        }
    }

    /// A unit that was lost behind the same one with an unknown outcome may be lost to that one.
    async fn lost_at_last(&self, unit: &Unit, guard: Guard, unknown: bool) -> WriteOutcome {
        let lost = WriteOutcome::Lost(guard);
        if !unknown {
            return lost;
        }
        let trace = UnitTrace::of(unit);
        let stored = self.stored(trace.moved().map(|moved| moved.id).into_iter().collect()).await;
        let cause = Cause::of("LOST");
        match trace.outcome(&*self.parts.journal, &stored, cause).await {
            WriteOutcome::Done(written) => WriteOutcome::Done(written),
            WriteOutcome::Lost(_) | WriteOutcome::NotWritten(_) => lost,
        }
    }

    /// The units with the guards of the ledgers that they rely on, and their traces.
    fn guarded(&self, drafts: Vec<UnitDraft>) -> (Vec<Unit>, Vec<UnitTrace>) {
        let depends = drafts.iter().any(|draft| !draft.depends_on.is_empty());
        let known = if depends { self.parts.controls.all_known() } else { BTreeMap::new() };
        let each = drafts.into_iter().map(|UnitDraft { mut unit, depends_on, answered_as }| {
            let guard = |ledger: &LedgerId| {
                let own = answered_as.filter(|(of, _)| of == ledger).map(|(_, known)| known);
                let known = own.or_else(|| known.get(ledger).copied());
                self.parts.plan.ledger_guard(*ledger, known)
            };
            // before all others: what was asked of a wrong one is no reason to say anything else
            unit.guards.splice(0..0, depends_on.iter().filter_map(guard));
            let trace = UnitTrace::of(&unit);
            (unit, trace)
        });
        each.unzip()
    }

    fn rings(&self, traces: &[UnitTrace]) {
        if traces.iter().any(|trace| trace.emits) {
            self.outbox.notify_one();
        }
    }

    /// Does what follows from each write, and reads back those whose outcome is not known.
    async fn outcomes(&self, over: Vec<(UnitTrace, Option<Wrote>)>) -> Vec<WriteOutcome> {
        let is_unknown = |(trace, wrote): &(UnitTrace, Option<Wrote>)| {
            let moved = trace.moved().filter(|_| matches!(wrote, Some(Wrote::Unknown(_)) | None));
            moved.map(|moved| moved.id)
        };
        let ids: Vec<Id> = over.iter().filter_map(is_unknown).collect();
        let stored = self.stored(ids).await;
        let mut outcomes = Vec::with_capacity(over.len());
        for (trace, wrote) in over {
            self.note_store(wrote.as_ref());
            let outcome = match WriteOutcome::from(wrote) {
                WriteOutcome::NotWritten(NotWritten { cause, refused: None }) => {
                    self.unknown(trace, cause, &stored).await
                }
                outcome @ (WriteOutcome::Done(_)
                | WriteOutcome::Lost(_)
                | WriteOutcome::NotWritten(_)) => outcome,
            };
            outcomes.push(outcome);
        }
        outcomes
    }

    /// Notes what an answer says of the store and of this process.
    fn note_store(&self, wrote: Option<&Wrote>) {
        match wrote {
            Some(Wrote::Written(_)) => self.room.found(),
            Some(Wrote::Full) => self.room.refused(),
            Some(Wrote::Lost(guard)) => self.lost(guard),
            Some(Wrote::Refused(_) | Wrote::Unknown(_)) | None => {}
        }
    }

    /// What a failed guard says of this process.
    fn lost(&self, guard: &Guard) {
        if *guard == Guard::NotHalted {
            self.parts.controls.is_halted("the journal is halted".into());
        } else if matches!(guard, Guard::Owner { .. }) {
            self.retired();
        } else if let Guard::Incarnation { ledger, known } = guard {
            self.new_incarnation(*ledger, *known);
        }
    }

    /// Another process took over a core of this one: this process begins nothing any more, and ends.
    fn retired(&self) {
        if self.parts.controls.retire() {
            (self.parts.retire)(
                "another process took over a core that runs in this one".to_owned(),
            );
        }
    }

    /// The journal has another incarnation of the ledger than the one that we called: the ledger was started again, or
    /// there are two copies of it.
    pub(crate) fn new_incarnation(&self, ledger: LedgerId, ours: Option<Known>) {
        if ours.is_some_and(|ours| self.parts.controls.suspect(ledger, ours)) {
            tracing::warn!(ledger = ledger.name(), "it was adopted as another incarnation");
            self.consequences.has_new_incarnation(ledger);
        }
    }

    /// The outcome of a unit by what the journal shows of it. What it does not show yet may be written later.
    async fn unknown(&self, trace: UnitTrace, cause: Cause, stored: &[Record]) -> WriteOutcome {
        tracing::warn!(transfer = ?trace.transfer, %cause, "a write's outcome is not known");
        let contradicts = cause.class == Cause::CONTRADICTION;
        if contradicts && let Some(transfer) = trace.transfer {
            let opened = trace.moved().and_then(|moved| moved.opened.clone());
            self.consequences.contradicts(Contradiction { transfer, opened, cause: cause.clone() });
        }
        let outcome = trace.outcome(&*self.parts.journal, stored, cause).await;
        if !contradicts && matches!(outcome, WriteOutcome::NotWritten(_)) {
            for claimed in trace.claimed {
                self.watch(claimed.id, claimed.version);
            }
        }
        outcome
    }

    /// Has recovery look at a transfer that was seen in this version.
    pub(crate) fn watch(&self, id: Id, version: u32) {
        self.register.watch(id, version, self.parts.clock.ticks());
    }

    /// Reads these transfers. A journal that does not answer has said nothing, least of all that there are none, so it
    /// is asked until it answers.
    pub(crate) async fn stored(&self, ids: Vec<Id>) -> Vec<Record> {
        while !ids.is_empty() {
            match self.parts.journal.get(ids.clone()).await {
                Ok(stored) => return stored,
                Err(cause) => tracing::error!(%cause, "the journal does not answer"),
            }
            self.parts.clock.sleep(self.parts.wait).await;
        }
        Vec::new()
    }
}
