//! The monitor compares what is open with the thresholds of the settings, and opens and closes cases. It
//! reads the journal alone, so it is right after a crash and with many workers. The work of a round is
//! bounded; the next round does the rest.

use crate::chains::Chains;
use crate::enter::vault_watch::VaultWatch;
use crate::messaging::Messaging;
use crate::plan::chain_stop::ENGINE;
use crate::reconciliation::Reconciler;
use crate::state::case_kinds::{KINDS, LEDGER_NOT_CONFIGURED, WATCHER_BEHIND};
use crate::state::cases::Cases;
use crate::state::ledgers::health_probe::HealthProbes;
use crate::state::limits::CreateLimits;
use crate::state::shared::SharedState;
use crate::watch::attempts::ChainFacts;
use crate::watch::closed_cases::ClosedCases;
use crate::watch::transfers::Entered;
use kernel::answer::Cause;
use kernel::ids::{Id, LedgerId, Millis, UserId};
use kernel::operators::{Case, OpenCase, Scope, Severity, Subject};
use kernel::ports::clock::TICKS;
use kernel::ports::journal::ServiceStatus;
use kernel::ports::ledger::LedgerForm;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a case about a message stays open; the next message after that opens another.
const AUDITED: Millis = 86_400_000;
/// A transfer that is younger than this gets no case: its worker still carries it.
const YOUNG: Millis = 1_000;
/// How many transfers without a case one round looks at, the oldest first.
const LOOK: usize = 1_000;
/// How many cases of each sort one round opens or closes.
pub(crate) const WRITE: usize = 200;
/// How many transfers are read at once.
const PAGE: usize = 1_000;
/// After a round the monitor rests this many times as long as the round took, so that it never takes more
/// than a twentieth of a core.
const REST: u64 = 19;
/// The longest rest. A round also waits for the disk, which costs no CPU: without this bound, a disk that
/// takes a second for each write would keep a case open for a minute after its end.
const LONGEST_REST: Millis = 10_000;

/// How far the journal's time may be ahead of the clock without a case: clocks are set by seconds now and then.
const CLOCK_AHEAD: Millis = 10_000;

/// The age of the keys that check tokens, as this process reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum KeySet {
    /// This process checks no token, or has not yet: other processes report their own keys.
    #[default]
    Unwatched,
    /// They were read again in time.
    Read,
    /// They were not read again for long: operators must know this reason.
    Old(Arc<str>),
}

/// The facts by which cases are closed, besides their transfers.
struct CaseFacts {
    status: ServiceStatus,
    /// Users who were above the limit within the last minute.
    hasty: BTreeMap<UserId, u32>,
    chains: ChainFacts,
}

/// Compares what is open with the thresholds: it opens cases, and closes them when their fact ends.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Monitor {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) probes: Arc<HealthProbes>,
    pub(crate) messaging: Arc<Messaging>,
    pub(crate) chains: Arc<Chains>,
    pub(crate) limits: Arc<CreateLimits>,
    pub(crate) reconciler: Arc<Reconciler>,
    pub(crate) vault_watch: Arc<VaultWatch>,
    pub(crate) closed_cases: ClosedCases,
    /// How old the keys are that check tokens in this process.
    pub(crate) key_set: Mutex<KeySet>,
}

impl Monitor {
    pub(crate) async fn run_watch(self: Arc<Self>) {
        let mut entered = Entered::new();
        loop {
            let begun = self.shared.parts.clock.ticks();
            if let Err(cause) = self.watch(&mut entered).await {
                tracing::warn!(%cause, "the watch could not look");
            }
            let took = self.shared.parts.clock.ticks().saturating_sub(begun) / TICKS;
            let rest = took.saturating_mul(REST);
            let rest = if rest < LONGEST_REST { rest } else { LONGEST_REST };
            let every = self.shared.parts.settings.scan_interval_ms;
            self.shared.parts.clock.sleep(if rest > every { rest } else { every }).await;
        }
    }

