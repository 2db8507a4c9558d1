//! Turns changes in the journal into messages for endpoints. With a cursor over the numbers of transfers it finds
//! transfers that ended, also those that ended after the cursor passed them; it also finds cases that opened or
//! closed, and requests of operators.
//!
//! Any number of processes may run this on one journal: the messages of a round are written in one transaction with
//! the cursor's next value, and dropped where another process moved the cursor meanwhile.

use super::endpoints::{Endpoint, endpoints};
use super::event::{self, TransferEnd};
use super::payees::Payees;
use super::replay;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{Id, Millis, Serial};
use kernel::ports::clock::Clock;
use kernel::ports::journal::Journal;
use kernel::ports::spawn::{OnEnd, Task};
use kernel::ports::webhooks::{CaseEvent, MessageBatch, Progress, ProgressMove, WebhookOutbox};
use kernel::record::Record;
use kernel::webhooks::{EndpointRequest, FilterQuestion};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Without this task no endpoint would get any event, and no log would say so.
pub const WEBHOOK_EVENTS: Task = Task { name: "webhook_events", on_end: OnEnd::EndsProcess };

/// The cursor over the transfers' numbers.
pub(super) const CURSOR: &str = "transfers";
/// 1 while the cursor moves; 0 while there is no endpoint.
const BEGUN: &str = "transfers/begun";
/// The prefix of a cursor with the number of an endpoint's last executed request; the endpoint's id follows.
const DONE: &str = "done/";
/// The interval at which the journal is read for changes.
const LOOK_MS: Millis = 500;
/// The number of rows that are read at once.
pub(super) const PAGE: usize = 500;
/// The age up to which the cursor waits for a transfer to end; then the transfer is watched.
const GRACE_MS: Millis = 2_000;
/// The interval at which old messages are deleted.
const FORGET_MS: Millis = 600_000;
/// The most messages that are deleted at once.
const FORGET: usize = 1_000;
/// The pause after a fault of the journal.
const FAULT_MS: Millis = 2_000;

/// The parts that the fan-out needs.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct FanOutContext {
    /// The queue of messages.
    pub outbox: Arc<dyn WebhookOutbox>,
    /// Says what is new, and what time it is.
    pub journal: Arc<dyn Journal>,
    /// Waits between two looks.
    pub clock: Arc<dyn Clock>,
    /// The table of every flow.
    pub flows: Arc<Flows>,
    /// How long messages are kept.
    pub keep: Millis,
    /// A replay queues its next page when fewer messages than this wait for its endpoint: it must not disable it.
    pub replay_room: u64,
}

/// Queues messages of what happens.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct FanOut(FanOutContext);

/// The cursors, each by its name.
pub(super) struct Cursors(BTreeMap<Arc<str>, Progress>);

impl Cursors {
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|one| one.value)
    }

    /// Moves one on from where it was read.
    pub(super) fn step(&self, name: &str, value: u64) -> ProgressMove {
        let version = self.0.get(name).map_or(0, |one| one.version);
        ProgressMove { name: name.into(), version, value }
    }
}

impl FanOut {
    /// A fan-out over these parts.
    pub const fn new(context: FanOutContext) -> Self {
        Self(context)
    }

    /// Queues, for as long as the process lives.
    pub async fn run(self) {
        let FanOutContext { clock, .. } = &self.0;
        let (mut watched, mut forgotten) = (Serial(0), None);
        loop {
            let rest = match self.look(&mut watched).await {
                Ok(true) => 0,
                Ok(false) => LOOK_MS,
                Err(cause) => {
                    tracing::warn!(%cause, "endpoints of webhooks wait: the journal does not answer");
                    FAULT_MS
                }
            };
            let now = self.0.journal.now();
            if forgotten.is_none_or(|at| now.saturating_sub(at) > FORGET_MS) {
                forgotten = Some(now);
                self.forget(now).await;
            }
            if rest > 0 {
                clock.sleep(rest).await;
            }
        }
    }

