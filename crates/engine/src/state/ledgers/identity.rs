//! Finds out which ledger answers under a name. It adopts the ledger only when each operation that the
//! ledger did belongs to a transfer, or to a break that persons accepted (`ledgers.md` §2).

use crate::commit::outcome::WriteOutcome;
use crate::state::accepted::AcceptedBreaks;
use crate::state::halt::KillSwitch;
use crate::state::ledgers::affected_transfers::Named;
use crate::state::loss::Loss;
use crate::state::shared::SharedState;
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::flow::dataflow;
use kernel::flow::life::Via;
use kernel::ids::{LedgerId, Millis};
use kernel::operation::{Incarnation, Known, Operation, StoredOutcome};
use kernel::operators::{Accepted, Subject};
use kernel::ports::clock::TICKS;
use kernel::ports::journal::ServiceStatus;
use kernel::ports::ledger::StatusChange;
use kernel::ports::ledger::{Ledger, LedgerForm, Reply};
use kernel::reconcile;
use kernel::record::Record;
use kernel::unit::{Guard, Put, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many operations a ledger lists at once.
const PAGE: usize = 1_000;

/// How often, and how long each time, a resume waits for ledgers to be adopted.
const WAITS: usize = 200;
const WAIT: Millis = 10;
/// The interval at which the log repeats why a ledger's identity is open.
const LOG_AGAIN: Millis = 60_000;

/// A ledger that passed the examination and may be called.
struct Examined {
    /// The incarnation that the journal has.
    stored: Option<Known>,
    actual: Known,
    /// The operations with which another incarnation is adopted; `None` where the ledger is the known one.
    adopts: Option<Vec<Operation>>,
    /// The incarnation whose answers to this process count. `None`: every one's. One is named where persons
    /// accepted that the ledger lost operations: the one that the journal takes as current.
    answered_by: Option<Incarnation>,
}

fn forgot(ledger: LedgerId, is: u64, was: u64) -> String {
    let name = ledger.name();
    format!("{name} forgot operations: it knows {is}, and answered for up to {was}")
}

/// The incarnation whose answers to a process count alone; `None`: every one's count.
fn answered_by(
    status: &ServiceStatus,
    ledger: LedgerId,
    accepted: &[Accepted],
) -> Option<Incarnation> {
    let shortened = reconcile::was_shortened(ledger, accepted);
    status.ledger(ledger).filter(|_| shortened).map(|stored| stored.incarnation)
}

/// The result of finding out which ledger answers.
enum Adoption {
    /// It may be called.
    Adopted,
    /// It is another ledger, or one that did what no transfer asked for: a person must look.
    Broken(String),
    /// It forgot the operations above its highest one.
    Forgot {
        is: u64,
        /// The highest operation that we have an answer of.
        was: u64,
    },
    /// The ledger or the journal does not answer.
    Later(Cause),
}

/// Knows the identity of each ledger, and compares what a ledger answers with what the journal knows of it.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Ledgers {
    pub(crate) shared: Arc<SharedState>,
    kill_switch: Arc<KillSwitch>,
    /// The ledgers whose identity a task finds out now.
    finding: Mutex<BTreeSet<LedgerId>>,
    /// Why a ledger's identity was open when that was logged last, and when, by the clock's ticks.
    logged: Mutex<BTreeMap<LedgerId, (Cause, u64)>>,
}