    /// One round: closes what has ended, opens what has begun.
    async fn watch(&self, entered: &mut Entered) -> Result<(), Cause> {
        let journal = &self.shared.parts.journal;
        let open = journal.open_cases().await?;
        self.cases.follow_cases(&open);
        self.measure_cases(&open);
        let most = self.shared.parts.settings.limits.warn_per_minute;
        let hasty = self.limits.rates.hasty(journal.now(), most);
        // those that have a case already hide no other behind them
        let (limit, now) = (LOOK.saturating_add(open.len()), journal.now());
        let old = journal.open_older_than(now.saturating_sub(YOUNG), limit).await?;
        let chains = self.chain_facts(&open, &old).await?;
        let facts = CaseFacts { status: journal.service_status().await?, hasty, chains };
        self.close_over(&open, &facts).await?;
        self.look_at_transfers(&old, entered).await?;
        self.look_at_chains(&facts.chains, &facts.status);
        self.look_at_vaults();
        self.look_at_vault_books(&open);
        self.look_at_ledgers();
        self.look_at_key_set();
        self.look_at_clock();
        self.look_at_users(&facts.hasty);
        self.closed_cases.forget().await;
        Ok(())
    }

    fn measure_cases(&self, open: &[OpenCase]) {
        let mut counts: BTreeMap<(&str, Severity), usize> =
            KINDS.iter().map(|kind| (*kind, 0)).collect();
        for case in open {
            let count = counts.entry((&*case.kind, case.severity)).or_insert(0);
            *count = count.saturating_add(1);
        }
        for ((kind, severity), open) in counts {
            self.shared.parts.meter.see(Seen::Cases { kind, severity, open });
        }
    }

    /// Closes the cases whose end is a fact by now.
    async fn close_over(&self, open: &[OpenCase], facts: &CaseFacts) -> Result<(), Cause> {
        let ids: Vec<Id> = open.iter().filter_map(|case| case.subject.transfer()).collect();
        let mut records = BTreeMap::new();
        for ids in ids.chunks(PAGE) {
            let found = self.shared.parts.journal.get(ids.to_vec()).await?;
            records.extend(found.into_iter().map(|record| (record.id, record)));
        }
        let mut closed = 0;
        for case in open {
            let record = case.subject.transfer().and_then(|id| records.get(&id));
            let Some(fact) = self.over(case, record, facts) else { continue };
            self.cases.close_case(case, &fact).await;
            closed += 1;
            if closed >= WRITE {
                break;
            }
        }
        Ok(())
    }

    /// The fact that ends a case, where there is one. The monitor knows none for kinds that are not the
    /// engine's.
    fn over(&self, case: &OpenCase, record: Option<&Record>, facts: &CaseFacts) -> Option<String> {
        let status = &facts.status;
        if let Some(fact) = record.and_then(|record| self.shared.plan.went_on(&case.kind, record)) {
            return Some(fact);
        }
        match (&*case.kind, record, case.subject) {
            ("CONTRADICTION", Some(record), _) => {
                let stands = status.paused.iter().any(|paused| {
                    paused.scope == Scope::Flow(record.flow) && &*paused.caller == ENGINE
                });
                (!stands).then(|| "the flow was unpaused".to_owned())
            }
            ("CONSERVATION" | "RESTORED", None, _) => {
                status.halted.is_none().then(|| "persons resumed from HALT".to_owned())
            }
            ("WRONG_LEDGER", None, Subject::Ledger(ledger)) => {
                let ends = self.shared.controls.adopted(ledger) && status.halted.is_none();
                (ends && self.cases.may_say(case)).then(|| "the ledger was adopted".to_owned())
            }
            ("TORN_TAIL", None, _) => {
                let proven =
                    self.reconciler.report().is_some_and(|r| r.ok && r.at > case.opened_at);
                proven.then(|| "conservation was proven since".to_owned())
            }
            (
                "DEAD_LETTER" | "PARKED" | "CONSUMER_LAG" | "OUTBOX_AGE" | "FOREIGN_MESSAGES",
                None,
                _,
            ) => self.messaging.pipeline_over(case).filter(|_| self.cases.may_say(case)),
            ("MESSAGE_GAP" | "MESSAGE_MISMATCH", ..) => {
                let day = case.opened_at.saturating_add(AUDITED);
                (day <= self.shared.parts.journal.now()).then(|| "it is a day old".to_owned())
            }
            ("SIMPLE_LEDGER", None, Subject::Ledger(ledger)) => {
                let form = self.shared.ledger(ledger).map(|ledger| ledger.form());
                let ends = form != Some(LedgerForm::Simple) && self.cases.may_say(case);
                ends.then(|| "it is none any more".to_owned())
            }
            (LEDGER_NOT_CONFIGURED, None, Subject::Ledger(ledger)) => {
                let ends = self.shared.ledger(ledger).is_some() && self.cases.may_say(case);
                ends.then(|| "the settings name it".to_owned())
            }
            ("JWKS_STALE", None, _) => {
                let ends = *self.key_set() == KeySet::Read && self.cases.may_say(case);
                ends.then(|| "the set of keys was read again".to_owned())
            }
            ("CLOCK", None, _) => {
                let ends =
                    self.shared.parts.journal.ahead() <= CLOCK_AHEAD && self.cases.may_say(case);
                ends.then(|| "the clock has caught up".to_owned())
            }
            ("LEDGER_SILENT", None, Subject::Ledger(ledger)) => {
                let ends = !self.is_silent(ledger) && self.cases.may_say(case);
                ends.then(|| "it answers".to_owned())
            }
            ("ABNORMAL_FREQUENCY", None, Subject::User(user)) => {
                let calm = !facts.hasty.contains_key(&user) && self.cases.may_say(case);
                calm.then(|| "it is slow again, for a minute".to_owned())
            }
            (WATCHER_BEHIND, None, Subject::Chain(chain)) => {
                let now = self.shared.parts.journal.now();
                let mut vaults = self.vault_watch.vaults.iter();
                let behind =
                    vaults.any(|vault| vault.chain() == chain && vault.behind(now).is_some());
                (!behind && self.cases.may_say(case)).then(|| "the vault is read again".to_owned())
            }
            (_, None, Subject::Chain(_) | Subject::Attempt(_)) => {
                self.chain_case_over(case, status, &facts.chains)
            }
            _ => None,
        }
    }