    async fn forget(&self, now: Millis) {
        let before = now.saturating_sub(self.0.keep);
        loop {
            match self.0.outbox.forget(before, FORGET).await {
                Ok(0) => return,
                Ok(_) => {}
                Err(cause) => {
                    tracing::warn!(%cause, "old messages of webhooks are not forgotten yet");
                    return;
                }
            }
        }
    }

    /// One round; true where another one should follow at once.
    async fn look(&self, watched: &mut Serial) -> Result<bool, Cause> {
        let FanOutContext { outbox, journal, .. } = &self.0;
        let progress = outbox.progress().await?;
        let cursors = Cursors(progress.into_iter().map(|one| (one.name.clone(), one)).collect());
        let begun = cursors.value(BEGUN) == Some(1);
        let found = endpoints(&**journal).await?;
        if found.is_empty() {
            // the next endpoint begins with what is new then
            if begun {
                let moves = vec![cursors.step(BEGUN, 0)];
                outbox.queue(MessageBatch { moves, ..MessageBatch::default() }).await?;
            }
            return Ok(false);
        }
        let Some(cursor) = cursors.value(CURSOR).filter(|_| begun) else {
            let before = self.before_all(&found).await?;
            let moves = vec![cursors.step(CURSOR, before), cursors.step(BEGUN, 1)];
            outbox.queue(MessageBatch { moves, ..MessageBatch::default() }).await?;
            return Ok(true);
        };
        let seen = self.facts(Serial(cursor), watched).await?;
        // after the facts were read: an endpoint that was added before one of them is among these
        let endpoints = endpoints(&**journal).await?;
        let more = seen.more;
        let batch = self.batch(&cursors, &endpoints, seen).await?;
        if batch != MessageBatch::default() {
            outbox.queue(batch).await?;
        }
        let asked = self.requests(&cursors, &endpoints).await?;
        let replayed = replay::step(&self.0, &cursors, &endpoints).await?;
        Ok(more || asked || replayed)
    }

    /// The number before the first transfer that may have ended since the first endpoint was added: one
    /// that was opened since, or was open then.
    async fn before_all(&self, endpoints: &[Endpoint]) -> Result<u64, Cause> {
        let added = endpoints.iter().map(|one| one.webhook.endpoint.created_at).min();
        let since = self.0.journal.before_time(added.unwrap_or(0)).await?;
        let open = endpoints.iter().filter_map(|one| one.webhook.oldest_open).min();
        let open = open.map_or(u64::MAX, |open| open.saturating_sub(1));
        Ok(if open < since.0 { open } else { since.0 })
    }

    /// The changes behind the cursor, among watched transfers and in cases.
    async fn facts(&self, cursor: Serial, watched: &mut Serial) -> Result<Findings, Cause> {
        let FanOutContext { outbox, journal, flows, .. } = &self.0;
        let page = journal.transfers_after(cursor, None, PAGE).await?;
        let full = page.records.len() == PAGE;
        let now = journal.now();
        let mut facts = Findings { passed: None, ..Findings::default() };
        let mut stopped = false;
        for record in page.records {
            let Some(serial) = record.serial else { continue };
            if event::ended(flows, &record).is_some() || ends_untold(flows, &record) {
                facts.ended.push(record);
            } else if now.saturating_sub(record.created_at) >= GRACE_MS {
                facts.watch.push(serial);
            } else {
                stopped = true;
                break;
            }
            facts.passed = Some(serial);
        }
        let old = outbox.watched(*watched, PAGE).await?;
        *watched = match old.last().and_then(|last| last.serial) {
            Some(serial) if old.len() == PAGE => serial,
            _ => Serial(0),
        };
        let over = |record: &Record| flows.table(record.flow).ends(record.head.state);
        for record in old.into_iter().filter(over) {
            facts.late.extend(record.serial.map(|serial| (serial, record.updated_at)));
            facts.ended.push(record);
        }
        facts.cases = outbox.case_events(PAGE).await?;
        facts.more = (full && !stopped) || facts.cases.len() == PAGE;
        Ok(facts)
    }

