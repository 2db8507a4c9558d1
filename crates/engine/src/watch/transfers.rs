//! Opens the cases about transfers that do not go on, for the monitor, and says which fact ends each of
//! them.

use crate::plan::planner::Plan;
use crate::state::case_kinds::FOREIGN_PAYMENT;
use crate::watch::monitor::Monitor;
use crate::watch::monitor::WRITE;
use kernel::answer::Cause;
use kernel::flow::life::{Normal, Side, Step};
use kernel::flow::table::{S, Table};
use kernel::ids::{Id, Millis};
use kernel::operators::{Case, Severity, Subject};
use kernel::record::Record;
use std::collections::BTreeMap;

/// When each open transfer entered the state in which it stands, as its history says.
pub(crate) type Entered = BTreeMap<Id, (S, Millis)>;

impl Plan {
    /// The fact that ends a case about why a transfer does not go on, once it has. `None` for a case that
    /// asks something else.
    pub(crate) fn went_on(&self, kind: &str, record: &Record) -> Option<String> {
        let table = self.table(record.flow);
        let state = record.head.state;
        let (name, ended) = (table.state(state).name, table.ends(state));
        match kind {
            "STUCK" | FOREIGN_PAYMENT => ended.then(|| format!("it ended: {name}")),
            "TARGET_PENDING" | "IRREVERSIBLE" => {
                (!calls_target(table, record)).then(|| format!("it went on to {name}"))
            }
            "COMPENSATION" => (!pushes(table, record)).then(|| format!("it went on to {name}")),
            "POISON" => (ended || record.head.deaths == 0).then(|| format!("it was tried: {name}")),
            _ => None,
        }
    }
}

impl Monitor {
    /// Opens the cases of transfers.
    pub(crate) async fn look_at_transfers(
        &self,
        old: &[Record],
        entered: &mut Entered,
    ) -> Result<(), Cause> {
        let now = self.shared.parts.journal.now();
        let states: BTreeMap<Id, S> = old.iter().map(|r| (r.id, r.head.state)).collect();
        entered.retain(|id, (state, _)| states.get(id) == Some(state));
        let mut opened = 0;
        for record in old {
            // one case is opened for the attempt that carries it, and one for all that wait for one
            if self.shared.plan.in_attempt(record) || self.waits_for_attempt(record).is_some() {
                continue;
            }
            let overdue = self.overdue(record, now, entered).await?;
            let stuck = self.stuck(record, now, overdue);
            let target = self.target_pending(record, overdue);
            for case in [stuck, self.failing(record), target].into_iter().flatten() {
                if opened < WRITE && self.cases.noted(&case) {
                    opened += 1;
                    self.cases.open_case(case, Vec::new()).await;
                }
            }
        }
        Ok(())
    }

    /// The case of a transfer that stands still. It is stuck by its age, or by the time that its state
    /// declares in seconds, where it declares one; and by unknown answers in any state.
    fn stuck(&self, record: &Record, now: Millis, overdue: Option<Millis>) -> Option<Case> {
        let alerts = self.shared.parts.settings.alerts;
        let age = now.saturating_sub(record.created_at);
        let table = self.shared.plan.table(record.flow);
        let old = match table.state(record.head.state).normal {
            Normal::Seconds(_) => overdue.is_some() && !calls_target(table, record),
            Normal::Passing | Normal::Usual | Normal::Configured => {
                age >= alerts.after_seconds.saturating_mul(1_000)
            }
        };
        let stuck = old || record.head.retries >= alerts.after_retries;
        let facts = format!("open for {} s in {}", age / 1_000, self.stands_in(record));
        stuck.then(|| transfer_case(record, "STUCK", Severity::Warning, facts))
    }

    fn failing(&self, record: &Record) -> Option<Case> {
        let pushes = pushes(self.shared.plan.table(record.flow), record);
        let many = record.head.retries >= self.shared.parts.settings.alerts.compensation_failures;
        let facts = format!("the money cannot be given back: {}", self.stands_in(record));
        (pushes && many).then(|| transfer_case(record, "COMPENSATION", Severity::Critical, facts))
    }

    /// How long a transfer has been in its state, if that is longer than its flow says is normal there. The
    /// time counts from the event that led here, not from the last write.
    async fn overdue(
        &self,
        record: &Record,
        now: Millis,
        entered: &mut Entered,
    ) -> Result<Option<Millis>, Cause> {
        let configured = self.shared.parts.settings.alerts.target_pending_seconds;
        let table = self.shared.plan.table(record.flow);
        let state = record.head.state;
        let Some(normal) = table.state(state).normal.seconds(configured) else { return Ok(None) };
        let most = normal.saturating_mul(1_000);
        if now.saturating_sub(record.created_at) < most {
            return Ok(None);
        }
        let since = match entered.get(&record.id) {
            Some((_, since)) => *since,
            None => {
                let code = table.state(state).code;
                let history = self.shared.parts.journal.history(record.id).await?;
                let came = history.iter().rev().map(|linked| &linked.entry);
                let came = came.filter(|e| e.to == code && e.from != Some(code)).map(|e| e.at);
                let since = came.take(1).last().unwrap_or(record.created_at);
                entered.insert(record.id, (state, since));
                since
            }
        };
        let waits = now.saturating_sub(since);
        Ok((waits > most).then_some(waits))
    }

    fn target_pending(&self, record: &Record, overdue: Option<Millis>) -> Option<Case> {
        let waits =
            overdue.filter(|_| calls_target(self.shared.plan.table(record.flow), record))?;
        let facts = format!("for {} s in {}", waits / 1_000, self.stands_in(record));
        Some(transfer_case(record, "TARGET_PENDING", Severity::Critical, facts))
    }

    /// The state of a transfer and its unknown answers there, as text for operators.
    fn stands_in(&self, record: &Record) -> String {
        let name = self.shared.plan.table(record.flow).state(record.head.state).name;
        let retries = record.head.retries;
        let last = record.error.as_ref().map(|error| format!("; the last: {}", error.code));
        format!("{name}, {retries} unknown answers{}", last.unwrap_or_default())
    }
}

/// True where a transfer waits for a call of its target: whether the target has the money is not known.
fn calls_target(table: &Table, record: &Record) -> bool {
    match table.step(record.head.state) {
        Step::Call { act, .. } | Step::Send { act, .. } => {
            let row = table.act(act);
            row.side == Side::Target && row.leg.is_some()
        }
        Step::Claim { .. } | Step::Decide { .. } | Step::Push { .. } | Step::End => false,
    }
}

/// True where a transfer gives its money back, a call that cannot be refused.
fn pushes(table: &Table, record: &Record) -> bool {
    matches!(table.step(record.head.state), Step::Push { .. })
}

fn transfer_case(record: &Record, kind: &'static str, severity: Severity, facts: String) -> Case {
    Case { kind, severity, subject: Subject::Transfer(record.id), facts: facts.into() }
}
