//! Takes over attempts of other workers and of earlier runs, and attempts whose unit had no clear outcome.
//! The write that takes an attempt over raises its version, so every unit of its former owner fails.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::chains::carried::Carried;
use crate::commit::outcome::{UnitDraft, WriteOutcome};
use crate::drive::prove::Prover;
use crate::plan::close::{freed, taken_over};
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ids::{Id, Millis};
use kernel::record::Record;

/// The milliseconds that the journal adds to a lease for a worker that forgot it.
const LONGER: Millis = 5_000;

impl Chains {
    /// Takes over attempts that the journal gave to this worker.
    pub(crate) async fn take_in(&self, attempts: Vec<Attempt>) {
        let mut others: Vec<UnitDraft> = Vec::new();
        for attempt in attempts {
            match self.pool(attempt.chain) {
                Some(pool) => {
                    tracing::info!(attempt = %Id(attempt.id.0), "an attempt of another run is taken up");
                    pool.carried.begin(Carried::found(attempt), 0);
                }
                None => {
                    tracing::warn!(chain = attempt.chain.name(), "this chain is not served here");
                    let due = self
                        .shared
                        .parts
                        .journal
                        .now()
                        .saturating_add(self.shared.parts.settings.backoff.cap);
                    others.push(freed(&attempt, due).into());
                }
            }
        }
        // what is not written stays with this worker until its lease is over
        let _stored = self.shared.writer.write_all(others).await;
    }

    /// The attempt as the journal has it, with its members as they stand now. It asks until the journal
    /// answers.
    pub(crate) async fn find_attempt(&self, attempt: &Attempt) -> Option<Attempt> {
        let first: Vec<Id> = attempt.members.iter().map(|member| member.id).take(1).collect();
        loop {
            match self.shared.parts.journal.attempts_of(first.clone()).await {
                Ok(found) => return found.into_iter().find(|found| found.id == attempt.id),
                Err(cause) => tracing::error!(%cause, "the journal does not answer"),
            }
            self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        }
    }

    /// Carries the open attempts of these transfers, which this process may have to carry without knowing it.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn take_up_attempts_of(&self, ids: Vec<Id>) -> Result<(), Cause> {
        if ids.is_empty() {
            return Ok(());
        }
        let found = self.shared.parts.journal.attempts_of(ids).await?;
        let wait =
            if self.shared.lease.ends() { self.shared.parts.settings.lease_ms + LONGER } else { 0 };
        let due = self.shared.parts.journal.now().saturating_add(wait);
        for attempt in found.into_iter().filter(|attempt| attempt.closed.is_none()) {
            if let Some(pool) = self.pool(attempt.chain) {
                pool.carried.begin(Carried::found(attempt), due);
            }
        }
        Ok(())
    }

    /// The open attempt that carries a transfer.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn open_attempt_of(&self, id: Id) -> Result<Option<Attempt>, Cause> {
        let found = self.shared.parts.journal.attempts_of(vec![id]).await?;
        Ok(found.into_iter().find(|attempt| attempt.closed.is_none()))
    }
}

impl Prover {
    /// Makes sure that this run wrote the last version of each attempt, and drops those that are closed.
    /// Returns the attempts to look at now.
    pub(crate) async fn take_up(&self, pool: &ChainPool, batch: Vec<Carried>) -> Vec<Carried> {
        let (mut ready, mut takes) = (Vec::with_capacity(batch.len()), Vec::new());
        for mut carried in batch {
            if carried.closing {
                // its end may have been written
                match self.chains.find_attempt(&carried.attempt).await {
                    Some(now) if now.closed.is_some() => {
                        self.is_over(pool, carried, now).await;
                        continue;
                    }
                    Some(now) => {
                        (carried.attempt, carried.closing, carried.taken) = (now, false, false)
                    }
                    None => {
                        pool.carried.end(carried.attempt.id);
                        continue;
                    }
                }
            }
            if carried.taken { ready.push(carried) } else { takes.push(carried) }
        }
        if takes.is_empty() {
            return ready;
        }
        let drafts = takes.iter().map(|carried| taken_over(&carried.attempt).into()).collect();
        let outcomes = self.shared.writer.write_all(drafts).await;
        for (mut carried, outcome) in takes.into_iter().zip(outcomes) {
            match outcome {
                WriteOutcome::Done(_) => {
                    carried.attempt.version = carried.attempt.version.saturating_add(1);
                    carried.taken = true;
                    ready.push(carried);
                }
                WriteOutcome::Lost(_) => self.was_moved(pool, carried).await,
                WriteOutcome::NotWritten(_) => self.reread_later(pool, carried).await,
            }
        }
        ready
    }

    /// Goes on with the attempt as it is stored, after a unit without a clear outcome.
    pub(crate) async fn reread_later(&self, pool: &ChainPool, mut carried: Carried) {
        self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.base).await;
        match self.chains.find_attempt(&carried.attempt).await {
            Some(now) if now.closed.is_some() => self.is_over(pool, carried, now).await,
            Some(now) => {
                (carried.attempt, carried.taken) = (now, false);
                pool.carried.keep(carried, self.shared.due(1));
            }
            None => pool.carried.end(carried.attempt.id),
        }
    }

    /// Another worker wrote the attempt, or an earlier unit of this run did without an answer. This process
    /// takes it over where no worker moves it for longer than any lease lasts.
    pub(crate) async fn was_moved(&self, pool: &ChainPool, mut carried: Carried) {
        match self.chains.find_attempt(&carried.attempt).await {
            Some(now) if now.closed.is_some() => self.is_over(pool, carried, now).await,
            Some(now) => {
                let wait = self.shared.parts.settings.lease_ms.saturating_add(LONGER);
                let wait = if self.shared.lease.ends() { wait } else { 0 };
                // what another worker may have signed or sent is not known here
                carried.unsent =
                    carried.unsent && now.forms.len() == carried.attempt.forms.len() && wait == 0;
                (carried.attempt, carried.taken) = (now, false);
                pool.carried.keep(carried, self.shared.parts.journal.now().saturating_add(wait));
            }
            None => pool.carried.end(carried.attempt.id),
        }
    }

    /// Ends an attempt that was closed without an answer to this run. Where the unit that closed it may be of this
    /// run, its members go on here; otherwise only the callers that wait for an end are told.
    pub(crate) async fn is_over(&self, pool: &ChainPool, carried: Carried, now: Attempt) {
        pool.carried.end(now.id);
        if let Err(cause) = self.chains.read_lanes(pool).await {
            tracing::warn!(%cause, "the lanes of a chain cannot be read");
        }
        let members: Vec<Record> = now.members.iter().cloned().collect();
        if carried.closing || !self.shared.lease.ends() {
            self.pipeline.reassign(members).await;
            return;
        }
        for member in members {
            if self.shared.plan.table(member.flow).ends(member.head.state) {
                self.shared.waiters.tell(member);
            }
        }
    }
}
