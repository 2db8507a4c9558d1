//! Gatherers make attempts of waiting transfers: one station per (flow, state before a claim, chain). A
//! gatherer takes the transfers that came while the lanes were busy, up to the cap of an attempt, has them
//! signed under the next lock of a free lane, and stores attempt, members and lane in one unit. It sends
//! nothing.
//!
//! What keeps an attempt from being stored leaves no trace, but for a line in the history of a transfer that the
//! chain's providers hold up: the transfers wait in their queue.

use crate::chains::form::NoForm;
use crate::chains::gather::{ClaimOutcome, Gathering, TROUBLE};
use crate::chains::orphans::{OrphanClaim, PayingStep};
use crate::commit::outcome::WriteOutcome;
use crate::drive::Pipeline;
use crate::drive::station::Station;
use crate::plan::chain_stop::stops_name;
use crate::plan::claim::Claim;
use crate::state::case_kinds::CHAIN_CONTRADICTION;
use crate::state::queue::Batch;
use kernel::answer::Cause;
use kernel::attempt::{AttemptId, Purpose};
use kernel::flow::life::Leg;
use kernel::ids::{ChainId, Id, Millis};
use kernel::ports::chain::{Chain, SignRequest, Signed, Unsigned};
use kernel::ports::meter::Seen;
use kernel::record::{Party, Record};
use kernel::unit::Guard;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest wait before a resting transfer is looked at again, in milliseconds: its rest may be over
/// earlier than the port said.
const LOOK_AGAIN: Millis = 5_000;

impl Pipeline {
    pub(crate) async fn run_gatherer(self: &Arc<Self>, station: &Station, chain: ChainId) {
        let Some(pool) = self.chains.pool(chain).cloned() else {
            return self.run_without_chain(station).await;
        };
        let table = self.shared.plan.table(station.place.flow);
        let kernel::flow::life::Step::Claim { to } = table.step(station.place.state) else {
            return;
        };
        let Some(act) = table.makes(to) else { return };
        let name = table.act(act).name;
        loop {
            self.passage(&station.place).await;
            // what comes while every lane is busy gathers into the next attempt
            station.queue.ready(&*self.shared.parts.journal, &*self.shared.parts.clock).await;
            pool.lane_check.passed().await;
            let lane = self.chains.reserve_lane(&pool, name).await;
            let Some(batch) = station.queue.try_take(pool.port.cap(name)) else { continue };
            let batch = self.without_resting(station, &*pool.port, name, batch).await;
            let records = self.gathered(station, batch).await;
            if !records.is_empty() {
                let gathering = Gathering { pool: pool.clone(), lane, act, to };
                self.gather(station, gathering, records).await;
            }
        }
    }

    /// Puts off the transfers of a chain for which this process has no port: another process may have one.
    async fn run_without_chain(self: &Arc<Self>, station: &Station) {
        let cause = Cause::of("NO_CHAIN");
        loop {
            let (journal, clock) = (&*self.shared.parts.journal, &*self.shared.parts.clock);
            let cap = self.shared.parts.settings.batch_max;
            let records = match station.queue.take(cap, journal, clock).await {
                Batch::Many(records) => records,
                Batch::Alone(record) => vec![record],
            };
            let jobs = records.into_iter().map(|record| self.postponed(record, &cause)).collect();
            self.commit(jobs).await;
        }
    }

    /// Returns the transfers of a batch whose asset can be paid now. The others wait in the queue, where
    /// they take no place from those that can go on. Nothing is written about them: there may be many of
    /// them for long.
    async fn without_resting(
        self: &Arc<Self>,
        station: &Station,
        port: &dyn Chain,
        act: &str,
        batch: Batch,
    ) -> Batch {
        let (records, alone) = match batch {
            Batch::Many(records) => (records, false),
            Batch::Alone(record) => (vec![record], true),
        };
        let (mut going, mut over) = (Vec::with_capacity(records.len()), Vec::new());
        for mut record in records {
            let Some(rests) = port.rests_for(act, &record) else {
                going.push(record);
                continue;
            };
            let wait = if rests < LOOK_AGAIN { rests } else { LOOK_AGAIN };
            record.head.due_at = Some(self.shared.parts.journal.now().saturating_add(wait));
            over.extend(station.queue.keep(record));
        }
        if !over.is_empty() {
            let jobs = over.into_iter().map(|record| self.overflowed(station, record)).collect();
            Box::pin(self.commit(jobs)).await;
        }
        match (alone, going.pop()) {
            (true, Some(record)) => Batch::Alone(record),
            (_, last) => {
                going.extend(last);
                Batch::Many(going)
            }
        }
    }

