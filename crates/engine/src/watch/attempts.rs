//! Opens the cases about chains, for the monitor: one for each attempt that takes too long, however many
//! members it has, and one for each chain on which transfers wait too long for an attempt.

use crate::chains::stops::described;
use crate::drive::lane_watch::is_lane_pause;
use crate::plan::chain_stop::{ENGINE, LANE_AHEAD};
use crate::state::case_kinds::{
    ATTEMPT_SLOW, CHAIN_BACKLOG, EVENTS_SURPLUS, FEES_LOW, KEY_MISSING, KEY_RETURNED, NEAR_LOW,
    ONE_PROVIDER, PROVIDER_OUTVOTED, PROVIDERS_DISAGREE, REGISTRATION_BUDGET, REGISTRATION_DEPOSIT,
    TOKEN_CONTRACT_INVALID, TOKEN_PAUSED, TOKEN_REFUSES, TREASURY_SHORT, VAULT_FROZEN, WRONG_CHAIN,
    WRONG_PROVIDER,
};
use crate::state::case_kinds::{
    CHAIN_CONTRADICTION, EVENTS_MISMATCH, FOREIGN_PAYMENT, VAULT_SHORT, VAULT_SURPLUS,
    VERDICT_REFUSED,
};
use crate::watch::monitor::Monitor;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use kernel::ids::{ChainId, Day, Id, Millis};
use kernel::operators::{Case, OpenCase, Scope, Severity, Subject};
use kernel::ports::chain::{Concern, LOCK_SPENT};
use kernel::ports::journal::ServiceStatus;
use kernel::record::{Record, System};
use std::collections::{BTreeMap, BTreeSet};

/// How long a case about one transaction stays open.
const DAY: Millis = 86_400_000;
/// The number of transfers that a case about those that wait names.
const NAMED: usize = 5;

/// The transfers that wait too long for an attempt on a chain.
#[derive(Debug, Default)]
struct Backlog {
    count: usize,
    /// The age of the oldest, in milliseconds.
    oldest: Millis,
    /// The first of them.
    named: Vec<Id>,
}

/// What one round of the monitor found of chains.
#[derive(Debug, Default)]
pub(crate) struct ChainFacts {
    /// The open attempts, where a case is about one.
    open: BTreeSet<AttemptId>,
    /// The transfers that wait too long, by the chain.
    waiting: BTreeMap<ChainId, Backlog>,
}

impl Monitor {
    /// The facts by which cases about chains are opened and closed. `old`: open transfers, the oldest
    /// first.
    pub(crate) async fn chain_facts(
        &self,
        open: &[OpenCase],
        old: &[Record],
    ) -> Result<ChainFacts, Cause> {
        let mut facts = ChainFacts::default();
        let now = self.shared.parts.journal.now();
        let most = self.shared.parts.settings.alerts.after_seconds.saturating_mul(1_000);
        for record in old {
            let age = now.saturating_sub(record.created_at);
            if age >= most
                && let Some(chain) = self.waits_for_attempt(record)
            {
                let backlog = facts.waiting.entry(chain).or_default();
                backlog.count = backlog.count.saturating_add(1);
                backlog.oldest = if age > backlog.oldest { age } else { backlog.oldest };
                if backlog.named.len() < NAMED {
                    backlog.named.push(record.id);
                }
            }
        }
        if open.iter().any(|case| &*case.kind == KEY_RETURNED) {
            // whichever process took it back or had it proven: the rows say it
            for pool in self.chains.pools() {
                self.chains.read_lanes(pool).await?;
            }
        }
        if open.iter().any(|case| matches!(case.subject, Subject::Attempt(_))) {
            for pool in self.chains.pools() {
                let attempts = self.shared.parts.journal.open_attempts(pool.id()).await?;
                facts.open.extend(attempts.into_iter().map(|attempt| attempt.id));
            }
        }
        Ok(facts)
    }

    /// Opens the cases about chains: each worker about the attempts that it holds.
    pub(crate) fn look_at_chains(&self, facts: &ChainFacts, status: &ServiceStatus) {
        let now = self.shared.parts.journal.now();
        for pool in self.chains.pools() {
            self.chains.measure_lanes(pool);
            // another process stopped it, and may be gone
            if status.paused.iter().any(|paused| is_lane_pause(paused, pool.id())) {
                pool.lane_check.request_look();
            }
            for (attempt, last) in pool.carried.waiting() {
                let spent = last.filter(|cause| cause.class == LOCK_SPENT);
                if let Some(cause) = spent {
                    // it may be that more than this lock is spent
                    pool.lane_check.request_look();
                    self.cases.case(lock_spent(&attempt, &cause));
                }
                if let Some(case) = self.slow_attempt(&attempt, now) {
                    self.cases.case(case);
                }
            }
            if let Some(case) = self.chains.missing_keys(pool) {
                self.cases.case(case);
            }
            for Concern { kind, severity, facts } in pool.port.concerns() {
                self.cases.case(Case { kind, severity, subject: Subject::Chain(pool.id()), facts });
            }
        }
        for (chain, Backlog { count, oldest, named }) in &facts.waiting {
            let (seconds, chain_name) = (oldest / 1_000, chain.name());
            let named: Vec<String> = named.iter().map(Id::to_string).collect();
            self.cases.case(Case {
                kind: CHAIN_BACKLOG,
                severity: Severity::Warning,
                subject: Subject::Chain(*chain),
                facts: format!(
                    "{count} transfers or more wait for an attempt on {chain_name}, the oldest was opened \
                     {seconds} s ago: {}",
                    named.join(", ")
                )
                .into(),
            });
        }
    }

