//! Executes the actions on one transfer.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, Objection, StoredAnswer};
use crate::plan::guards::at_state;
use crate::state::select::{First, caught, race};
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operation::{Key, Op, Operation, StoredOutcome as Ended};
use kernel::operators::Scope;
use kernel::ports::ledger::Stored;
use kernel::record::{Head, Record};
use kernel::unit::{Guard, Hold, Put, Then, Unit};

/// A transfer that moves this often during an action needs no operator.
const TRIES: usize = 50;

impl Operators {
    /// A transfer that has not ended.
    pub(crate) async fn open_transfer(&self, id: Id) -> Result<Record, Stop> {
        let found = self.shared.parts.journal.get(vec![id]).await?.pop();
        let record = found.ok_or(Objection::NotFound("transfer"))?;
        let table = self.shared.plan.table(record.flow);
        if table.ends(record.head.state) {
            let name = table.state(record.head.state).name;
            return Err(Objection::NotPossible(format!("it has ended: {name}")).into());
        }
        Ok(record)
    }

    /// Writes an action with its event in a transfer's history, at the state of the transfer then; again
    /// where it moved meanwhile.
    pub(crate) async fn write_with_event(
        &self,
        context: &ActionContext,
        id: Id,
        outcome: ActionResult,
        puts: impl Fn(&Record) -> Vec<Put>,
    ) -> Result<(Record, ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let record = self.open_transfer(id).await?;
            let mut puts = puts(&record);
            puts.push(context.action(&outcome));
            let events = vec![context.event(&record)];
            let unit = Unit {
                guards: vec![at_state(&record)],
                then: Then { puts, events, ..Then::default() },
            };
            match self.write_unit(unit).await? {
                Ok(at) => return Ok((record, outcome, at)),
                Err(Guard::Transfer { .. }) => {}
                Err(guard) => return Err(Cause::because("LOST", format!("{guard:?}")).into()),
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Makes the next attempt due in the unit of the action, whichever worker has the transfer.
    async fn due_now(
        &self,
        context: &ActionContext,
        id: Id,
        outcome: ActionResult,
    ) -> Result<(ActionResult, Millis), Stop> {
        if self.shared.plan.in_attempt(&self.open_transfer(id).await?) {
            return self.attempt_due_now(context, id, outcome).await;
        }
        let (mut record, outcome, at) = self
            .write_with_event(context, id, outcome, |record| {
                if self.shared.plan.in_attempt(record) {
                    // it was claimed meanwhile: its attempt is looked at often
                    return Vec::new();
                }
                let mut put =
                    Put::Head { id, head: now(record.head), error: None, hold: Hold::Mine };
                self.for_others(record, &mut put);
                vec![put]
            })
            .await?;
        if self.shared.plan.in_attempt(&record) {
            return Ok((outcome, at));
        }
        let before = record.head;
        record.head = now(record.head);
        self.sends.note_sends(Some(before), &record);
        self.pipeline.reassign(vec![record]).await;
        Ok((outcome, at))
    }

    /// Has a prover look now at the attempt of a transfer, where this process carries it; another process
    /// looks at least once in the longest backoff. No row of the member is written, since its version
    /// guards the unit that ends the attempt.
    async fn attempt_due_now(
        &self,
        context: &ActionContext,
        id: Id,
        outcome: ActionResult,
    ) -> Result<(ActionResult, Millis), Stop> {
        let (_, outcome, at) = self.write_with_event(context, id, outcome, |_| Vec::new()).await?;
        if let Some(attempt) = self.chains.open_attempt_of(id).await?
            && let Some(pool) = self.chains.pool(attempt.chain)
        {
            let here = pool.carried.poke(attempt.id);
            tracing::info!(attempt = %Id(attempt.id.0), here, "an attempt is looked at now");
        }
        Ok((outcome, at))
    }

    /// Goes on with a transfer after the action was written. Where no workers run here, those of other
    /// processes do; where events drive the flow, the scanner sends the message again.
    pub(crate) fn for_others(&self, record: &Record, put: &mut Put) {
        if self.shared.parts.settings.workers && !self.shared.follows_events(record.flow) {
            return;
        }
        if let Put::Head { head, hold, .. } = put
            && !self.shared.plan.table(record.flow).ends(head.state)
        {
            head.due_at = Some(self.shared.parts.journal.now());
            *hold = Hold::Free;
        }
    }

    pub(super) async fn retry(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.due_now(context, id, ActionResult::Retried).await
    }

    /// Writes a note about a transfer, which may have ended. Only the audit has it, since the transfer's
    /// user may read its history.
    pub(super) async fn note_transfer(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let found = self.shared.parts.journal.get(vec![id]).await?.pop();
        found.ok_or(Objection::NotFound("transfer"))?;
        self.write_unguarded(context, Vec::new(), ActionResult::Noted).await
    }

    /// Asks the ledger of the open call. The call's own repeat takes the answer that is stored there.
    pub(super) async fn ask(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let record = self.open_transfer(id).await?;
        let (ledger, op) = self.open_call(&record)?;
        let said = self.query_stored(ledger, op.key).await;
        let said =
            said.map_or_else(|cause| StoredAnswer::Unknown { why: cause.to_string().into() }, told);
        let answers = match &said {
            StoredAnswer::Done { .. } | StoredAnswer::Rejected(_) | StoredAnswer::Fenced => true,
            StoredAnswer::Nothing
            | StoredAnswer::Unknown { .. }
            | StoredAnswer::NeverSent { .. } => false,
        };
        let outcome = ActionResult::Asked { ledger, leg: op.key.leg, said };
        if answers {
            return self.due_now(context, id, outcome).await;
        }
        let (_, outcome, at) = self.write_with_event(context, id, outcome, |_| Vec::new()).await?;
        Ok((outcome, at))
    }

    /// The ledger and the operation of a transfer's open call.
    pub(crate) fn open_call(&self, record: &Record) -> Result<(LedgerId, Op), Objection> {
        let name = self.shared.plan.table(record.flow).state(record.head.state).name;
        if let Some(chain) = self.shared.plan.chain_of(record) {
            // a verdict needs what the law asks of a machine, and the machine takes it by itself
            let chain = chain.name();
            let why = format!(
                "{name} waits for a proof of {chain}: only that ends an attempt, for all its members. The \
                 chain is asked again and again; `retry` has it asked now"
            );
            return Err(Objection::NotPossible(why));
        }
        let none = || Objection::NotPossible(format!("{name} waits for no answer of a ledger"));
        let ledger = self.shared.plan.calls(record).ok_or_else(none)?;
        Ok((ledger, self.shared.plan.calls_op(record).ok_or_else(none)?))
    }

    /// Asks a ledger what it has stored under a key. The question has no effect, so the wait for it is
    /// bounded.
    pub(crate) async fn query_stored(&self, ledger: LedgerId, key: Key) -> Result<Stored, Cause> {
        let port = self.shared.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        let known = self.shared.controls.known(ledger).ok_or(Cause::of("NOT_ADOPTED"))?;
        let timeout = self.shared.parts.clock.sleep(self.shared.parts.settings.open_timeout_ms);
        match race(caught(async { port.query(known, key).await }), timeout).await {
            First::Left(Some(reply)) => self.ledgers.verify_identity(ledger, known, reply),
            First::Left(None) => Err(Cause::of("PANIC")),
            First::Right(()) => Err(Cause::of("TIMEOUT")),
        }
    }

    pub(super) async fn pause_transfer(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        let (scope, caller) = (Scope::Transfer(id), context.actor.caller.clone());
        let reason = context.actor.reason.clone();
        let pause = Put::Pause { scope, reason, caller };
        let puts = |_: &Record| vec![pause.clone()];
        let (_, outcome, at) =
            self.write_with_event(context, id, ActionResult::Paused { number: None }, puts).await?;
        self.status.refresh().await?;
        Ok((outcome, at))
    }

    pub(super) async fn resume_transfer(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.open_transfer(id).await?;
        let status = self.shared.parts.journal.service_status().await?;
        let mine = status.paused.iter().filter(|paused| paused.scope == Scope::Transfer(id));
        let lifts: Vec<Put> = mine.map(|paused| Put::Unpause(paused.number)).collect();
        if lifts.is_empty() {
            return Err(Objection::NotFound("pause").into());
        }
        let puts = |_: &Record| lifts.clone();
        let (_, outcome, at) =
            self.write_with_event(context, id, ActionResult::Unpaused, puts).await?;
        self.status.refresh().await?;
        Ok((outcome, at))
    }
}

/// The head of a transfer whose next attempt is due, in the workers of some process.
pub(super) fn now(head: Head) -> Head {
    Head { version: head.version.saturating_add(1), due_at: None, ..head }
}

/// The stored answer of a ledger, as text.
pub(crate) fn told(stored: Stored) -> StoredAnswer {
    match stored {
        Stored::Nothing => StoredAnswer::Nothing,
        Stored::Found(Operation { seq, outcome, .. }) => match outcome {
            Ended::Done => StoredAnswer::Done { seq },
            Ended::Rejected(why) => StoredAnswer::Rejected(why),
            Ended::Fenced => StoredAnswer::Fenced,
        },
    }
}
