//! The scanner: brings what is due and what nobody holds. Crash recovery, retries and overflow.

use crate::Engine;
use kernel::ids::Id;
use kernel::people::About;
use kernel::ports::journal::Due;
use kernel::record::Record;
use kernel::unit::{Case, Severity};
use std::sync::{Arc, PoisonError};

/// After its owner died so often while it ran alone, a person is asked and it goes on at the
/// longest backoff (`design.md` §4).
const DEATHS: u8 = 3;

impl Engine {
    pub(crate) async fn run_scanner(self: Arc<Self>) {
        let settings = self.parts.settings.clone();
        loop {
            match self.parts.journal.due(self.parts.worker, settings.ring).await {
                Ok(found) => {
                    let full = found.len() >= settings.ring;
                    self.bring(found).await;
                    if full {
                        continue;
                    }
                }
                Err(cause) => tracing::error!(%cause, "the scanner cannot read the journal"),
            }
            self.waiting.sweep();
            self.queues();
            self.parts.clock.sleep(settings.scan_interval_ms).await;
        }
    }

    async fn bring(self: &Arc<Self>, found: Vec<Due>) {
        let mut records = Vec::with_capacity(found.len());
        for due in found {
            match due {
                Due::Transfer(mut record) => {
                    record.head.due_at = None;
                    records.push(record);
                }
                Due::Orphan(record) => records.push(self.orphan(record)),
                // no flow of this release sends
                Due::Attempt(attempt) => {
                    tracing::error!(attempt = ?attempt.id, "an attempt and nobody to look at it");
                }
            }
        }
        records.retain(|record| self.hold(record.id));
        let freed = self.advance(records);
        self.commit(freed).await;
    }

    /// Its owner died holding it: it runs alone.
    fn orphan(self: &Arc<Self>, mut record: Record) -> Record {
        record.head.alone = true;
        record.head.due_at = None;
        if record.head.deaths >= DEATHS {
            let cap = self.parts.settings.backoff.cap;
            record.head.due_at = Some(self.parts.journal.now().saturating_add(cap));
            self.case(Case {
                kind: "POISON",
                severity: Severity::Critical,
                about: About::Transfer(record.id),
                facts: format!("{} owners died while it ran alone", record.head.deaths).into(),
            });
        }
        record
    }

    /// Takes a transfer into this process's hands. False: it has it already.
    pub(crate) fn hold(&self, id: Id) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
    }

    /// Gives it up: the journal knows where it stands.
    pub(crate) fn release(&self, id: Id) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// So many transfers are in this process's hands.
    pub(crate) fn carried(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