    /// The case of an attempt that was claimed longer ago than is normal in its state.
    fn slow_attempt(&self, attempt: &Attempt, now: Millis) -> Option<Case> {
        let alerts = &self.shared.parts.settings.alerts;
        let normal = self.shared.plan.table(attempt.flow).state(attempt.state).normal;
        let most = normal.seconds(alerts.target_pending_seconds).unwrap_or(alerts.after_seconds);
        let age = now.saturating_sub(Id(attempt.id.0).at());
        (age > most.saturating_mul(1_000)).then(|| Case {
            kind: ATTEMPT_SLOW,
            severity: Severity::Critical,
            subject: Subject::Attempt(attempt.id),
            facts: format!("not proven for {} s: {}", age / 1_000, described(attempt)).into(),
        })
    }

    /// The chain whose attempts a record waits for, before its claim.
    pub(crate) fn waits_for_attempt(&self, record: &Record) -> Option<ChainId> {
        self.shared.plan.claims_send(record)?;
        match self.shared.plan.station_system(record) {
            Some(System::Chain(chain)) => Some(chain),
            Some(System::Ledger(_)) | None => None,
        }
    }

    /// The fact that ends a case about a chain or an attempt.
    pub(crate) fn chain_case_over(
        &self,
        case: &OpenCase,
        status: &ServiceStatus,
        facts: &ChainFacts,
    ) -> Option<String> {
        match (&*case.kind, case.subject) {
            (VERDICT_REFUSED | ATTEMPT_SLOW | LOCK_SPENT, Subject::Attempt(id)) => {
                (!facts.open.contains(&id)).then(|| "the attempt is closed".to_owned())
            }
            (LANE_AHEAD, Subject::Chain(chain)) => {
                let stands = status.paused.iter().any(|paused| is_lane_pause(paused, chain));
                (!stands).then(|| "the chain was unpaused".to_owned())
            }
            (FOREIGN_PAYMENT | CHAIN_CONTRADICTION | EVENTS_MISMATCH, Subject::Chain(chain)) => {
                let stands = status
                    .paused
                    .iter()
                    .any(|paused| paused.scope == Scope::Chain(chain) && &*paused.caller == ENGINE);
                (!stands).then(|| "the chain was unpaused".to_owned())
            }
            (VAULT_SHORT | VAULT_SURPLUS, Subject::Chain(chain)) => {
                self.vault_case_over(case, chain)
            }
            (KEY_MISSING, Subject::Chain(chain)) => {
                let pool = self.chains.pool(chain);
                let over = pool.is_some_and(|pool| self.chains.no_key_is_missing(pool));
                let fact = "the process has the key of each open attempt, and the account each key";
                (over && self.cases.may_say(case)).then(|| fact.to_owned())
            }
            (KEY_RETURNED, Subject::Chain(chain)) => {
                let pool = self.chains.pool(chain)?;
                let fact = "each retired key that was back is proven gone again";
                (!pool.has_returned_lanes()).then(|| fact.to_owned())
            }
            (CHAIN_BACKLOG, Subject::Chain(chain)) => (!facts.waiting.contains_key(&chain))
                .then(|| "none of them waits that long any more".to_owned()),
            (EVENTS_SURPLUS, Subject::Chain(_)) => {
                let day = case.opened_at.saturating_add(DAY);
                (day <= self.shared.parts.journal.now()).then(|| "it is a day old".to_owned())
            }
            (REGISTRATION_BUDGET, Subject::Chain(_)) => {
                let over = Day::of(case.opened_at) < Day::of(self.shared.parts.journal.now());
                over.then(|| "its day is over".to_owned())
            }
            (
                kind @ (NEAR_LOW
                | FEES_LOW
                | VAULT_FROZEN
                | PROVIDERS_DISAGREE
                | PROVIDER_OUTVOTED
                | ONE_PROVIDER
                | TREASURY_SHORT
                | TOKEN_PAUSED
                | TOKEN_REFUSES
                | REGISTRATION_DEPOSIT
                | TOKEN_CONTRACT_INVALID
                | WRONG_CHAIN
                | WRONG_PROVIDER),
                Subject::Chain(chain),
            ) => {
                let stands = self.chains.pool(chain).is_some_and(|pool| {
                    pool.port.concerns().iter().any(|concern| concern.kind == kind)
                });
                (!stands && self.cases.may_say(case)).then(|| "it is not seen any more".to_owned())
            }
            _ => None,
        }
    }
}

/// The case of an attempt whose lock something else spent.
fn lock_spent(attempt: &Attempt, cause: &Cause) -> Case {
    Case {
        kind: LOCK_SPENT,
        severity: Severity::Critical,
        subject: Subject::Attempt(attempt.id),
        facts: format!("{cause}; {}", described(attempt)).into(),
    }
}
