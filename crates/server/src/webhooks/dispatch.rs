//! Posts due messages to the endpoints: a few at a time to each, so that a receiver that hangs delays no other.

use super::endpoints::{Endpoint, close_backlog_case, disable, endpoints, open_backlog_case};
use super::mail::Mailer;
use super::message::Message;
use super::sender::{EndpointSender, MessageClaim, Posted};
use crate::config;
use crate::metrics::Metrics;
use futures_util::future::{Either, FutureExt as _, select};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::operators::Subject;
use kernel::ports::Fut;
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::journal::Journal;
use kernel::ports::sending::NOT_SENT;
use kernel::ports::spawn::{OnEnd, Task};
use kernel::ports::webhooks::{ClaimQuery, TriedMessage, WebhookMessage, WebhookOutbox};
use kernel::webhooks::{BACKLOG_CASE, Channel};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Without this task nothing would be posted to any endpoint, and no log would say so.
pub const WEBHOOK_POSTS: Task = Task { name: "webhook_posts", on_end: OnEnd::EndsProcess };

/// The interval at which the queue is read.
const LOOK_MS: Millis = 500;
/// The most messages in flight to one endpoint.
const AT_ONCE: usize = 8;
/// The most tries that one write stores.
const NOTED: usize = 64;
/// The time after the longest try of a claimed message; then another process may claim the message.
const HOLD_MS: Millis = 10_000;
/// A message that is due later than this is due at once: a clock was set back.
const LONGEST_MS: Millis = 60 * 86_400_000;
/// The pause for an endpoint that throttles without `Retry-After`.
const THROTTLE_MS: Millis = 5_000;
/// The interval at which waiting messages are counted.
const COUNT_MS: Millis = 5_000;
/// The pause after a fault of the journal.
const FAULT_MS: Millis = 2_000;
/// The chance in each wait: up to a fifth of it.
const JITTER: u64 = 5;

/// The parts that the dispatch needs.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct DispatchContext {
    /// The queue of messages.
    pub outbox: Arc<dyn WebhookOutbox>,
    /// Holds the endpoints, and says what time it is for waits.
    pub journal: Arc<dyn Journal>,
    /// The machine's clock, for waits.
    pub clock: Arc<dyn Clock>,
    /// Chance, so that those who failed together do not return together.
    pub rng: Arc<dyn Rng>,
    /// Takes the measurements of tries.
    pub metrics: Arc<Metrics>,
    /// Sends e-mail, where that is set.
    pub mailer: Option<Mailer>,
}

/// Posts messages to endpoints.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Dispatch {
    context: DispatchContext,
    sender: EndpointSender,
    waits: Vec<Millis>,
    hold: Millis,
    disable_after: Millis,
    max_waiting: u64,
}

/// A message that this process tries now.
struct Taken {
    endpoint: Arc<Endpoint>,
    message: WebhookMessage,
    claim: MessageClaim,
}

/// A try that has ended.
struct Ended {
    message: WebhookMessage,
    posted: Posted,
}

/// The messages in flight, and the endpoints that pause.
#[derive(Default)]
struct Traffic {
    flying: BTreeMap<Id, usize>,
    /// Endpoints that take nothing before then.
    throttled: BTreeMap<Id, Millis>,
    /// When it was counted what waits.
    counted: Option<Millis>,
}

impl Dispatch {
    /// By the settings.
    ///
    /// # Errors
    /// TLS cannot be used at all.
    pub fn new(settings: &config::Webhooks, context: DispatchContext) -> Result<Self, String> {
        let sender = EndpointSender::new(settings)?;
        let hold = settings.timeout_seconds.saturating_mul(2_000).saturating_add(HOLD_MS);
        let disable_after = settings.disable_after_hours.saturating_mul(3_600_000);
        let (waits, max_waiting) = (settings.waits(), settings.max_waiting);
        Ok(Self { context, sender, waits, hold, disable_after, max_waiting })
    }

