//! Looks at the transfers of the register, and goes on with each as the journal has it.
//!
//! The journal brings the transfers of a dead worker. But a unit of this process whose outcome is not known may have
//! moved them, opened them, or given them to this process by an operator's action: the COMMIT may succeed after the
//! journal was asked, and then the journal takes them for ours, and no scanner brings them. So a transfer that stands
//! still for longer than any lease lasts is taken up again. One that stands in an attempt is looked up with that
//! attempt, and of one that messages move the message is sent again.

use crate::commit::register::Sighting;
use crate::watch::Recovery;
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::ports::clock::TICKS;
use kernel::record::Record;
use std::collections::BTreeSet;

/// The milliseconds that the journal adds to a lease for a worker that forgot it.
const LONGER: Millis = 5_000;
/// After this many times that wait, a transfer that was not found was never opened.
const NEVER: u64 = 10;
/// How many transfers are read at once.
const PAGE: usize = 1_000;

/// What is to be done for the transfers of a page.
#[derive(Default)]
struct RegisterWork {
    /// Their attempts are looked up.
    attempts: Vec<Id>,
    /// Their message is sent again.
    messages: Vec<Record>,
    /// They go on here.
    back: Vec<Record>,
}

impl Recovery {
    /// Looks at all of them.
    ///
    /// # Errors
    /// The cause for which the journal does not answer; the next look sees them again.
    pub(crate) async fn review_register(&self) -> Result<(), Cause> {
        let ids: Vec<Id> = self.shared.writer.register.all().keys().copied().collect();
        let long = self.shared.parts.settings.lease_ms.saturating_add(LONGER).saturating_mul(TICKS);
        for page in ids.chunks(PAGE) {
            let found = self.shared.parts.journal.get(page.to_vec()).await?;
            let now = self.shared.parts.clock.ticks();
            let there: BTreeSet<Id> = found.iter().map(|record| record.id).collect();
            let unknown = page.iter().filter(|id| !there.contains(id)).copied();
            let never = long.saturating_mul(NEVER);
            self.shared
                .writer
                .register
                .never_came(unknown, |since| now.saturating_sub(since) > never);
            let mut work = RegisterWork::default();
            for record in found {
                self.review(record, now, long, &mut work);
            }
            // first what the register has no more: nothing that fails below may lose it
            self.messaging.send_again(work.messages).await;
            if !work.back.is_empty() {
                self.pipeline.reassign(work.back).await;
            }
            self.chains.take_up_attempts_of(work.attempts.clone()).await?;
            work.attempts.iter().for_each(|id| self.shared.writer.register.forget(*id));
        }
        Ok(())
    }

    /// Looks at one as the journal has it.
    fn review(&self, record: Record, now: u64, long: u64, work: &mut RegisterWork) {
        let mut all = self.shared.writer.register.all();
        let Some(Sighting { version, since }) = all.get(&record.id).copied() else { return };
        let moved = version != record.head.version;
        if self.shared.plan.table(record.flow).ends(record.head.state) {
            all.remove(&record.id);
            self.shared.waiters.tell(record);
        } else if self.shared.follows_events(record.flow) {
            all.remove(&record.id);
            if !moved {
                work.messages.push(record);
            }
        } else if self.shared.plan.in_attempt(&record) {
            work.attempts.push(record.id);
        } else if !self.shared.lease.ends() {
            // no other process writes this journal: what is not written now never will be
            all.remove(&record.id);
        } else if moved {
            all.insert(record.id, Sighting { version: record.head.version, since: now });
        } else if now.saturating_sub(since) > long {
            all.remove(&record.id);
            work.back.push(record);
        }
    }
}