    fn look_at_vaults(&self) {
        for vault in &self.vault_watch.vaults {
            if let Some(facts) = vault.behind(self.shared.parts.journal.now()) {
                self.cases.case(Case {
                    kind: WATCHER_BEHIND,
                    severity: Severity::Critical,
                    subject: Subject::Chain(vault.chain()),
                    facts,
                });
            }
        }
    }

    fn look_at_ledgers(&self) {
        for ledger in self.shared.outside() {
            if self.is_silent(ledger) {
                let seconds = self.shared.parts.settings.alerts.silent_seconds;
                let why = self.probes.why_silent(ledger);
                let why = why.map(|cause| format!(": {cause}")).unwrap_or_default();
                self.cases.case(Case {
                    kind: "LEDGER_SILENT",
                    severity: Severity::Warning,
                    subject: Subject::Ledger(ledger),
                    facts: format!("{} has not answered for {seconds} s{why}", ledger.name())
                        .into(),
                });
            }
        }
    }

    fn is_silent(&self, ledger: LedgerId) -> bool {
        self.probes.silent_for(
            ledger,
            self.shared.parts.settings.alerts.silent_seconds.saturating_mul(1_000),
        )
    }

    /// The reader of the keys that check tokens reports here after each read. `Some`: the set was not read
    /// again for long, and operators must know this reason.
    pub fn keys_read(&self, old: Option<Arc<str>>) {
        *self.key_set() = old.map_or(KeySet::Read, KeySet::Old);
    }

    fn key_set(&self) -> MutexGuard<'_, KeySet> {
        self.key_set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at_key_set(&self) {
        let KeySet::Old(facts) = self.key_set().clone() else { return };
        self.cases.case(Case {
            kind: "JWKS_STALE",
            severity: Severity::Critical,
            subject: Subject::Service,
            facts,
        });
    }

    fn look_at_clock(&self) {
        let ahead = self.shared.parts.journal.ahead();
        if ahead <= CLOCK_AHEAD {
            return;
        }
        let seconds = ahead / 1000;
        self.cases.case(Case {
            kind: "CLOCK",
            severity: Severity::Critical,
            subject: Subject::Service,
            facts: format!(
                "the journal's time is {seconds} s ahead of the clock, which was ahead when something was written"
            )
            .into(),
        });
    }

    fn look_at_users(&self, hasty: &BTreeMap<UserId, u32>) {
        let most = self.shared.parts.settings.limits.warn_per_minute;
        for (user, creates) in hasty {
            self.cases.case(Case {
                kind: "ABNORMAL_FREQUENCY",
                severity: Severity::Warning,
                subject: Subject::User(*user),
                facts: format!("{creates} creates in a minute, above {most}").into(),
            });
        }
    }
}