    /// Posts, for as long as the process lives.
    pub async fn run(self) {
        let clock = &self.context.clock;
        let (mut traffic, mut flying) = (Traffic::default(), FuturesUnordered::new());
        loop {
            let rest = match self.take_up(&mut traffic).await {
                Ok(taken) => {
                    flying.extend(taken.into_iter().map(|one| self.try_one(one)));
                    LOOK_MS
                }
                Err(cause) => {
                    tracing::warn!(%cause, "messages to endpoints wait: the journal does not answer");
                    FAULT_MS
                }
            };
            let tick = clock.sleep(rest);
            if flying.is_empty() {
                tick.await;
                continue;
            }
            let mut ended = Vec::new();
            if let Either::Left((one, _)) = select(flying.next(), tick).await {
                ended.extend(one);
            }
            while ended.len() < NOTED
                && let Some(Some(one)) = flying.next().now_or_never()
            {
                ended.push(one);
            }
            if !ended.is_empty() {
                self.note(&mut traffic, ended).await;
            }
        }
    }

    /// The due messages, each with its endpoint.
    async fn take_up(&self, traffic: &mut Traffic) -> Result<Vec<Taken>, Cause> {
        let DispatchContext { outbox, journal, .. } = &self.context;
        let now = journal.now();
        traffic.throttled.retain(|_, until| now < *until);
        let all = endpoints(&**journal).await?;
        if traffic.counted.is_none_or(|at| now.saturating_sub(at) >= COUNT_MS) {
            traffic.counted = Some(now);
            self.bound_backlogs(&all).await?;
        }
        let mut taken = Vec::new();
        for one in all.into_iter().filter(Endpoint::is_active) {
            let id = one.id();
            let flying = traffic.flying.get(&id).copied().unwrap_or(0);
            let limit = AT_ONCE.saturating_sub(flying);
            if limit == 0 || traffic.throttled.contains_key(&id) {
                continue;
            }
            let query = ClaimQuery { endpoint: id, hold: self.hold, longest: LONGEST_MS, limit };
            let claim = MessageClaim::begin(&self.context.clock, self.hold);
            let endpoint = Arc::new(one);
            for message in outbox.claim(query).await? {
                *traffic.flying.entry(id).or_default() += 1;
                taken.push(Taken { endpoint: endpoint.clone(), message, claim: claim.clone() });
            }
        }
        Ok(taken)
    }

    /// Counts what waits for each endpoint. One that takes less than is queued for it gets a case at half of the
    /// bound, and is disabled at the bound: what comes later is in the journal, from which a replay sends it.
    async fn bound_backlogs(&self, all: &[Endpoint]) -> Result<(), Cause> {
        let DispatchContext { outbox, journal, metrics, .. } = &self.context;
        let backlogs = outbox.waiting(all.iter().map(Endpoint::backlog).collect()).await?;
        metrics.webhook_messages_waiting(backlogs.iter().map(|of| of.messages).sum());
        let open = journal.open_cases().await?;
        for (one, backlog) in all.iter().zip(backlogs) {
            let has_case = open.iter().any(|case| {
                *case.kind == *BACKLOG_CASE && case.subject == Subject::Webhook(one.id())
            });
            let waiting = backlog.queued_since;
            if one.is_active() && waiting >= self.max_waiting {
                let why = format!("{waiting} messages wait for it (webhooks.max_waiting)");
                disable(&**journal, one, &why).await?;
            } else if one.is_active() && waiting >= self.max_waiting / 2 && !has_case {
                open_backlog_case(&**journal, one, waiting, self.max_waiting).await?;
            } else if has_case && !one.is_active() {
                close_backlog_case(&**journal, one.id(), "it is disabled").await?;
            } else if has_case && waiting < self.max_waiting / 4 {
                close_backlog_case(&**journal, one.id(), "few messages wait for it").await?;
            }
        }
        Ok(())
    }