    /// Returns the transfers of a batch that may be claimed together now, and brings the others to where
    /// they belong.
    async fn gathered(self: &Arc<Self>, station: &Station, batch: Batch) -> Vec<Record> {
        let (records, alone) = match batch {
            Batch::Many(records) => (records, false),
            Batch::Alone(record) => (vec![record], true),
        };
        let mut records = self.unbarred(records).await;
        if !self.open(&station.place) {
            station.queue.give_back(records);
            return Vec::new();
        }
        // whatever brought a record here: it is claimed from its own state, or not
        let astray = records.extract_if(.., |record| record.head.state != station.place.state);
        let astray: Vec<Record> = astray.collect();
        if !astray.is_empty() {
            let freed = self.advance(astray);
            Box::pin(self.commit(freed)).await;
        }
        if alone {
            let Some(record) = records.pop() else { return records };
            return self.tried_alone(record).await.into_iter().collect();
        }
        let (group, others) = together(records);
        station.queue.give_back(others);
        group
    }

    /// Makes one attempt, from its lock to the unit that stores it.
    async fn gather(
        self: &Arc<Self>,
        station: &Station,
        gathering: Gathering,
        records: Vec<Record>,
    ) {
        let Gathering { pool, lane, act, to } = &gathering;
        let records = self.without_orphans(station, &gathering, records).await;
        if records.is_empty() {
            return;
        }
        self.chains.tell_carried_out(pool, &records).await;
        let lock = match self.chains.next_lock(pool, lane, &records).await {
            Ok(lock) => lock,
            Err(cause) => {
                self.chains.no_lock(&gathering, &cause);
                return self.give_back_held_up(station, records, &cause).await;
            }
        };
        let mut records = self.tried_in_company(station, records).await;
        if records.is_empty() {
            return;
        }
        let table = self.shared.plan.table(station.place.flow);
        let request = SignRequest {
            flow: table.flow,
            act: table.act(*act).name,
            lane: lane.name.clone(),
            lock: lock.clone(),
            members: records.as_slice().into(),
            purpose: Purpose::Pay,
            forms: Vec::new(),
        };
        let Signed { form, pays } =
            match self.chains.sign(pool, station.place.flow, *act, &request).await {
                Ok(signed) => signed,
                Err(why) => return self.unsigned(station, &gathering, records, why).await,
            };
        // those that did not fit wait for the next attempt
        let rest = records.split_off(pays.len());
        station.queue.give_back(rest);
        let claim = Claim {
            id: AttemptId(self.shared.mint().0),
            flow: station.place.flow,
            chain: pool.id(),
            lane: &lane.name,
            state: Some(&lane.state),
            lock,
            form,
            to: *to,
            level: Some(pool.lane_check.guard(pool.id())),
        };
        if !pool.lane_check.is_open() {
            return give_back_untried(station, records);
        }
        let (attempt, unit) = self.shared.plan.claimed(&records, claim);
        self.shared.parts.meter.see(Seen::Batch { station: &station.name, items: records.len() });
        match self.chains.write_claim(&attempt, unit).await {
            ClaimOutcome::Stored(written) => {
                self.chains.hold_attempt(&gathering, attempt, Some(written))
            }
            ClaimOutcome::Found(attempt) => self.chains.hold_attempt(&gathering, attempt, None),
            ClaimOutcome::Lost(guard) => {
                self.not_claimed(station, &gathering, records, &guard).await;
            }
            ClaimOutcome::Contradicted(_) => {
                // the flow is paused, so that the next claim waits for a person
                lane.rests(self.shared.due(TROUBLE));
                give_back_untried(station, records);
            }
        }
    }

