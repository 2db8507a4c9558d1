//! The provers look after every attempt that this process carries, until it is proven. At each look a
//! prover sends the same bytes again where the form allows that, asks the chain, and writes the proof for
//! all members in one unit. Questions and proofs go on under HALT; signing and sending do not.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::chains::carried::Carried;
use crate::chains::form::NoForm;
use crate::commit::outcome::{UnitDraft, WriteOutcome};
use crate::drive::Pipeline;
use crate::plan::close::{Closed, Closing, marked_sent, one_more_form, taken_over};
use crate::state::case_kinds::CHAIN_CONTRADICTION;
use crate::state::ledgers::earlier_sends::EarlierSendsLog;
use crate::state::select::caught;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId, MemberVerdict, Purpose};
use kernel::ids::Id;
use kernel::operators::Scope;
use kernel::ports::chain::{AttemptProof, SignRequest, SpentLock};
use kernel::ports::journal::Linked;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::{Event, Guard, Written};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many attempts one call looks at.
const BATCH: usize = 64;

/// Looks after the attempts that this process carries, until each of their transfers has gone on.
pub(crate) struct Prover {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) sends: Arc<EarlierSendsLog>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) pipeline: Arc<Pipeline>,
}

/// An attempt and the proof that ends it.
struct ProvenEnd {
    carried: Carried,
    verdicts: Vec<MemberVerdict>,
    /// The transaction that spent the lock, where it is no form of the attempt.
    spent: Option<SpentLock>,
}

/// An attempt and the plan of its end, while the unit of that is written.
struct PlannedEnd {
    carried: Carried,
    verdicts: Vec<MemberVerdict>,
    closing: Closing,
}

impl Prover {
    pub(crate) async fn run_prover(self: Arc<Self>, pool: Arc<ChainPool>) {
        loop {
            let (journal, clock) = (&*self.shared.parts.journal, &*self.shared.parts.clock);
            let batch = pool.carried.take(BATCH, journal, clock).await;
            self.prove_batch(&pool, batch).await;
        }
    }

    /// Looks once at attempts whose time has come.
    async fn prove_batch(&self, pool: &ChainPool, batch: Vec<Carried>) {
        let mut batch = self.take_up(pool, batch).await;
        let fresh: BTreeSet<AttemptId> = self.send(pool, &mut batch).await;
        // what has just left is not final yet, where it is known how long that takes
        let early = |carried: &Carried| {
            fresh.contains(&carried.attempt.id) && pool.proof_delay.wait(0).is_some()
        };
        let (mut waits, batch): (Vec<_>, Vec<_>) = batch.into_iter().partition(early);
        for carried in &mut waits {
            carried.last = Some(Cause::of("SENT"));
        }
        if batch.is_empty() {
            return self.wait_on(pool, waits).await;
        }
        let begun = self.shared.parts.clock.ticks();
        let proofs = self.proofs(pool, &batch).await;
        let nanos = self.shared.parts.clock.ticks().saturating_sub(begun);
        let mut closes = Vec::new();
        for (mut carried, proof) in batch.into_iter().zip(proofs) {
            self.proof_seen(&carried.attempt, &proof, nanos);
            match proof {
                AttemptProof::NotYet(cause) => {
                    self.chains.look_stops_chain(&carried.attempt, &cause);
                    carried.last = Some(cause);
                    waits.push(carried);
                }
                AttemptProof::Form(purpose) => self.sign_next_form(pool, carried, purpose).await,
                AttemptProof::SpentElsewhere(spent) => {
                    let verdicts = carried.attempt.dead(&spent.evidence);
                    closes.push(ProvenEnd { carried, verdicts, spent: Some(spent) });
                }
                AttemptProof::Closed(verdicts) => match carried.attempt.admit(&verdicts) {
                    Ok(()) => closes.push(ProvenEnd { carried, verdicts, spent: None }),
                    Err(cause) => {
                        self.chains.refused_verdicts(&carried.attempt, &cause.to_string());
                        self.look_again(pool, carried, cause);
                    }
                },
            }
        }
        self.close(pool, closes).await;
        self.wait_on(pool, waits).await;
    }

