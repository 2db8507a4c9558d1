//! Opens and closes cases, which are questions for operators. A component opens a case once for each
//! episode; the fact that answers the question closes it.

use crate::commit::outcome::WriteOutcome;
use crate::plan::guards::{at_state, noted_at};
use crate::state::case_kinds::LEDGER_NOT_CONFIGURED;
use crate::state::shared::SharedState;
use crate::state::tasks::Background;
use kernel::ids::{Id, LedgerId, Millis};
use kernel::operators::{Case, OpenCase, Scope, Severity, Subject};
use kernel::ports::ledger::LedgerForm;
use kernel::record::Record;
use kernel::unit::{Guard, Put, Then, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The key of an episode.
pub(crate) type CaseKey = (Arc<str>, Subject);

fn key(case: &OpenCase) -> CaseKey {
    (case.kind.clone(), case.subject)
}

/// What this process knows of an episode.
#[derive(Debug, Default)]
struct Episode {
    /// The journal holds it.
    stored: bool,
    /// This process opened it, or saw a reason for it.
    ours: bool,
}

/// The episodes that this process knows of, so that one is logged and written once.
#[derive(Debug, Default)]
pub(crate) struct Episodes(BTreeMap<CaseKey, Episode>);

/// From this age on, a process that sees nothing of a case may close it, although no worker is known to be gone
/// since it was opened: the process that opened it may be gone unnoticed.
const STRANGE: Millis = 600_000;

impl Episodes {
    /// The episodes of the cases that are open in the journal at start.
    pub(crate) fn of(open: &[OpenCase]) -> Self {
        let mut known = Self::default();
        known.follow(open);
        known
    }

    /// Follows the journal's open cases. An episode that is being written here stays.
    fn follow(&mut self, open: &[OpenCase]) {
        let open: BTreeSet<CaseKey> = open.iter().map(key).collect();
        self.0.retain(|key, episode| !episode.stored || open.contains(key));
        for key in open {
            self.0.entry(key).or_default().stored = true;
        }
    }
}

/// Opens the cases of this process, writes them and closes them.
pub(crate) struct Cases {
    pub(crate) shared: Arc<SharedState>,
    episodes: Mutex<Episodes>,
}

impl Cases {
    /// Begins with the cases that are open in the journal.
    pub(crate) fn new(shared: &Arc<SharedState>, open: &[OpenCase]) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), episodes: Mutex::new(Episodes::of(open)) })
    }

    fn episodes(&self) -> MutexGuard<'_, Episodes> {
        self.episodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the journal's open cases.
    pub(crate) fn follow_cases(&self, open: &[OpenCase]) {
        self.episodes().follow(open);
    }

    /// True where a transfer may have a case of this kind: it has one, or fewer than `most` transfers have one that is
    /// open.
    pub(crate) fn may_open_of(&self, kind: &'static str, id: Id, most: usize) -> bool {
        let episodes = self.episodes();
        let of_kind = || episodes.0.keys().filter(|(known, _)| &**known == kind);
        of_kind().any(|(_, subject)| *subject == Subject::Transfer(id))
            || of_kind().filter(|(_, subject)| subject.transfer().is_some()).count() < most
    }

    /// Opens a case. The caller does not wait for the write.
    pub(crate) fn case(self: &Arc<Self>, case: Case) {
        if self.noted(&case) {
            let cases = self.clone();
            let run = async move { cases.open_case(case, Vec::new()).await };
            self.shared.parts.spawn.spawn(Background::Case.task(), Box::pin(run));
        }
    }

    /// Opens a case for each ledger that cannot prove anything; it stays open as long as the ledger is
    /// configured.
    pub(crate) fn warn_of_simple_ledgers(self: &Arc<Self>) {
        for ledger in
            self.shared.parts.ledgers.iter().filter(|ledger| ledger.form() == LedgerForm::Simple)
        {
            let facts = format!(
                "{}: the simple form has no identity, no totals and no fence. Whether it is the \
                 ledger that it was, and whether its books add up, cannot be proven; \
                 conservation is checked on our own rows only",
                ledger.id().name()
            );
            let (kind, severity) = ("SIMPLE_LEDGER", Severity::Warning);
            let subject = Subject::Ledger(ledger.id());
            self.case(Case { kind, severity, subject, facts: facts.into() });
        }
    }

    /// Opens the case of a ledger that the journal knows and the settings do not name: nothing at it can be proven, and
    /// nothing goes on there.
    pub(crate) fn warn_of_unconfigured_ledger(self: &Arc<Self>, ledger: LedgerId) {
        let facts = format!(
            "{}: the journal knows this ledger, and the settings do not name it. What lies there cannot be proven, and \
             its transfers wait",
            ledger.name()
        );
        let (kind, severity) = (LEDGER_NOT_CONFIGURED, Severity::Critical);
        let subject = Subject::Ledger(ledger);
        self.case(Case { kind, severity, subject, facts: facts.into() });
    }

    /// Logs a case; false where this process knows of the episode.
    pub(crate) fn noted(&self, case: &Case) -> bool {
        let subject = case.subject;
        {
            let mut episodes = self.episodes();
            let key: CaseKey = (case.kind.into(), subject);
            if let Some(episode) = episodes.0.get_mut(&key) {
                episode.ours = true;
                return false;
            }
            episodes.0.insert(key, Episode { stored: false, ours: true });
        }
        match case.severity {
            Severity::Critical => {
                tracing::error!(kind = case.kind, %subject, facts = %case.facts, "CRITICAL case");
            }
            Severity::Warning => {
                tracing::warn!(kind = case.kind, %subject, facts = %case.facts, "WARNING case");
            }
        }
        true
    }

    /// Writes a new case, with the puts that belong to it, until it is durable. A case that asks why a
    /// transfer does not go on is dropped where the transfer went on meanwhile.
    pub(crate) async fn open_case(&self, case: Case, mut more: Vec<Put>) {
        let key: CaseKey = (case.kind.into(), case.subject);
        more.push(Put::Case(case));
        if !self.tell(&key, true, more).await {
            tracing::info!(kind = %key.0, subject = %key.1, "no case: the transfer went on");
            self.episodes().0.remove(&key);
        } else if let Some(episode) = self.episodes().0.get_mut(&key) {
            episode.stored = true;
        }
    }

    /// Closes a case, once, for this fact.
    pub(crate) async fn close_case(&self, case: &OpenCase, fact: &str) {
        let key = key(case);
        tracing::info!(kind = %case.kind, subject = %case.subject, fact, "case closed");
        let put = Put::Close { kind: case.kind.clone(), subject: case.subject, fact: fact.into() };
        self.tell(&key, false, vec![put]).await;
        self.episodes().0.remove(&key);
    }

    /// The case was closed by another write.
    pub(crate) fn forget_case(&self, kind: &'static str, subject: Subject) {
        self.episodes().0.remove(&(kind.into(), subject));
    }

    /// True where this process may close a case about what each process sees for itself. Closing what
    /// another process still sees would have that process open it again and again. What a worker said that
    /// is gone may be closed; another one that sees it too opens it once more, as its own.
    pub(crate) fn may_say(&self, case: &OpenCase) -> bool {
        let age = self.shared.parts.journal.now().saturating_sub(case.opened_at);
        let lease = &self.shared.lease;
        let ours = || self.episodes().0.get(&key(case)).is_some_and(|episode| episode.ours);
        !lease.ends() || age >= STRANGE || lease.lost_one_since(case.opened_at) || ours()
    }

    /// Writes an event of an episode until it is durable. Where the episode is about a transfer, the same
    /// unit adds the event to its history, at the state in which it stands then. False where the transfer
    /// went on before its case was opened.
    async fn tell(&self, key: &CaseKey, opens: bool, puts: Vec<Put>) -> bool {
        let base = self.shared.parts.settings.backoff.base;
        loop {
            let record = match key.1.transfer() {
                Some(id) => self.shared.read(vec![id]).await.pop(),
                None => None,
            };
            let went_on =
                record.as_ref().and_then(|record| self.shared.plan.went_on(&key.0, record));
            if opens && went_on.is_some() {
                return false;
            }
            let unit = dated(record.as_ref(), key, opens, puts.clone());
            match self.shared.writer.write(unit).await {
                // where the action of its own key was written before, all else is with it
                WriteOutcome::Done(_) | WriteOutcome::Lost(Guard::NoPastAction { .. }) => {
                    return true;
                }
                // the transfer moved meanwhile
                WriteOutcome::Lost(_) => self.shared.parts.clock.sleep(base).await,
                WriteOutcome::NotWritten(_) => {
                    self.shared.parts.clock.sleep(self.shared.parts.settings.backoff.cap).await;
                }
            }
        }
    }

    /// Opens a case for an answer that contradicts the table or a stored answer, and stops the flow.
    pub(crate) fn contradicted(self: &Arc<Self>, record: &Record, why: &str) {
        let scope = Scope::Flow(record.flow);
        self.shared.controls.pause(scope);
        let (case, pause) = self.shared.plan.contradiction(record, why);
        let flow = self.shared.plan.table(record.flow).flow;
        tracing::error!(flow, "the flow is paused: a person resumes it");
        let fresh = self.noted(&case);
        let cases = self.clone();
        let run = async move {
            if fresh {
                cases.open_case(case, vec![pause]).await;
            } else {
                cases.insist(vec![pause]).await;
            }
            cases.shared.controls.stored(scope);
        };
        self.shared.parts.spawn.spawn(Background::Case.task(), Box::pin(run));
    }

    /// Writes puts without guards until they are durable.
    pub(crate) async fn insist(&self, puts: Vec<Put>) {
        let wait = self.shared.parts.settings.backoff.cap;
        match self.shared.writer.insist(Unit::puts(puts), wait).await {
            WriteOutcome::Done(_) | WriteOutcome::Lost(Guard::NoPastAction { .. }) => {}
            WriteOutcome::Lost(_) | WriteOutcome::NotWritten(_) => {
                tracing::error!("rows without guards were not written");
            }
        }
    }
}

/// The rows that add a case's word to the history of its transfer, which stays in its state.
fn dated(record: Option<&Record>, (kind, _): &CaseKey, opens: bool, puts: Vec<Put>) -> Unit {
    let Some(record) = record else { return Unit::puts(puts) };
    let word = if opens { "opened" } else { "closed" };
    let event = noted_at(record, "RETRY", None, format!("{kind} {word}").into());
    Unit {
        guards: vec![at_state(record)],
        then: Then { puts, events: vec![event], ..Then::default() },
    }
}