    /// Takes those transfers out of a batch that were paid before the journal was restored.
    async fn without_orphans(
        self: &Arc<Self>,
        station: &Station,
        Gathering { pool, act, to, .. }: &Gathering,
        records: Vec<Record>,
    ) -> Vec<Record> {
        let step = PayingStep { pool, act: *act, to: *to };
        // what prepares a payment is done all the same: nothing is closed before its own payment's turn
        let prepares =
            |record: &Record| self.shared.plan.table(record.flow).act(*act).leg == Some(Leg::Cost);
        let (mut others, mut jobs) = (Vec::with_capacity(records.len()), Vec::new());
        for record in records {
            let orphan = pool.orphans.of(record.id).filter(|_| !prepares(&record));
            let Some(orphan) = orphan else {
                others.push(record);
                continue;
            };
            match self.chains.claim_orphan(step, &record, &orphan).await {
                OrphanClaim::Held => {}
                OrphanClaim::Refused(cause) => jobs.push(self.postponed(record, &cause)),
                OrphanClaim::Lost(guard) => {
                    if guard == pool.lane_check.guard(pool.id()) {
                        pool.lane_check.close();
                    }
                    let moved = self.still_here(station, vec![record]).await;
                    jobs.extend(self.advance(moved));
                }
            }
        }
        if !jobs.is_empty() {
            Box::pin(self.commit(jobs)).await;
        }
        others
    }

    /// Goes on after nothing was signed. Nothing is written, except for a member that cannot be signed for.
    async fn unsigned(
        self: &Arc<Self>,
        station: &Station,
        Gathering { pool, lane, .. }: &Gathering,
        mut records: Vec<Record>,
        why: NoForm,
    ) {
        match why {
            NoForm::Stopped => give_back_untried(station, records),
            NoForm::Mismatch(facts) => {
                give_back_untried(station, records);
                self.chains.stop_chain(CHAIN_CONTRADICTION, pool.id(), facts);
            }
            NoForm::Unsigned(Unsigned { cause, culprit }) => {
                tracing::warn!(chain = pool.id().name(), %cause, ?culprit, "nothing was signed");
                let out = culprit.filter(|at| *at < records.len()).map(|at| records.remove(at));
                if out.is_none() {
                    lane.rests(self.shared.due(TROUBLE));
                }
                let panicked = cause.class == "PANIC" && records.len() > 1;
                for record in records.iter_mut().filter(|_| panicked) {
                    // one of them is to blame, and which is not known
                    record.head.alone = true;
                }
                if cause.class == "PANIC" {
                    station.queue.give_back(records);
                } else {
                    self.give_back_held_up(station, records, &cause).await;
                }
                if let Some(record) = out {
                    let job = self.postponed(record, &cause);
                    self.commit(vec![job]).await;
                }
            }
        }
    }

    /// Gives transfers back of which no attempt was stored. Those that the chain's providers hold up from this try on
    /// are postponed with a line in their history: once an episode, and later tries write nothing.
    async fn give_back_held_up(
        self: &Arc<Self>,
        station: &Station,
        records: Vec<Record>,
        cause: &Cause,
    ) {
        let begins = |record: &Record| self.trouble_begins(record, cause).is_some();
        let (held_up, others): (Vec<Record>, Vec<Record>) = records.into_iter().partition(begins);
        give_back_untried(station, others);
        if !held_up.is_empty() {
            let jobs = held_up.into_iter().map(|record| self.postponed(record, cause)).collect();
            Box::pin(self.commit(jobs)).await;
        }
    }