    /// Sends the newest forms that this run has not sent, or that it may send again. Returns which attempts
    /// it sent for the first time.
    async fn send(&self, pool: &ChainPool, batch: &mut [Carried]) -> BTreeSet<AttemptId> {
        let (mut fresh, now) = (BTreeSet::new(), self.shared.parts.journal.now());
        if !batch.iter().any(|carried| carried.sends(now)) {
            return fresh;
        }
        let candidates = batch.iter().filter(|carried| carried.sends(now));
        let (flows, moves) = candidates
            .map(|carried| (carried.attempt.flow, self.shared.plan.moves_in(&carried.attempt)))
            .unzip::<_, _, BTreeSet<_>, Vec<_>>();
        // the ticket first: a task that stops money finds every form that began before
        let moves = moves.into_iter().flatten().collect();
        let ticket = self.chains.form_ticket(pool.id(), flows, moves);
        let mut sent = Vec::new();
        for carried in batch.iter_mut() {
            if carried.sends(now) && self.shared.controls.sends(carried.attempt.flow, pool.id()) {
                if carried.unsent {
                    fresh.insert(carried.attempt.id);
                }
                carried.is_sent(now, now.saturating_add(pool.proof_delay.resend_after()));
                sent.push(carried.attempt.clone());
            }
        }
        if !sent.is_empty() {
            let replies = caught(async { pool.port.broadcast(&sent).await }).await;
            for (attempt, reply) in sent.iter().zip(replies.into_iter().flatten()) {
                if let Err(cause) = reply {
                    // it decides nothing
                    tracing::debug!(attempt = %Id(attempt.id.0), %cause, "a broadcast was not confirmed");
                }
            }
        }
        drop(ticket);
        fresh
    }