impl Ledgers {
    pub(crate) fn new(shared: &Arc<SharedState>, kill_switch: &Arc<KillSwitch>) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            kill_switch: kill_switch.clone(),
            finding: Mutex::default(),
            logged: Mutex::default(),
        })
    }

    /// Returns the answer of a ledger where it is the one that was asked. Otherwise a task finds out its
    /// identity, and until then the ledger is not called.
    pub(crate) fn verify_identity<T>(
        self: &Arc<Self>,
        ledger: LedgerId,
        asked: Known,
        reply: Reply<T>,
    ) -> Result<T, Cause> {
        let actual = match reply {
            Reply::Answered(said, answer) if self.shared.controls.learn(ledger, said) => {
                return Ok(answer);
            }
            Reply::Answered(actual, _) | Reply::OtherLedger(actual) => actual,
            Reply::NoAnswer(cause) => {
                if cause.class == Cause::HALTED {
                    // it was told of a HALT that this process does not know; the next look finds out which
                    self.shared.controls.note_told_halt(ledger, None);
                }
                return Err(cause);
            }
        };
        if asked.identity == actual.identity && asked.incarnation != actual.incarnation {
            let (identity, incarnation) = (actual.identity, actual.incarnation);
            tracing::info!(
                ledger = ledger.name(), %identity, %incarnation,
                "the ledger began again: it is called once its operations are matched"
            );
        } else {
            tracing::error!(
                ledger = ledger.name(), asked = %asked.identity, actual = %actual.identity,
                asked_highest = asked.highest, actual_highest = actual.highest,
                "not the ledger that we know"
            );
        }
        if self.shared.controls.suspect(ledger, asked) {
            self.find_out(ledger);
        }
        Err(Cause::of("WRONG_LEDGER"))
    }

    /// Finds out the ledger's identity in a task, which asks until the ledger answers.
    pub(crate) fn find_out(self: &Arc<Self>, ledger: LedgerId) {
        // one at a time: a second one would ask the same
        if !self.finding().insert(ledger) {
            return;
        }
        let ledgers = self.clone();
        let run = async move {
            loop {
                while !ledgers.settle_identity(ledger).await {}
                ledgers.finding().remove(&ledger);
                // suspected again meanwhile, by a call that this one answered?
                let settled =
                    ledgers.shared.controls.adopted(ledger) || ledgers.shared.halted().is_some();
                if settled || !ledgers.finding().insert(ledger) {
                    return;
                }
            }
        };
        self.shared.parts.spawn.spawn(Background::Adopter.task(), Box::pin(run));
    }

    fn finding(&self) -> MutexGuard<'_, BTreeSet<LedgerId>> {
        self.finding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries once to find out the identity; true where nothing is left to find out.
    pub(crate) async fn settle_identity(&self, ledger: LedgerId) -> bool {
        let Some(port) = self.shared.ledger(ledger) else { return true };
        let facts = match self.adoption(&*port).await {
            Adoption::Adopted => return true,
            Adoption::Broken(facts) => self.concerning(ledger, facts, None).await,
            Adoption::Forgot { is, was } => {
                self.concerning(ledger, forgot(ledger, is, was), Some(is)).await
            }
            Adoption::Later(cause) => {
                if self.is_news(ledger, &cause) {
                    tracing::warn!(ledger = ledger.name(), %cause, "the ledger's identity is open");
                }
                self.shared.parts.clock.sleep(self.shared.parts.settings.scan_interval_ms).await;
                return false;
            }
        };
        self.kill_switch.halt("WRONG_LEDGER", Subject::Ledger(ledger), facts.into()).await;
        true
    }

    /// Whether the log should have this cause: it is another one, or was logged a minute ago.
    fn is_news(&self, ledger: LedgerId, cause: &Cause) -> bool {
        let now = self.shared.parts.clock.ticks();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let known = logged.get(&ledger).is_some_and(|(last, at)| {
            last == cause && now.saturating_sub(*at) < LOG_AGAIN.saturating_mul(TICKS)
        });
        if !known {
            logged.insert(ledger, (cause.clone(), now));
        }
        !known
    }

    async fn adoption(&self, port: &dyn Ledger) -> Adoption {
        let ledger = port.id();
        match self.examined(port, &[]).await {
            Ok(examined) => self.adopt(ledger, examined).await,
            Err(found) => found,
        }
    }

    /// Why a ledger that is not adopted would raise a HALT again after a resume that accepts these breaks
    /// beside the earlier ones; `None` where none would. A ledger that the resume itself adopts is no
    /// reason.
    pub(crate) async fn would_halt(
        &self,
        accepted: &[Accepted],
        losses: &[Loss],
    ) -> Option<String> {
        for port in &self.shared.parts.ledgers {
            let lost = losses.iter().any(|loss| loss.ledger == port.id());
            if lost || self.shared.controls.adopted(port.id()) {
                continue;
            }
            match self.examined(&**port, accepted).await {
                Err(Adoption::Broken(facts)) => return Some(facts),
                Err(Adoption::Forgot { is, was }) => return Some(forgot(port.id(), is, was)),
                // one that is silent is not called until it answers
                Ok(_) | Err(Adoption::Adopted | Adoption::Later(_)) => {}
            }
        }
        None
    }

    /// Waits a while until every ledger that answers is adopted, or a HALT is raised again.
    pub(crate) async fn adopts(&self) {
        for _ in 0..WAITS {
            let open = |port: &Arc<dyn Ledger>| !self.shared.controls.adopted(port.id());
            if self.shared.halted().is_some() || !self.shared.parts.ledgers.iter().any(open) {
                return;
            }
            self.shared.parts.clock.sleep(WAIT).await;
        }
    }

    /// Examines a ledger: each operation that it did must belong to a transfer, or to a break that persons
    /// accepted.
    async fn examined(
        &self,
        port: &dyn Ledger,
        accepted: &[Accepted],
    ) -> Result<Examined, Adoption> {
        let ledger = port.id();
        // what was answered before is read first: a ledger that is asked afterwards must know it
        let answered = self.shared.controls.known(ledger);
        let status = self.shared.parts.journal.service_status().await.map_err(Adoption::Later)?;
        let stored = status.ledger(ledger);
        let breaks = AcceptedBreaks::read(&*self.shared.parts.journal, &status).await;
        let before = breaks.map_err(Adoption::Later)?.named;
        let answered_by = answered_by(&status, ledger, &before);
        let counts = |known: &Known| answered_by.is_none_or(|by| by == known.incarnation);
        let answered = answered.filter(counts).map_or(0, |known| known.highest);
        let actual = match port.hello().await {
            Reply::Answered(known, ()) | Reply::OtherLedger(known) => known,
            Reply::NoAnswer(cause) => return Err(Adoption::Later(cause)),
        };
        // one that cannot say who it is is taken for who it is said to be
        if port.enlist().is_some() || port.form() == LedgerForm::Simple {
            return Ok(Examined { stored, actual, adopts: None, answered_by });
        }
        let receipts = stored.map_or(0, |stored| stored.highest);
        let was = if answered > receipts { answered } else { receipts };
        if let Some(stored) = stored
            && stored.identity != actual.identity
        {
            let (was, is) = (stored.identity.0, actual.identity.0);
            let name = ledger.name();
            return Err(Adoption::Broken(format!(
                "{name} is another ledger: {is:032x} instead of {was:032x}"
            )));
        }
        if actual.highest < was {
            return Err(Adoption::Forgot { is: actual.highest, was });
        }
        // also of an incarnation that is known: the journal may be older than what it did, after a
        // restore or a failover
        let known = stored.is_some_and(|stored| stored.incarnation == actual.incarnation);
        let accepted = [accepted, &before].concat();
        let operations = self.matched(port, receipts, actual, &accepted).await?;
        // a caller that waits for one of them asks under its key
        Ok(Examined { stored, actual, adopts: (!known).then_some(operations), answered_by })
    }

    /// Lets the ledger be called as this incarnation.
    fn may_be_called(
        &self,
        ledger: LedgerId,
        actual: Known,
        answered_by: Option<Incarnation>,
    ) -> Adoption {
        match self.shared.controls.adopt(ledger, actual, answered_by) {
            Ok(()) => Adoption::Adopted,
            Err(was) => Adoption::Forgot { is: actual.highest, was },
        }
    }

    /// Every operation above the journal's highest, each with the transfer that claimed it. An operation
    /// that no transfer claimed is left out where persons accepted it, by the key and the amount that the
    /// checker gives it.
    async fn matched(
        &self,
        port: &dyn Ledger,
        after: u64,
        actual: Known,
        accepted: &[Accepted],
    ) -> Result<Vec<Operation>, Adoption> {
        let (mut matched, mut odd, mut cursor) = (Vec::new(), Named::default(), after);
        loop {
            let page = match port.operations(cursor, PAGE).await {
                // a list that is older than what we know of is no list of what we ask for
                Reply::Answered(said, page)
                    if said.incarnation == actual.incarnation && said.highest >= actual.highest =>
                {
                    page
                }
                Reply::Answered(..) | Reply::OtherLedger(_) => {
                    return Err(Adoption::Later(Cause::of("WRONG_LEDGER")));
                }
                Reply::NoAnswer(cause) => return Err(Adoption::Later(cause)),
            };
            let Some(last) = page.last() else { break };
            cursor = last.seq;
            let ids = page.iter().map(|operation| operation.op.key.id).collect();
            let records = self.shared.parts.journal.get(ids).await.map_err(Adoption::Later)?;
            for operation in page {
                let claimed = records.iter().find(|record| record.id == operation.op.key.id);
                if claimed.is_some_and(|record| self.claimed(record, port.id(), &operation)) {
                    matched.push(operation);
                    continue;
                }
                let (key, amount) = reconcile::unclaimed(port.id(), &operation);
                if accepted.iter().any(|a| *a.key == *key && a.amount == amount) {
                    continue;
                }
                let Operation { seq, op, .. } = &operation;
                let (leg, id, asset, units) = (op.key.leg.name(), op.key.id, op.asset, op.amount);
                odd.add(format!(
                    "{leg} {seq} of {id} ({units} units of asset {asset}: {key}={amount})"
                ));
            }
        }
        let name = port.id().name();
        if !odd.is_empty() {
            return Err(Adoption::Broken(format!("{name} did what no transfer asked for: {odd}")));
        }
        // what an open transfer waits for is never forgotten, so these were not ours
        if cursor < actual.highest {
            let highest = actual.highest;
            let facts = format!("{name} does not list its operations above {cursor} to {highest}");
            return Err(Adoption::Broken(facts));
        }
        Ok(matched)
    }

    /// Whether the record claimed this operation at this ledger, with the same account, asset and
    /// amount.
    fn claimed(&self, record: &Record, ledger: LedgerId, operation: &Operation) -> bool {
        let table = self.shared.plan.table(record.flow);
        let leg = operation.op.key.leg;
        let act = (0..table.acts.len()).filter_map(|a| u8::try_from(a).ok()).find(|a| {
            table.act(*a).leg == Some(leg) && self.shared.plan.ledger_of(record, *a) == Some(ledger)
        });
        let Some(act) = act else { return false };
        let same = operation.outcome == StoredOutcome::Fenced
            || self.shared.plan.op(record, act).is_some_and(|op| op == operation.op);
        let state = record.head.state;
        let answer = match operation.outcome {
            StoredOutcome::Done => Via::Done,
            StoredOutcome::Rejected(_) | StoredOutcome::Fenced => Via::Rejected,
        };
        let had = || dataflow::ever(table, answer).at(state).contains(&act);
        same && (table.makes(state) == Some(act) || had())
    }

    async fn adopt(&self, ledger: LedgerId, examined: Examined) -> Adoption {
        let Examined { stored, actual, adopts, answered_by } = examined;
        let Some(operations) = adopts else {
            return self.may_be_called(ledger, actual, answered_by);
        };
        let mut puts = vec![Put::Adopt { ledger, known: actual }];
        let receipts = operations.into_iter().filter(|o| o.outcome != StoredOutcome::Fenced);
        puts.extend(receipts.map(|operation| Put::Receipt { ledger, operation }));
        let mut guards = vec![Guard::Incarnation { ledger, known: stored }];
        guards.extend(self.shared.plan.owner(ledger));
        let unit = Unit::guarded(guards, puts);
        match self.shared.writer.write(unit).await {
            WriteOutcome::Done(_) => {
                tracing::info!(ledger = ledger.name(), highest = actual.highest, "adopted");
                self.may_be_called(ledger, actual, answered_by)
            }
            WriteOutcome::NotWritten(why) if why.cause.class == "SUPERSEDED" => {
                Adoption::Broken(format!(
                    "{} came back as an incarnation that another one had followed: a second copy",
                    ledger.name()
                ))
            }
            WriteOutcome::NotWritten(why) => Adoption::Later(why.cause),
            WriteOutcome::Lost(Guard::Owner { .. }) => Adoption::Later(Cause::of("RETIRED")),
            WriteOutcome::Lost(_) => Adoption::Later(Cause::of("ADOPTED_BY_ANOTHER")),
        }
    }

    /// Sets an account's status at its ledger. False: there is no such account.
    ///
    /// # Errors
    /// The cause for which the outcome is not known; repeat it with the same key.
    pub async fn set_status(
        self: &Arc<Self>,
        ledger: LedgerId,
        change: StatusChange,
    ) -> Result<bool, Cause> {
        let port = self.shared.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
        let known = self.shared.controls.known(ledger).ok_or(Cause::of("NOT_ADOPTED"))?;
        let reply = port.status(known, change).await;
        self.verify_identity(ledger, known, reply)
    }
}
