//! Carries changes of users' statuses to their ledgers. Each change is first written into the journal as an intent, and
//! is repeated from there, by any process, until its ledger has it.
//!
//! One row holds all intents. Its version guards each change of it, and an account has one intent at a time: so an
//! account gets its statuses in the order in which they were decided.

use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::pause::lost;
use crate::operators::{ActionResult, Actor, Operators};
use kernel::answer::Cause;
use kernel::ids::{LedgerId, Millis, UserId};
use kernel::operators::STATUS;
use kernel::ports::ledger::{AccountStatus, StatusChange};
use kernel::principal::action_key;
use kernel::unit::{Guard, Put, Unit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The row of the journal that holds the intents.
const ROW: &str = "status_changes";
/// How often a write is tried again while other processes change the row.
pub(super) const TRIES: usize = 20;
/// The interval at which intents are read that a process may have left, in milliseconds.
const CARRY_ON: Millis = 5_000;

/// A change of a status that its ledger may not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusIntent {
    pub ledger: LedgerId,
    pub user: UserId,
    pub status: AccountStatus,
    /// The person who acts, with the key under which the ledger remembers the change.
    pub actor: Actor,
    /// What the audit's row of the change says, where it is written when the ledger has it. `None`: it was written
    /// with the intent.
    pub action: Option<StatusAction>,
}

/// What the row of a change in the audit says beside the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusAction {
    pub subject: Arc<str>,
    pub value: Arc<str>,
}

impl StatusIntent {
    const fn account(&self) -> (LedgerId, UserId) {
        (self.ledger, self.user)
    }

    fn change(&self) -> StatusChange {
        let Actor { caller, key, reason } = self.actor.clone();
        let key = action_key(&caller, &key).into();
        StatusChange { user: self.user, status: self.status, reason, caller, key }
    }

    fn context(&self) -> ActionContext {
        let (subject, value) = match &self.action {
            Some(action) => (action.subject.clone(), action.value.clone()),
            None => (Arc::default(), Arc::default()),
        };
        let actor = self.actor.clone();
        ActionContext { actor, kind: STATUS, subject, value, proposes: false, approval: None }
    }

    fn stored(&self) -> Value {
        let action = self.action.as_ref();
        json!({
            "ledger": self.ledger.0, "user": self.user.0, "status": self.status.name(),
            "caller": &*self.actor.caller, "key": &*self.actor.key, "reason": &*self.actor.reason,
            "subject": action.map(|action| &*action.subject),
            "value": action.map(|action| &*action.value),
        })
    }

    fn read(stored: &Value) -> Option<Self> {
        let text = |name: &str| Some(Arc::<str>::from(stored.get(name)?.as_str()?));
        let action = text("subject").zip(text("value"));
        Some(Self {
            ledger: LedgerId(u8::try_from(stored.get("ledger")?.as_u64()?).ok()?),
            user: UserId(stored.get("user")?.as_u64()?),
            status: AccountStatus::parse(stored.get("status")?.as_str()?)?,
            actor: Actor { caller: text("caller")?, key: text("key")?, reason: text("reason")? },
            action: action.map(|(subject, value)| StatusAction { subject, value }),
        })
    }
}

/// The intents of the journal, oldest first, as they were read.
#[derive(Debug, Default)]
struct StatusIntents {
    version: u32,
    intents: Vec<StatusIntent>,
}

impl StatusIntents {
    /// Whether no change of the account that waits bars more than this one.
    fn has_only_milder(&self, intent: &StatusIntent) -> bool {
        let mut of_account = self.intents.iter().filter(|one| one.account() == intent.account());
        of_account.all(|one| one.status < intent.status)
    }

    fn guard(&self) -> Guard {
        Guard::Resource { name: ROW.into(), version: self.version }
    }
}

fn row(intents: &[StatusIntent]) -> Put {
    let value = Value::from_iter(intents.iter().map(StatusIntent::stored)).to_string();
    Put::Resource { name: ROW.into(), value: value.into() }
}

/// The last change of an account that a decision about it knew.
pub(super) struct KnownStatus {
    /// The account, as actions name it.
    pub(super) subject: Arc<str>,
    /// The number of that change's action; 0: none.
    pub(super) set: u64,
}

/// A change of a status that its ledger does not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingStatus {
    pub ledger: LedgerId,
    pub user: UserId,
    /// What the account becomes.
    pub status: AccountStatus,
    /// Who asked for it: `issuer|sub`.
    pub caller: Arc<str>,
    /// Why, as the caller said it.
    pub reason: Arc<str>,
}

