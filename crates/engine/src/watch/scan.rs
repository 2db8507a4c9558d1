//! The scanner reads transfers from the journal that are due and that no worker holds, and brings them to
//! the pipeline. It is crash recovery, the retries and the overflow of full queues in one.

use crate::drive::station::NEW_TRANSFERS_DIVISOR;
use crate::watch::Recovery;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::clock::TICKS;
use kernel::ports::journal::{Due, DueQuery};
use kernel::record::Record;
use std::sync::Arc;

/// After this many deaths of a worker that ran a transfer alone, a case is opened and the transfer goes on
/// at the longest backoff (`design.md` §4).
const DEATHS: u8 = 3;

/// How soon the journal is asked again after work of others was found, in milliseconds; the intervals
/// become longer and longer.
const SOON: Millis = 5;
/// How few transfers are asked for of a flow whose stations have no room, and how often, in nanoseconds.
/// The transfers of a dead worker come first, and may wait at a station that has room.
const FEW: usize = 64;
const ASK_FEW: u64 = 10_000_000_000;
/// How often the open transfers are counted where others share the journal, in nanoseconds.
const COUNT: u64 = 10_000_000_000;

/// How much the journal had for this worker.
enum DueWork {
    /// As much as was asked for.
    More,
    Some,
    Nothing,
}

/// The next interval, at most this long.
const fn longer(wait: Millis, most: Millis) -> Millis {
    let twice = wait.saturating_mul(2);
    if twice < most { twice } else { most }
}

impl Recovery {
    pub(crate) async fn run_scanner(self: Arc<Self>) {
        let every = self.shared.parts.settings.scan_interval_ms;
        let (mut wait, mut looked, mut counted) = (every, None, self.shared.parts.clock.ticks());
        let mut asked_few = counted;
        loop {
            match self.scan(&mut asked_few).await {
                DueWork::More => continue,
                // where others put work there is more to come
                DueWork::Some if self.shared.lease.ends() => wait = SOON,
                DueWork::Some | DueWork::Nothing => wait = longer(wait, every),
            }
            let now = self.shared.parts.clock.ticks();
            if looked.is_none_or(|looked| now.saturating_sub(looked) >= every * TICKS) {
                looked = Some(now);
                if let Err(cause) = self.look_around(&mut counted).await {
                    tracing::error!(%cause, "the flags cannot be read");
                }
            }
            self.shared.parts.clock.sleep(wait).await;
        }
    }

    /// Asks the journal once for transfers that are due and for which there is room here.
    async fn scan(&self, asked_few: &mut u64) -> DueWork {
        if !self.shared.parts.settings.workers || self.shared.controls.retired() {
            return DueWork::Nothing;
        }
        let ring = self.shared.parts.settings.ring;
        // pages of a quarter of the room, at least
        let (mut full, mut flows, mut room) = (Vec::new(), Vec::new(), ring);
        for flow in &self.shared.parts.offered {
            let here = self.pipeline.room_for(*flow);
            if here < ring - ring / 4 {
                full.push(*flow);
            } else {
                flows.push(*flow);
                room = if here < room { here } else { room };
            }
        }
        let now = self.shared.parts.clock.ticks();
        if full.is_empty() {
            *asked_few = now;
        } else if now.saturating_sub(*asked_few) >= ASK_FEW {
            *asked_few = now;
            self.ask_due(DueQuery { flows: full.into(), limit: FEW }).await;
        }
        if flows.is_empty() {
            return DueWork::Nothing;
        }
        let limit = room.saturating_sub(ring / NEW_TRANSFERS_DIVISOR);
        self.ask_due(DueQuery { flows: flows.into(), limit }).await
    }

    async fn ask_due(&self, query: DueQuery) -> DueWork {
        let limit = query.limit;
        match self.shared.parts.journal.due(self.shared.parts.worker, query).await {
            Ok(found) => {
                let items = found.len();
                self.bring(found).await;
                match items {
                    0 => DueWork::Nothing,
                    some if some < limit => DueWork::Some,
                    _ => DueWork::More,
                }
            }
            Err(cause) => {
                tracing::error!(%cause, "the scanner cannot read the journal");
                DueWork::Nothing
            }
        }
    }

    /// Follows the flags, and the changes of other workers.
    async fn look_around(&self, counted: &mut u64) -> Result<(), Cause> {
        let status = self.status.refresh().await?;
        self.shared.waiters.sweep();
        self.pipeline.queues();
        self.review_register().await?;
        if !self.shared.lease.ends() {
            return Ok(());
        }
        self.give_back(&status).await;
        let now = self.shared.parts.clock.ticks();
        if now.saturating_sub(*counted) >= COUNT {
            // others open and end transfers too
            let counts = self.shared.parts.journal.counts().await?;
            *counted = self.shared.parts.clock.ticks();
            let open = counts.iter().map(|count| count.transfers).sum();
            self.in_flight.open_are(open);
        }
        Ok(())
    }

    async fn bring(&self, found: Vec<Due>) {
        let (mut records, mut sent_again) = (Vec::with_capacity(found.len()), Vec::new());
        let mut attempts = Vec::new();
        for due in found {
            match due {
                Due::Transfer(record) | Due::Orphan(record)
                    if self.shared.follows_events(record.flow) =>
                {
                    sent_again.push(record);
                }
                Due::Transfer(mut record) => {
                    record.head.due_at = None;
                    records.push(record);
                }
                Due::Orphan(record) => records.push(self.orphan(record)),
                Due::Attempt(attempt) => attempts.push(attempt),
            }
        }
        self.chains.take_in(attempts).await;
        self.messaging.send_again(sent_again).await;
        // what is here already may be older: another worker, or a person, may have moved the row
        self.pipeline.reassign(records).await;
    }

    /// Takes a transfer whose worker died: it runs alone, or, where it waited for an attempt, once in
    /// company.
    fn orphan(&self, mut record: Record) -> Record {
        if !self.chains.waits_in_company(&record) {
            record.head.alone = true;
        }
        record.head.due_at = None;
        if record.head.deaths >= DEATHS {
            let cap = self.shared.parts.settings.backoff.cap;
            record.head.due_at = Some(self.shared.parts.journal.now().saturating_add(cap));
            self.cases.case(Case {
                kind: "POISON",
                severity: Severity::Critical,
                subject: Subject::Transfer(record.id),
                facts: format!("{} owners died while it was tried", record.head.deaths).into(),
            });
        }
        record
    }
}