    /// Asks for one proof for each attempt; a batch that panicked is asked one by one.
    async fn proofs(&self, pool: &ChainPool, batch: &[Carried]) -> Vec<AttemptProof> {
        let attempts: Vec<Attempt> = batch.iter().map(|carried| carried.attempt.clone()).collect();
        match caught(async { pool.port.prove(&attempts).await }).await {
            Some(proofs) if proofs.len() == attempts.len() => return proofs,
            Some(_) => return vec![AttemptProof::NotYet(Cause::of("BAD_REPLY")); attempts.len()],
            None if attempts.len() == 1 => return vec![AttemptProof::NotYet(Cause::of("PANIC"))],
            None => {}
        }
        let mut proofs = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            let one = [attempt];
            let proof = caught(async { pool.port.prove(&one).await }).await;
            let proof = proof.and_then(|mut proofs| proofs.pop());
            proofs.push(proof.unwrap_or(AttemptProof::NotYet(Cause::of("PANIC"))));
        }
        proofs
    }

    fn proof_seen(&self, attempt: &Attempt, proof: &AttemptProof, nanos: u64) {
        let table = self.shared.plan.table(attempt.flow);
        let Some(act) = self.shared.plan.act_of(attempt) else { return };
        let (flow, act) = (table.flow, table.act(act).name);
        let answer = match proof {
            AttemptProof::Closed(verdicts) => {
                verdicts.first().map_or("unknown", |v| v.answer.word())
            }
            AttemptProof::SpentElsewhere(_) => "dead",
            AttemptProof::NotYet(_) | AttemptProof::Form(_) => "unknown",
        };
        self.shared.parts.meter.see(Seen::Step { flow, act, answer, nanos });
        if answer == "unknown" {
            self.shared.parts.meter.see(Seen::Retry { flow, act });
        }
    }

    /// After *not yet*: looks again when this chain usually has a proof, then at longer and longer
    /// intervals.
    fn wait_for_proof(&self, pool: &ChainPool, mut carried: Carried) {
        carried.looks = carried.looks.saturating_add(1);
        let due = match pool.proof_delay.wait(carried.looks) {
            Some(wait) => self.shared.parts.journal.now().saturating_add(wait),
            None => self.shared.due(pool.proof_delay.beyond(carried.looks)),
        };
        pool.carried.keep(carried, due);
    }

    /// After an unknown answer: looks again at longer and longer intervals, for ever.
    pub(crate) fn look_again(&self, pool: &ChainPool, mut carried: Carried, cause: Cause) {
        carried.looks = carried.looks.saturating_add(1);
        carried.last = Some(cause);
        let due = self.shared.due(carried.looks);
        pool.carried.keep(carried, due);
    }

    /// After *not yet*: writes once that the attempt may be on the wire, as one row for all its members; and once that
    /// the chain's providers hold it up, as a line in the history of each.
    async fn wait_on(&self, pool: &ChainPool, waits: Vec<Carried>) {
        let (mut drafts, mut marked) = (Vec::new(), Vec::new());
        for mut carried in waits {
            let lines = self.trouble_begins(&mut carried).await;
            let (marks, tells) = (!carried.attempt.sent && !carried.unsent, !lines.is_empty());
            if !marks && !tells {
                self.wait_for_proof(pool, carried);
                continue;
            }
            let attempt = &carried.attempt;
            let mut unit = if marks { marked_sent(attempt) } else { taken_over(attempt) };
            unit.then.events = lines;
            drafts.push(unit.into());
            marked.push((carried, marks, tells));
        }
        let outcomes = self.shared.writer.write_all(drafts).await;
        for ((mut carried, marks, tells), outcome) in marked.into_iter().zip(outcomes) {
            match outcome {
                WriteOutcome::Done(_) => {
                    carried.attempt.version = carried.attempt.version.saturating_add(1);
                    carried.attempt.sent |= marks;
                    carried.troubled |= tells;
                    self.wait_for_proof(pool, carried);
                }
                WriteOutcome::Lost(_) => self.was_moved(pool, carried).await,
                WriteOutcome::NotWritten(_) => self.reread_later(pool, carried).await,
            }
        }
    }

    /// The lines for the members of an attempt that the chain's providers hold up from this look on. Nothing where
    /// they did before, since it was claimed: another run may have written the lines.
    async fn trouble_begins(&self, carried: &mut Carried) -> Vec<Event> {
        let Some(cause) = carried.last.as_ref().filter(|_| !carried.troubled) else {
            return Vec::new();
        };
        let members = carried.attempt.members.iter();
        let lines: Vec<Event> =
            members.filter_map(|member| self.chains.trouble_event(member, cause)).collect();
        let Some(line) = lines.first() else { return lines };
        match self.shared.parts.journal.history(line.id).await {
            Ok(history) => {
                let here = |linked: &&Linked| linked.entry.from == Some(linked.entry.to);
                let mut here = history.iter().rev().take_while(here);
                carried.troubled = here.any(|linked| linked.entry.event == line.what);
                if carried.troubled { Vec::new() } else { lines }
            }
            // the next look writes them
            Err(_) => Vec::new(),
        }
    }

    /// Signs one more form under the same lock and stores it; the next look sends it.
    async fn sign_next_form(&self, pool: &ChainPool, mut carried: Carried, purpose: Purpose) {
        let attempt = &carried.attempt;
        let table = self.shared.plan.table(attempt.flow);
        let Some(act) = self.shared.plan.act_of(attempt) else {
            return self.look_again(pool, carried, Cause::of("NO_SUCH_STEP"));
        };
        let request = SignRequest {
            flow: table.flow,
            act: table.act(act).name,
            lane: attempt.lane.clone(),
            lock: attempt.lock.clone(),
            members: attempt.members.clone(),
            purpose,
            forms: attempt.forms.clone(),
        };
        let form = match self.chains.sign(pool, attempt.flow, act, &request).await {
            Ok(signed) => signed.form,
            Err(NoForm::Stopped) => return self.look_again(pool, carried, Cause::of("STOPPED")),
            Err(NoForm::Unsigned(why)) => return self.look_again(pool, carried, why.cause),
            Err(NoForm::Mismatch(facts)) => {
                self.chains.stop_chain(CHAIN_CONTRADICTION, pool.id(), facts);
                return self.look_again(pool, carried, Cause::of("FORM_MISMATCH"));
            }
        };
        match self.shared.writer.write(one_more_form(attempt, form.clone())).await {
            WriteOutcome::Done(_) => {
                carried.attempt.version = carried.attempt.version.saturating_add(1);
                carried.attempt.forms.push(form);
                (carried.unsent, carried.looks) = (true, 0);
                pool.carried.keep(carried, 0);
            }
            WriteOutcome::Lost(Guard::NotHalted) => {
                self.look_again(pool, carried, Cause::of(Cause::HALTED));
            }
            WriteOutcome::Lost(_) => self.was_moved(pool, carried).await,
            WriteOutcome::NotWritten(_) => self.stored_or_not(pool, carried, &form.name).await,
        }
    }

    /// Finds out whether a form was stored. It is sent only where the journal has it, and behind a later
    /// write.
    async fn stored_or_not(&self, pool: &ChainPool, mut carried: Carried, name: &[u8]) {
        self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        match self.chains.find_attempt(&carried.attempt).await {
            Some(now) if now.closed.is_some() => self.is_over(pool, carried, now).await,
            Some(now) => {
                carried.unsent = now.forms.last().is_some_and(|form| &*form.name == name);
                (carried.attempt, carried.taken) = (now, false);
                pool.carried.keep(carried, 0);
            }
            None => pool.carried.end(carried.attempt.id),
        }
    }

    /// Writes the ends of attempts, each in a unit of its own, all in one write.
    async fn close(&self, pool: &ChainPool, closes: Vec<ProvenEnd>) {
        let (mut drafts, mut pending) = (Vec::with_capacity(closes.len()), Vec::new());
        for end in closes {
            let Some(mut closing) = self.closing(pool, &end).await else {
                self.look_again(pool, end.carried, Cause::of("NOT_CLOSED"));
                continue;
            };
            let ProvenEnd { carried, verdicts, .. } = end;
            if closing.stop.is_some() {
                // before the write: its members are claimed again right behind it
                self.shared.controls.pause(Scope::Chain(pool.id()));
            }
            let unit = std::mem::take(&mut closing.unit);
            let depends_on = std::mem::take(&mut closing.depends_on);
            drafts.push(UnitDraft { unit, depends_on, answered_as: None });
            pending.push(PlannedEnd { carried, verdicts, closing });
        }
        let outcomes = self.shared.writer.write_all(drafts).await;
        for (end, outcome) in pending.into_iter().zip(outcomes) {
            if end.closing.stop.is_some() {
                // written or not, the journal says from here on whether the chain stands
                self.shared.controls.stored(Scope::Chain(pool.id()));
            }
            match outcome {
                WriteOutcome::Done(written) => self.closed_attempt(pool, end, &written).await,
                WriteOutcome::Lost(guard) => self.not_closed(pool, end.carried, guard).await,
                // where it was written after all, the next look finds the attempt closed
                WriteOutcome::NotWritten(_) => {
                    let mut carried = end.carried;
                    carried.closing = true;
                    pool.carried.keep(carried, self.shared.due(1));
                }
            }
        }
    }

    /// Plans an attempt's end. `None`: the journal does not give the state of its lane, or a member stands
    /// in another state.
    async fn closing(&self, pool: &ChainPool, end: &ProvenEnd) -> Option<Closing> {
        let ProvenEnd { carried: Carried { attempt, .. }, verdicts, spent } = end;
        let lane = match self.chains.lane_state(pool.id(), &attempt.lane).await {
            Ok(lane) => lane,
            Err(cause) => {
                tracing::error!(%cause, lane = %attempt.lane, "how a lane stands is not known");
                return None;
            }
        };
        let (spent, at) = (spent.as_ref(), self.shared.parts.journal.now());
        let by_several = pool.port.proves_by_several();
        let closed = Closed { verdicts, spent, by_several, lane: &lane, at };
        let planned =
            self.shared.plan.closing(attempt, &closed, |record| self.shared.fuse_mode(record));
        if planned.is_none() {
            self.chains
                .refused_verdicts(attempt, "a member stands in another state than its attempt");
        }
        planned
    }

    /// Goes on with the members after the end was written.
    async fn closed_attempt(&self, pool: &ChainPool, end: PlannedEnd, written: &Written) {
        let PlannedEnd { carried, verdicts, closing } = end;
        let attempt = carried.attempt;
        if let Some(lane) = closing.lane {
            pool.lane_is(&attempt.lane, lane);
        }
        if let Some(case) = closing.stop {
            self.chains.cases.noted(&case);
            pool.lane_check.close();
        }
        pool.carried.end(attempt.id);
        if let Some(sent_at) = carried.sent_at {
            pool.proof_delay.proven(written.at.saturating_sub(sent_at));
        }
        let mut members = Vec::with_capacity(closing.members.len());
        for ((before, verdict), mut record) in
            attempt.members.iter().zip(verdicts).zip(closing.members)
        {
            record.updated_at = written.at;
            self.chains.isolate(record.id, verdict.alone);
            self.sends.note_sends(Some(before.head), &record);
            members.push(record);
        }
        self.pipeline.reassign(members).await;
    }

    /// Goes on after an end that was lost to a guard.
    async fn not_closed(&self, pool: &ChainPool, carried: Carried, guard: Guard) {
        if guard == Guard::NotHalted {
            // the same end without a further claim
            pool.carried.keep(carried, 0);
        } else if matches!(guard, Guard::Attempt { .. }) {
            self.was_moved(pool, carried).await;
        } else if matches!(guard, Guard::Incarnation { .. }) {
            self.look_again(pool, carried, Cause::of("WRONG_LEDGER"));
        } else {
            // a person's action wrote a member, or the lane is another one by now
            tracing::info!(?guard, attempt = %Id(carried.attempt.id.0), "an end is planned again");
            self.reread_later(pool, carried).await;
        }
    }
}

impl Chains {
    /// Drops a record that stands in a sending state: its attempt carries it, in this process or in
    /// another.
    pub(crate) fn in_an_attempt(&self, record: &Record) {
        self.in_flight.release(record.id);
        self.shared.watch(record.id, record.head.version);
    }
}
