//! Questions for people, and HALT. Here a case is a row and a log line.

use crate::Engine;
use kernel::people::About;
use kernel::ports::ledger::Form;
use kernel::ports::meter::Seen;
use kernel::record::Record;
use kernel::unit::{Case, Put, Severity, Unit, Wrote};
use std::sync::{Arc, PoisonError};

/// What names a case, so that one process opens it once.
pub(crate) type CaseKey = (&'static str, About);

impl Engine {
    /// Opens a case; the write happens beside the caller.
    pub(crate) fn case(self: &Arc<Self>, case: Case) {
        if self.noted(&case) {
            self.beside(vec![Put::Case(case)]);
        }
    }

    /// What cannot prove anything stands as a question as long as it is configured.
    pub(crate) fn warn_of_simple_ledgers(self: &Arc<Self>) {
        for ledger in self.parts.ledgers.iter().filter(|ledger| ledger.form() == Form::Simple) {
            let facts = format!(
                "{}: the simple form has no identity, no totals and no fence. Whether it is the \
                 ledger that it was, and whether its books add up, is proven by nobody; \
                 conservation is checked on our own rows only",
                ledger.id().name()
            );
            let (kind, severity) = ("SIMPLE_LEDGER", Severity::Warning);
            let about = About::Ledger(ledger.id());
            self.case(Case { kind, severity, about, facts: facts.into() });
        }
    }

    /// Logs a case and counts it; false where this process opened it before.
    fn noted(&self, case: &Case) -> bool {
        let key: CaseKey = (case.kind, case.about);
        if !self.cases.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            return false;
        }
        let about = case.about;
        match case.severity {
            Severity::Critical => {
                tracing::error!(kind = case.kind, %about, facts = %case.facts, "CRITICAL case");
            }
            Severity::Warning => {
                tracing::warn!(kind = case.kind, %about, facts = %case.facts, "WARNING case");
            }
        }
        true
    }

    /// An answer that the table or a stored answer contradicts: a person is asked, the flow stops.
    pub(crate) fn contradicted(self: &Arc<Self>, record: &Record, why: &str) {
        self.gate.pause(record.flow);
        let unit = self.plan.contradiction(record, why);
        let flow = self.plan.table(record.flow).flow;
        tracing::error!(flow, "flow paused; no command lifts a pause yet");
        let mut puts = Vec::new();
        for put in unit.then.puts {
            if !matches!(&put, Put::Case(case) if !self.noted(case)) {
                puts.push(put);
            }
        }
        self.beside(puts);
    }

    /// Stops all money: in RAM at once, in the journal before this returns.
    pub(crate) async fn halt(self: &Arc<Self>, kind: &'static str, facts: Arc<str>) {
        self.gate.halt(facts.clone());
        self.parts.meter.see(Seen::Halted(true));
        tracing::error!(%facts, "HALT: no money moves; no command lifts it yet");
        let case = Case {
            kind,
            severity: Severity::Critical,
            about: About::Service,
            facts: facts.clone(),
        };
        let mut puts = vec![Put::Halt { reason: facts }];
        if self.noted(&case) {
            puts.push(Put::Case(case));
        }
        self.insist(puts).await;
    }

    /// Writes puts without guards until they are durable.
    async fn insist(&self, puts: Vec<Put>) {
        loop {
            let unit = Unit::puts(puts.clone());
            if let Some(Wrote::Written(_)) = self.parts.journal.write(vec![unit]).await.first() {
                return;
            }
            self.parts.clock.sleep(self.parts.settings.backoff.cap).await;
        }
    }

    fn beside(self: &Arc<Self>, puts: Vec<Put>) {
        let engine = self.clone();
        let task = crate::tasks::Background::Case.task();
        self.parts.spawn.spawn(task, Box::pin(async move { engine.insist(puts).await }));
    }
}
