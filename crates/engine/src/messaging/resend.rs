//! Sends again what moves a transfer on, where the scanner finds a transfer of a flow that events drive. It
//! executes nothing.

use crate::commit::outcome::{NotWritten, WriteOutcome};
use crate::messaging::Messaging;
use kernel::ids::Id;
use kernel::record::Record;
use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

/// The most transfers of which this process remembers that a pause held them back. Those above it wait until
/// the scanner looks at them.
const MOST: usize = 100_000;
/// How many of them are read at once.
const PAGE: usize = 1_000;

impl Messaging {
    /// Sends again the message of each transfer whose time has come. Under HALT and during a pause nothing
    /// is sent, and the scanner looks at the transfer again later.
    pub(crate) async fn send_again(&self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let unit = |record: &Record| {
            let due = self.resend_due(record);
            let sends = self.shared.controls.halted().is_none()
                && self.shared.controls.fuse_mode(record).is_none();
            let planned = if sends {
                self.shared.plan.sent_again(record, due)
            } else {
                self.shared.plan.looked_at_later(record, due)
            };
            planned.unit
        };
        let drafts = records.iter().map(|record| unit(record).into()).collect();
        for (record, outcome) in records.iter().zip(self.shared.writer.write_all(drafts).await) {
            match outcome {
                WriteOutcome::Done(_) => tracing::debug!(transfer = %record.id, "sent again"),
                // a message moved it meanwhile
                WriteOutcome::Lost(_) => {}
                WriteOutcome::NotWritten(NotWritten { cause, .. }) => {
                    tracing::warn!(transfer = %record.id, %cause, "it may not be sent again yet");
                    self.send_again_soon(record);
                }
            }
        }
    }

    /// Sends the message of a transfer again at the next look, unless it moves before. The journal takes it for
    /// carried here, and gives it to no worker.
    pub(super) fn send_again_soon(&self, record: &Record) {
        self.shared.watch(record.id, record.head.version);
    }

    fn held_back(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.held_back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a transfer whose message was passed over, since a pause stands.
    pub(crate) fn hold_back(&self, id: Id) {
        let mut held = self.held_back();
        if held.len() < MOST {
            held.insert(id);
        }
    }

    /// Has the messages sent again that a pause held back and that none holds back any more.
    pub(crate) async fn release(&self) {
        let ids: Vec<Id> = std::mem::take(&mut *self.held_back()).into_iter().collect();
        for page in ids.chunks(PAGE) {
            let found = match self.shared.parts.journal.get(page.to_vec()).await {
                Ok(found) => found,
                Err(cause) => {
                    // the scanner finds them when their time has come
                    tracing::warn!(%cause, "what was paused waits until it is due");
                    return;
                }
            };
            for record in found {
                if self.shared.plan.table(record.flow).ends(record.head.state) {
                    continue;
                }
                if self.shared.controls.fuse_mode(&record).is_some() {
                    self.hold_back(record.id);
                } else {
                    self.send_again_soon(&record);
                }
            }
        }
    }
}
