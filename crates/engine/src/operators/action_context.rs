//! The context of one action while the engine executes it: the rows that record it, and the lock that gives
//! each key one action at a time.

use crate::commit::outcome::{NotWritten, UnitDraft, WriteOutcome};
use crate::operators::Operators;
use crate::operators::{ActionResult, Actor, AdminAction, HISTORY_EVENT, Objection};
use crate::plan::guards::noted_at;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis};
use kernel::operators::{Action, ActionRow, SecondPerson};
use kernel::record::Record;
use kernel::unit::{Event, Guard, Put, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Why an action was not done now.
#[derive(Debug)]
pub(crate) enum Stop {
    Objection(Objection),
    /// The key has been used meanwhile: the caller looks up for what.
    KeyUsed,
}

impl From<Objection> for Stop {
    fn from(objection: Objection) -> Self {
        Self::Objection(objection)
    }
}

impl From<Cause> for Stop {
    fn from(cause: Cause) -> Self {
        Self::Objection(Objection::Unknown(cause))
    }
}

/// An action, and who asks for it, in the words of the audit.
#[derive(Debug, Clone)]
pub(crate) struct ActionContext {
    pub actor: Actor,
    pub kind: &'static str,
    pub subject: Arc<str>,
    pub value: Arc<str>,
    /// The action waits for another person.
    pub proposes: bool,
    /// The proposal that this action approves.
    pub approval: Option<Id>,
}

impl ActionContext {
    pub(crate) fn of(shared: &SharedState, actor: Actor, action: &AdminAction) -> Self {
        let ActionRow { kind, subject, second_person, permission: _ } = action.row();
        let proposes = match second_person {
            SecondPerson::Never => false,
            SecondPerson::FourEyes => shared.parts.settings.four_eyes,
            SecondPerson::Always => true,
        };
        let subject = subject.spelled(&shared.plan.flows, &shared.assets()).into();
        let approval = if let AdminAction::Approve(id) = action { Some(*id) } else { None };
        let value = action.value().to_string().into();
        Self { actor, kind, subject, value, proposes, approval }
    }

    /// The context of an action that is written into a store beside its servers: of the service or an asset, which need
    /// no name that a server knows, and at once.
    pub(crate) fn beside(actor: Actor, action: &AdminAction) -> Self {
        let ActionRow { kind, subject, .. } = action.row();
        let subject = subject.spelled(&Flows::default(), &[]).into();
        let value = action.value().to_string().into();
        Self { actor, kind, subject, value, proposes: false, approval: None }
    }

    /// The row of the audit with its result, as a part of a unit.
    pub(crate) fn action(&self, outcome: &ActionResult) -> Put {
        Put::Action(self.row(outcome))
    }

    /// The row of the audit with its result.
    pub(crate) fn row(&self, outcome: &ActionResult) -> Action {
        let Actor { caller, key, reason } = self.actor.clone();
        Action {
            caller,
            key,
            kind: self.kind,
            subject: self.subject.clone(),
            value: self.value.clone(),
            reason,
            result: outcome.stored(),
        }
    }

    /// The line in the history of the transfer that it is about.
    pub(crate) fn event(&self, record: &Record) -> Event {
        let detail = BTreeMap::from([
            ("action", self.kind),
            ("reason", &*self.actor.reason),
            ("value", &*self.value),
        ]);
        let detail = serde_json::json!(detail).to_string();
        noted_at(record, HISTORY_EVENT, Some(self.actor.caller.clone()), detail.into())
    }
}

impl Operators {
    /// Writes an action's unit. Returns the time of the write, or the guard that failed.
    pub(crate) async fn write_unit(
        &self,
        draft: impl Into<UnitDraft>,
    ) -> Result<Result<Millis, Guard>, Stop> {
        match self.shared.writer.write(draft).await {
            WriteOutcome::Done(written) => Ok(Ok(written.at)),
            WriteOutcome::Lost(Guard::NoPastAction { .. }) => Err(Stop::KeyUsed),
            WriteOutcome::Lost(Guard::Pending(_)) => {
                Err(Objection::NotPossible("another request has just decided".to_owned()).into())
            }
            WriteOutcome::Lost(Guard::Owner { .. }) => Err(Cause::of("RETIRED").into()),
            WriteOutcome::Lost(guard) => Ok(Err(guard)),
            WriteOutcome::NotWritten(NotWritten { cause, refused }) => {
                let unknown = Objection::Unknown(cause);
                Err(refused.map_or(unknown, Objection::Code).into())
            }
        }
    }

    /// Writes an action that nothing but the key guards.
    pub(crate) async fn write_unguarded(
        &self,
        context: &ActionContext,
        puts: Vec<Put>,
        outcome: ActionResult,
    ) -> Result<(ActionResult, Millis), Stop> {
        let mut puts = puts;
        puts.push(context.action(&outcome));
        match self.write_unit(Unit::puts(puts)).await? {
            Ok(at) => Ok((outcome, at)),
            Err(guard) => Err(Cause::because("LOST", format!("{guard:?}")).into()),
        }
    }
}

/// The keys whose actions are being executed.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    busy: Mutex<BTreeSet<(Arc<str>, Arc<str>)>>,
    ended: Notify,
}

/// The turn of a key, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    key: (Arc<str>, Arc<str>),
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.busy().remove(&self.key);
        self.turns.ended.notify_waiters();
    }
}

impl Turns {
    fn busy(&self) -> MutexGuard<'_, BTreeSet<(Arc<str>, Arc<str>)>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other action under this key is being executed.
    pub(crate) async fn take(&self, actor: &Actor) -> Turn<'_> {
        let key = (actor.caller.clone(), actor.key.clone());
        loop {
            let ended = self.ended.notified();
            if self.busy().insert(key.clone()) {
                return Turn { turns: self, key };
            }
            ended.await;
        }
    }
}