impl Operators {
    /// The changes of statuses that wait for their ledgers, oldest first.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn waiting_statuses(&self) -> Result<Vec<WaitingStatus>, Cause> {
        let waiting = |intent: StatusIntent| {
            let StatusIntent { ledger, user, status, actor: Actor { caller, reason, .. }, .. } =
                intent;
            WaitingStatus { ledger, user, status, caller, reason }
        };
        Ok(self.status_intents().await?.intents.into_iter().map(waiting).collect())
    }

    async fn status_intents(&self) -> Result<StatusIntents, Cause> {
        let Some(row) = self.shared.parts.journal.resource(ROW.into()).await? else {
            return Ok(StatusIntents::default());
        };
        let stored: Vec<Value> =
            serde_json::from_str(&row.value).map_err(|_| Cause::of("STORE_DAMAGED"))?;
        let intents: Option<Vec<_>> = stored.iter().map(StatusIntent::read).collect();
        let intents = intents.ok_or(Cause::of("STORE_DAMAGED"))?;
        Ok(StatusIntents { version: row.version, intents })
    }

    /// Writes an intent, with what belongs to its decision, in one unit. An earlier one of the account is carried out
    /// before; where its ledger does not answer, one that bars more is stored behind it. `None`: the last change of the
    /// account is another one than the decision knew, and nothing is written. Whatever changes the account moves the row
    /// that is guarded, so none comes between.
    pub(super) async fn write_status_intent(
        &self,
        intent: StatusIntent,
        known: &KnownStatus,
        guards: &[Guard],
        puts: &[Put],
    ) -> Result<Option<Millis>, Stop> {
        for _ in 0..TRIES {
            let waits = self.carry_out_statuses(Some(intent.account())).await;
            let mut read = self.status_intents().await?;
            if let Err(cause) = waits
                && !read.has_only_milder(&intent)
            {
                return Err(cause.into());
            }
            if self.status_trail(STATUS, &known.subject).await?.set != known.set {
                return Ok(None);
            }
            let mut guards = guards.to_vec();
            guards.push(read.guard());
            read.intents.push(intent.clone());
            let mut puts = puts.to_vec();
            puts.push(row(&read.intents));
            match self.write_unit(Unit::guarded(guards, puts)).await? {
                Ok(at) => return Ok(Some(at)),
                Err(Guard::Resource { .. }) => {}
                Err(guard) => return Err(lost(&guard)),
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Has the ledgers make the changes that wait, of one account or of all, and writes the actions that are not
    /// written yet.
    ///
    /// # Errors
    /// The cause for which one of them is not made yet; it is repeated until it is.
    pub(super) async fn carry_out_statuses(
        &self,
        of: Option<(LedgerId, UserId)>,
    ) -> Result<(), Cause> {
        let mut waits = BTreeSet::new();
        let mut first = None;
        loop {
            let read = self.status_intents().await?;
            let next = read.intents.iter().find(|intent| {
                let account = intent.account();
                of.is_none_or(|of| of == account) && !waits.contains(&account)
            });
            let Some(intent) = next else { break };
            match self.ledgers.set_status(intent.ledger, intent.change()).await {
                Ok(found) => self.end_status_intent(&read, intent, found).await?,
                // its key made another change, and this one never will
                Err(cause) if cause.class == Cause::CONTRADICTION => {
                    tracing::error!(user = intent.user.0, %cause, "a change of a status is dropped");
                    self.end_status_intent(&read, intent, false).await?;
                }
                Err(cause) => {
                    waits.insert(intent.account());
                    first.get_or_insert(cause);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Takes an intent out of its row, with its action where one is to be written. Where another process changed the
    /// row meanwhile it stays, and is read again.
    async fn end_status_intent(
        &self,
        read: &StatusIntents,
        intent: &StatusIntent,
        found: bool,
    ) -> Result<(), Cause> {
        let context = intent.context();
        let left: Vec<StatusIntent> =
            read.intents.iter().filter(|one| *one != intent).cloned().collect();
        let writes = found && intent.action.is_some();
        let action = writes.then(|| context.action(&ActionResult::StatusSet));
        for action in [action, None] {
            let puts = std::iter::once(row(&left)).chain(action).collect();
            match self.write_unit(Unit::guarded(vec![read.guard()], puts)).await {
                Ok(_) => return Ok(()),
                // the action of this key is in the audit already
                Err(Stop::KeyUsed) => {}
                Err(Stop::Objection(objection)) => {
                    return Err(Cause::because("NOT_WRITTEN", format!("{objection:?}")));
                }
            }
        }
        Ok(())
    }

    /// Carries out what another process left, and closes proposals that wait for nothing any more, as long as this
    /// process lives.
    pub(crate) async fn run_left_over(self: Arc<Self>) {
        loop {
            if let Err(cause) = self.carry_out_statuses(None).await {
                tracing::warn!(%cause, "a change of a status waits for its ledger");
            }
            self.close_outdated().await;
            self.shared.parts.clock.sleep(CARRY_ON).await;
        }
    }
}
