//! Plans units that move no money: they say when a worker looks at a record next and which one does, count
//! tries, and pause a flow after an answer that its table does not allow.

use crate::plan::chain_stop::ENGINE;
use crate::plan::guards::at_state;
use crate::plan::planner::{NextStep, Plan, Planned, put, settled};
use kernel::answer::{Answer, Cause, Evidence};
use kernel::flow::life::Step;
use kernel::ids::Millis;
use kernel::operators::{Case, Scope, Severity, Subject};
use kernel::record::{Head, Record};
use kernel::unit::{Hold, Put, Then, Unit};
use std::sync::Arc;

impl Plan {
    /// Puts a record's next try off to a later time; nothing else moves.
    pub(crate) fn later(&self, record: &Record, cause: &Cause, due: Millis, hold: Hold) -> Planned {
        // what a ledger refused is what people ask for: a later hindrance does not hide it
        let error = (record.head.rejections == 0)
            .then(|| Evidence { code: cause.class.into(), doc: cause.detail.clone() });
        put_off(record, due, error, hold)
    }

    /// True for a record that spoiled its last attempt. The mark is not of a worker's death, and it is for
    /// the record's next attempt, however many rules stand before that.
    pub(crate) fn spoiled(&self, record: &Record) -> bool {
        let table = self.table(record.flow);
        let marked = record.head.alone && record.head.deaths == 0;
        marked && table.all().any(|state| table.sends(state))
    }

    /// The case and the pause after an answer that the table does not allow: the flow stops.
    pub(crate) fn contradiction(&self, record: &Record, facts: &str) -> (Case, Put) {
        let reason: Arc<str> = format!("contradiction at {}: {facts}", record.id).into();
        let case = Case {
            kind: "CONTRADICTION",
            severity: Severity::Critical,
            subject: Subject::Transfer(record.id),
            facts: reason.clone(),
        };
        let (scope, caller) = (Scope::Flow(record.flow), ENGINE.into());
        (case, Put::Pause { scope, reason, caller })
    }

    /// Why an answer contradicts the record's step; `None` where it does not.
    pub(crate) fn contradicts(&self, record: &Record, answer: &Answer) -> Option<&'static str> {
        let step = self.table(record.flow).step(record.head.state);
        match (step, answer) {
            (Step::Push { .. }, Answer::Rejected(..)) => Some("a refund was refused"),
            (Step::Push { .. } | Step::Call { .. }, Answer::Dead(_)) => {
                Some("a ledger called an operation dead")
            }
            (Step::Push { .. } | Step::Call { .. }, Answer::Unknown(cause)) => {
                (cause.class == Cause::CONTRADICTION).then_some("the ledger holds something else")
            }
            _ => None,
        }
    }

    /// Leaves a record to the scanner of any worker at that time; its error stays.
    pub(crate) fn freed(&self, record: &Record, due: Millis) -> Planned {
        put_off(record, due, None, Hold::Free)
    }

    /// Takes the mark away from a record that was tried alone without a worker's death. It waits in its
    /// worker's own heap until `due`, which is not written.
    pub(crate) fn survived(&self, record: &Record, due: Millis) -> Planned {
        let head = settled(record.head);
        let mut planned = put_alone(record, head, put(record, head, None));
        planned.next.otherwise.due_at = Some(due);
        planned
    }

    /// Marks a record as tried, alone or in company, by a worker that may die of it.
    pub(crate) fn trial(&self, record: &Record, alone: bool) -> Planned {
        let mut head = record.head;
        head.version = head.version.saturating_add(1);
        head.alone = alone;
        head.deaths = head.deaths.saturating_add(1);
        head.due_at = None;
        put_alone(record, head, put(record, head, None))
    }

    /// Writes a record in its state, before a call is sent again whose claim is of another process or of an
    /// earlier run: an answer that is still being written there fails its guard.
    pub(crate) fn taken_over(&self, record: &Record) -> Planned {
        let mut head = record.head;
        head.version = head.version.saturating_add(1);
        head.due_at = None;
        put_alone(record, head, put(record, head, None))
    }
}

impl Planned {
    /// Marks the record's next head, so that it is taken alone, or in company.
    pub(crate) fn goes_alone(&mut self, alone: bool) {
        self.next.otherwise.alone = alone;
        for put in &mut self.unit.then.puts {
            if let Put::Head { head, .. } = put {
                head.alone = alone;
            }
        }
    }
}

/// Plans nothing but when the record is looked at next, and by which worker.
pub(crate) fn put_off(
    record: &Record,
    due: Millis,
    error: Option<Evidence>,
    hold: Hold,
) -> Planned {
    let mut head = record.head;
    head.version = head.version.saturating_add(1);
    head.due_at = Some(due);
    put_alone(record, head, Put::Head { id: record.id, head, error, hold })
}

/// Plans nothing but the record's head.
fn put_alone(record: &Record, head: Head, put: Put) -> Planned {
    let then = Then { puts: vec![put], ..Then::default() };
    let unit = Unit { guards: vec![at_state(record)], then };
    let next = NextStep { otherwise: head, done: None, rejected: None };
    Planned { unit, next, depends_on: Vec::new() }
}
