//! Posts the opening and the closing of every case to the address of `alerts.webhook_url`, and repeats each until
//! the receiver accepts it.
//!
//! The journal stores what is to be posted and when the next try is due: after a restart the task continues where
//! the last process was. Nothing else waits for a receiver: one task reads, posts and stores the results.

use super::message::Message;
use super::sender::{MessageClaim, Sender};
use crate::config::Alerts;
use crate::metrics::Metrics;
use futures_util::{StreamExt, stream};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::ports::admin_queries::{AdminQueries, Delivery};
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::journal::Journal;
use kernel::ports::sending::NOT_SENT;
use kernel::ports::spawn::{OnEnd, Task};
use kernel::retry::Backoff;
use std::sync::Arc;

/// Without this task no receiver would get a case, and no log would say so.
pub const WEBHOOKS: Task = Task { name: "webhooks", on_end: OnEnd::EndsProcess };

/// The waits between two tries of one webhook; there is no last try.
pub const BACKOFF: Backoff = Backoff { base: 1_000, cap: 300_000 };
/// The interval at which the journal is read for new messages.
const LOOK_MS: Millis = 1_000;
/// The time for which a process claims a message: twice as long as a try may last.
const HOLD_MS: Millis = 10_000;
/// The most messages in flight at once.
const AT_ONCE: usize = 8;
/// The most messages of one reading of the journal.
const BATCH: usize = 64;
/// The shortest time between two log lines about a receiver that accepts nothing.
const TOLD_MS: Millis = 60_000;
const NANOS: u64 = 1_000_000;

/// The parts that the webhook task needs.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct WebhookContext {
    /// Stores the messages, and the time of each one's next try.
    pub outbox: Arc<dyn AdminQueries>,
    /// Gives the journal's time for waits.
    pub journal: Arc<dyn Journal>,
    /// The machine's clock, for waits.
    pub clock: Arc<dyn Clock>,
    /// Random numbers, so that tries that failed together are not repeated together.
    pub rng: Arc<dyn Rng>,
    /// Takes the measurements of tries.
    pub metrics: Arc<Metrics>,
}

/// Posts the webhooks of cases.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Webhooks {
    context: WebhookContext,
    sender: Sender,
}

/// The result of one round over the journal.
#[derive(Debug, Default)]
struct Round {
    taken: u64,
    refused: Option<Cause>,
    waiting: u64,
}

/// Whether the log knows of a receiver that takes nothing, and since when.
#[derive(Debug, Default)]
struct FailureNotice(Option<u64>);

impl Webhooks {
    /// By the settings. From now on each half of an episode is posted.
    ///
    /// # Errors
    /// The machine's roots of trust cannot be read; the journal does not answer.
    pub async fn open(alerts: &Alerts, context: WebhookContext) -> Result<Self, Cause> {
        let sender = Sender::new(alerts).map_err(|why| Cause::because("UNFIT", why))?;
        context.outbox.tell().await?;
        Ok(Self { context, sender })
    }

    /// Posts, for as long as the process lives.
    pub async fn run(self: Arc<Self>) {
        let (mut notice, mut faults) = (FailureNotice::default(), 0);
        loop {
            let rest = match self.round().await {
                Ok(round) => {
                    faults = 0;
                    notice.of(&round, self.context.clock.ticks());
                    // the end of an episode may have waited for what was taken
                    if round.taken > 0 { 0 } else { LOOK_MS }
                }
                Err(cause) => {
                    faults = u32::saturating_add(faults, 1);
                    tracing::warn!(%cause, "webhooks wait: the journal does not answer");
                    LOOK_MS.saturating_add(BACKOFF.wait(faults, self.context.rng.next()))
                }
            };
            if rest > 0 {
                self.context.clock.sleep(rest).await;
            }
        }
    }

    async fn round(&self) -> Result<Round, Cause> {
        let outbox = &self.context.outbox;
        let due = outbox.deliveries(BACKOFF.cap.saturating_mul(2), BATCH).await?;
        let tries = stream::iter(due).map(|due| self.try_one(due)).buffer_unordered(AT_ONCE);
        let tries: Vec<_> = tries.collect().await;
        let mut round = Round::default();
        for tried in tries {
            match tried? {
                Some(Ok(())) => round.taken = round.taken.saturating_add(1),
                Some(Err(cause)) => round.refused = Some(cause),
                None => {}
            }
        }
        (round.waiting, _) = outbox.undelivered().await?;
        self.context.metrics.webhooks_waiting(round.waiting);
        Ok(round)
    }

    /// One try, and what came of it; `None`: another process makes it. The outer error: that could not
    /// be noted.
    async fn try_one(&self, due: Delivery) -> Result<Option<Result<(), Cause>>, Cause> {
        let WebhookContext { outbox, journal, clock, rng, metrics } = &self.context;
        let claim = MessageClaim::begin(clock, HOLD_MS);
        if !outbox.take_up(&due, journal.now().saturating_add(HOLD_MS)).await? {
            return Ok(None);
        }
        let tried = self.sender.post(&Message::of(&due), clock.now(), claim).await;
        if tried.as_ref().is_err_and(|cause| cause.class == NOT_SENT) {
            // it is due again, for whichever process reads it first
            return Ok(None);
        }
        metrics.webhook_tried(tried.as_ref().map_or_else(|cause| cause.class, |()| "TAKEN"));
        let (due_at, error) = match &tried {
            Ok(()) => (None, None),
            Err(cause) => {
                let wait = BACKOFF.wait(due.attempts.saturating_add(1), rng.next());
                (Some(journal.now().saturating_add(wait)), Some(cause.to_string().into()))
            }
        };
        outbox.delivered(due.case.opened.number, due.tells, due_at, error).await?;
        Ok(Some(tried))
    }
}

impl FailureNotice {
    /// Tells the log: at once, then rarely, and when it is over.
    fn of(&mut self, round: &Round, ticks: u64) {
        let Round { waiting, .. } = *round;
        match (&round.refused, self.0) {
            (Some(cause), at) => {
                let rest = TOLD_MS.saturating_mul(NANOS);
                if at.is_none_or(|at| ticks.saturating_sub(at) >= rest) {
                    tracing::warn!(waiting, %cause, "webhooks wait: a try failed, others follow");
                    self.0 = Some(ticks);
                }
            }
            (None, Some(_)) if round.taken > 0 && waiting == 0 => {
                tracing::info!("webhooks are taken again, and none waits");
                self.0 = None;
            }
            (None, _) => {}
        }
    }
}
