//! The scanner: brings what is due and what nobody holds. Crash recovery, retries and overflow.

use crate::Engine;
use kernel::people::About;
use kernel::ports::journal::Due;
use kernel::record::Record;
use kernel::unit::{Case, Severity};
use std::sync::Arc;

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
            if let Err(cause) = self.refresh().await {
                tracing::error!(%cause, "the flags cannot be read");
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
        // what is here already may be older: another worker, or a person, may have moved the row
        self.hand_over(records).await;
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
}