    /// Goes on after the unit was not written: each transfer waits again, or goes on as it stands now.
    async fn not_claimed(
        self: &Arc<Self>,
        station: &Station,
        Gathering { pool, lane, .. }: &Gathering,
        records: Vec<Record>,
        guard: &Guard,
    ) {
        match guard {
            Guard::NotHalted => give_back_untried(station, records),
            Guard::Resource { name, .. } if *name == stops_name(pool.id()) => {
                // the chain was stopped since this process found its lanes level
                pool.lane_check.close();
                give_back_untried(station, records);
            }
            Guard::Resource { .. } => {
                // another worker has the lane
                if let Err(cause) = self.chains.read_lanes(pool).await {
                    tracing::error!(%cause, "the lanes of a chain cannot be read");
                    lane.rests(self.shared.due(TROUBLE));
                }
                give_back_untried(station, records);
            }
            Guard::LockFree { lock, .. } => {
                give_back_untried(station, records);
                let facts = format!("lane {}: lock {lock} was used before", lane.name);
                self.chains.stop_chain(CHAIN_CONTRADICTION, pool.id(), facts);
            }
            Guard::Transfer { .. } => {
                let moved = self.still_here(station, records).await;
                let freed = self.advance(moved);
                self.commit(freed).await;
            }
            Guard::Fresh(_)
            | Guard::Unbound { .. }
            | Guard::Attempt { .. }
            | Guard::Inbox { .. }
            | Guard::Halt(_)
            | Guard::Incarnation { .. }
            | Guard::Owner { .. }
            | Guard::Account { .. }
            | Guard::AtMost { .. }
            | Guard::AtLeast { .. }
            | Guard::DayCount { .. }
            | Guard::DayAmount { .. }
            | Guard::NoPastAction { .. }
            | Guard::Pending(_) => {
                tracing::error!(?guard, "a claim was lost");
                lane.rests(self.shared.due(TROUBLE));
                give_back_untried(station, records);
            }
        }
    }

    /// Gives the transfers back to the queue that stand where they stood, and returns the others as they
    /// stand now.
    pub(crate) async fn still_here(&self, station: &Station, records: Vec<Record>) -> Vec<Record> {
        let stored = self.shared.read(records.iter().map(|record| record.id).collect()).await;
        let mut stored: BTreeMap<Id, Record> =
            stored.into_iter().map(|record| (record.id, record)).collect();
        let (mut same, mut moved) = (Vec::new(), Vec::new());
        for record in records {
            match stored.remove(&record.id) {
                Some(now) if now.head.version == record.head.version => same.push(record),
                now => moved.extend(self.in_flight.release_moved(record.id, now)),
            }
        }
        station.queue.give_back(same);
        moved
    }

    /// Marks the suspects of a batch in the journal as tried, and returns all that may be tried now. A
    /// suspect whose mark may not be written waits again, or goes on as it stands.
    pub(crate) async fn tried_in_company(
        self: &Arc<Self>,
        station: &Station,
        records: Vec<Record>,
    ) -> Vec<Record> {
        let (suspects, mut tried): (Vec<Record>, Vec<Record>) = {
            let known = self.chains.suspects();
            records.into_iter().partition(|record| known.contains(&record.id))
        };
        if suspects.is_empty() {
            return tried;
        }
        let trials: Vec<_> =
            suspects.iter().map(|record| self.shared.plan.trial(record, false)).collect();
        let drafts = trials.iter().map(|trial| trial.unit.clone().into()).collect();
        let outcomes = self.shared.writer.write_all(drafts).await;
        let (mut marked, mut unmarked) = (Vec::with_capacity(suspects.len()), Vec::new());
        for ((record, trial), outcome) in suspects.into_iter().zip(trials).zip(outcomes) {
            match outcome {
                WriteOutcome::Done(_) => {
                    marked.push(Record { head: trial.next.otherwise, ..record })
                }
                WriteOutcome::Lost(_) | WriteOutcome::NotWritten(_) => unmarked.push(record),
            }
        }
        if !unmarked.is_empty() {
            let moved = self.still_here(station, unmarked).await;
            let freed = self.advance(moved);
            self.commit(freed).await;
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
        for record in &marked {
            self.chains.suspects().remove(&record.id);
        }
        tried.extend(marked);
        tried
    }
}

/// Splits a batch into the transfers that one attempt can pay, which have the asset and the source account
/// of the first one, and the others.
fn together(records: Vec<Record>) -> (Vec<Record>, Vec<Record>) {
    let of = |record: &Record| {
        let Party { account, asset, .. } = record.source();
        (account.clone(), *asset, record.target().asset)
    };
    let first = records.first().map(of);
    records.into_iter().partition(|record| Some(of(record)) == first)
}

/// Returns to their queue the transfers whose attempt was not stored although their worker lives. The
/// worker did not die of them, so the deaths that a try had counted are set to 0. Nothing is written, and
/// nothing else is counted: the reason is the chain, and no transfer.
fn give_back_untried(station: &Station, mut records: Vec<Record>) {
    for record in &mut records {
        record.head.deaths = 0;
    }
    station.queue.give_back(records);
}