    /// The messages of what was seen, with what moves on.
    async fn batch(
        &self,
        cursors: &Cursors,
        endpoints: &[Endpoint],
        facts: Findings,
    ) -> Result<MessageBatch, Cause> {
        let FanOutContext { journal, flows, .. } = &self.0;
        let mut batch = MessageBatch { watch: facts.watch, ..MessageBatch::default() };
        batch.ended = facts.late;
        batch.moves.extend(facts.passed.map(|serial| cursors.step(CURSOR, serial.0)));
        let mut assets = None;
        let asking = endpoints.iter().filter(|one| one.is_active()).map(|one| &one.webhook);
        let payees = Payees::read(&**journal, asking, facts.ended.iter()).await?;
        for record in &facts.ended {
            let Some(outcome) = event::ended(flows, record) else { continue };
            let since = told_of(endpoints, record.updated_at);
            let payee = payees.of(record, outcome);
            let to = event::wanted_by(since, flows, &TransferEnd { record, outcome, payee });
            if to.is_empty() {
                continue;
            }
            if assets.is_none() {
                assets = Some(journal.service_status().await?.assets);
            }
            let assets = assets.as_deref().unwrap_or_default();
            let event = event::of_transfer(flows, assets, record, outcome);
            batch.messages.extend(to.into_iter().map(|endpoint| event.to(endpoint, false)));
        }
        for one in facts.cases {
            batch.told.push((one.case.opened.number, one.tells));
            let wants = FilterQuestion::Case(one.tells.name());
            let of = told_of(endpoints, one.at).filter(|of| of.endpoint.filter.wants(wants));
            let to: Vec<Id> = of.map(|of| of.endpoint.id).collect();
            let event = event::of_case(one);
            batch.messages.extend(to.into_iter().map(|endpoint| event.to(endpoint, false)));
        }
        Ok(batch)
    }

    /// Does what operators ask for, one request of each endpoint at a time; true where there is more.
    async fn requests(&self, cursors: &Cursors, endpoints: &[Endpoint]) -> Result<bool, Cause> {
        let mut any = false;
        for one in endpoints.iter().filter(|one| one.is_active()) {
            let name = format!("{DONE}{}", one.id());
            let done = cursors.value(&name).unwrap_or(0);
            let Some((number, request)) = one.webhook.requests_after(done).next() else { continue };
            let mut batch = MessageBatch::default();
            match request {
                EndpointRequest::Test => {
                    let now = self.0.journal.now();
                    batch
                        .messages
                        .push(event::of_test(&one.webhook, number, now).to(one.id(), true));
                }
                EndpointRequest::Resend { number } => batch.resend.push((one.id(), number)),
                EndpointRequest::Replay { since } => {
                    match replay::begin(&self.0, cursors, one, since).await? {
                        Some(begun) => batch = begun,
                        // one at a time
                        None => continue,
                    }
                }
            }
            batch.moves.push(cursors.step(&name, number));
            any = self.0.outbox.queue(batch).await? || any;
        }
        Ok(any)
    }
}

/// The findings of one round.
#[derive(Default)]
struct Findings {
    /// The next value of the cursor.
    passed: Option<Serial>,
    /// Transfers that have ended already.
    ended: Vec<Record>,
    /// Transfers that have not ended, and that the cursor passes.
    watch: Vec<Serial>,
    /// Watched transfers that have ended, with the time of each end.
    late: Vec<(Serial, Millis)>,
    cases: Vec<CaseEvent>,
    more: bool,
}

/// True at an end without a declared outcome: it makes no event.
fn ends_untold(flows: &Flows, record: &Record) -> bool {
    flows.table(record.flow).ends(record.head.state)
}

/// The active endpoints that get the events of that time.
fn told_of(
    endpoints: &[Endpoint],
    at: Millis,
) -> impl Iterator<Item = &kernel::webhooks::StoredWebhook> {
    let told = move |one: &&Endpoint| one.is_active() && one.webhook.endpoint.enabled_at <= at;
    endpoints.iter().filter(told).map(|one| &one.webhook)
}