    fn try_one(&self, taken: Taken) -> Fut<'_, Ended> {
        Box::pin(async move {
            let Taken { endpoint: of, message, claim } = taken;
            let now = self.context.clock.now();
            let endpoint = &of.webhook.endpoint;
            let sent = Message { id: message.id.to_string(), body: message.body.to_string() };
            let posted = match (endpoint.channel, &self.context.mailer) {
                (Channel::Http, _) => {
                    let secrets = of.webhook.signing(self.context.journal.now());
                    self.sender.post(&endpoint.target, secrets, &sent, now, claim).await
                }
                (Channel::Email, Some(mailer)) => mailer.send(&endpoint.target, &sent).await,
                (Channel::Email, None) => Posted::failed(Cause::of("NO_MAIL")),
            };
            Ended { message, posted }
        })
    }

    /// Writes what tries came to, until it is written: a try that is not noted is made again.
    async fn note(&self, traffic: &mut Traffic, ended: Vec<Ended>) {
        let DispatchContext { outbox, clock, metrics, journal, .. } = &self.context;
        let (mut tried, mut failed, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for Ended { message, posted } in ended {
            let id = message.endpoint;
            if let Some(flying) = traffic.flying.get_mut(&id) {
                *flying = flying.saturating_sub(1);
            }
            let wait = self.wait_after(message.attempts.saturating_add(1), &posted);
            metrics.webhook_tried(word(&posted));
            if word(&posted) == NOT_SENT {
                // it is another process's, or due again
                continue;
            }
            match &posted {
                Posted::Taken(_) => {}
                Posted::Gone => gone.push(id),
                Posted::Failed { throttles, retry_after, .. } => {
                    failed.push(id);
                    if *throttles {
                        let pause = retry_after.unwrap_or(THROTTLE_MS);
                        traffic.throttled.insert(id, journal.now().saturating_add(pause));
                    }
                }
            }
            tried.push(as_tried(&message, &posted, wait));
        }
        while let Err(cause) = outbox.tried(tried.clone()).await {
            tracing::warn!(%cause, "what became of messages to endpoints is not noted yet");
            clock.sleep(FAULT_MS).await;
        }
        if let Err(cause) = self.disable_some(&gone, &failed).await {
            tracing::warn!(%cause, "an endpoint is not disabled yet");
        }
    }

    /// Disables those that want nothing any more, and those that took nothing for long.
    async fn disable_some(&self, gone: &[Id], failed: &[Id]) -> Result<(), Cause> {
        if gone.is_empty() && failed.is_empty() {
            return Ok(());
        }
        let DispatchContext { outbox, journal, .. } = &self.context;
        let progress = outbox.progress().await?;
        let now = journal.now();
        let all = endpoints(&**journal).await?;
        for one in all.iter().filter(|one| one.is_active()) {
            let id = one.id();
            if gone.contains(&id) {
                disable(&**journal, one, "it answered 410 Gone").await?;
            } else if failed.contains(&id) {
                let name = format!("failing/{id}");
                let since = progress.iter().find(|one| *one.name == *name).map(|one| one.value);
                let enabled = one.webhook.endpoint.enabled_at;
                // what failed before an operator enabled it says nothing
                let since = since.map(|since| if since > enabled { since } else { enabled });
                if since.is_some_and(|since| now.saturating_sub(since) >= self.disable_after) {
                    let hours = self.disable_after / 3_600_000;
                    disable(&**journal, one, &format!("it took nothing for {hours} hours")).await?;
                }
            }
        }
        Ok(())
    }

    /// The wait of a message after this number of tries; `None`: there is no further try.
    fn wait_after(&self, tries: u32, posted: &Posted) -> Option<Millis> {
        let Posted::Failed { retry_after, .. } = posted else { return None };
        let place = usize::try_from(tries).unwrap_or(usize::MAX).saturating_sub(1);
        let wait = self.waits.get(place).copied()?;
        let wait = retry_after.filter(|asked| *asked > wait).unwrap_or(wait);
        let most = (wait / JITTER).saturating_add(1);
        Some(wait.saturating_add(self.context.rng.next() % most))
    }
}

fn word(posted: &Posted) -> &'static str {
    match posted {
        Posted::Taken(_) => "TAKEN",
        Posted::Gone => "GONE",
        Posted::Failed { cause, .. } => cause.class,
    }
}

fn as_tried(message: &WebhookMessage, posted: &Posted, wait: Option<Millis>) -> TriedMessage {
    let (status, error) = match posted {
        Posted::Taken(status) => (Some(*status), None),
        Posted::Gone => (Some(410), Some("STATUS: 410".into())),
        Posted::Failed { cause, status, .. } => (*status, Some(cause.to_string().into())),
    };
    let WebhookMessage { endpoint, number, .. } = *message;
    TriedMessage { endpoint, number, wait, status, error }
}
