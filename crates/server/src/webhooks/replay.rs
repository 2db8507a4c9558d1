//! Sends the events since a given time to an endpoint again: first late ends of transfers and changes of cases,
//! then the transfers opened since then, page by page behind a cursor of the endpoint's own.

use super::endpoints::Endpoint;
use super::event::{self, TransferEnd};
use super::fan_out::{CURSOR, Cursors, FanOutContext, PAGE};
use super::payees::Payees;
use kernel::answer::Cause;
use kernel::flow::life::Outcome;
use kernel::ids::{Millis, Serial};
use kernel::ports::webhooks::{MessageBatch, NewMessage};
use kernel::record::Record;
use kernel::webhooks::{FilterQuestion, StoredWebhook};

/// The cursors of a replay, each before the endpoint's id: where it is, where it ends, since when.
const AT: &str = "replay/";
const UNTIL: &str = "replay_until/";
const SINCE: &str = "replay_since/";
/// The most openings and closings of cases that are sent again, the newest ones.
const CASES: usize = 1_000;
/// The most transfers that a preview reads.
const PREVIEW: u64 = 200_000;

/// The number of messages that a replay would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preview {
    /// How many messages would be sent.
    pub messages: u64,
    /// Every event since then was looked at.
    pub complete: bool,
}

/// The progress of a replay.
struct Replay {
    at: Serial,
    until: Serial,
    since: Millis,
}

impl Replay {
    fn of(cursors: &Cursors, one: &Endpoint) -> Option<Self> {
        let value = |name: &str| cursors.value(&format!("{name}{}", one.id()));
        let (at, until, since) = (value(AT)?, value(UNTIL)?, value(SINCE)?);
        (at < until).then_some(Self { at: Serial(at), until: Serial(until), since })
    }
}

/// The writes that begin a replay; `None` while the endpoint has another one.
pub(super) async fn begin(
    context: &FanOutContext,
    cursors: &Cursors,
    one: &Endpoint,
    since: Millis,
) -> Result<Option<MessageBatch>, Cause> {
    if Replay::of(cursors, one).is_some() {
        return Ok(None);
    }
    let outbox = &context.outbox;
    let at = context.journal.before_time(since).await?;
    let until = cursors.value(CURSOR).unwrap_or(0);
    let mut batch = MessageBatch::default();
    let mut after = Serial(0);
    loop {
        let page = outbox.ended_late(since, after, PAGE).await?;
        // what was opened since comes page by page
        let before = page.iter().filter(|record| record.serial.is_some_and(|serial| serial <= at));
        batch.messages.extend(messages(context, &one.webhook, since, before).await?);
        match page.last().and_then(|last| last.serial) {
            Some(last) if page.len() == PAGE && last < at => after = last,
            _ => break,
        }
    }
    batch.messages.extend(cases(context, &one.webhook, since).await?);
    let name = |prefix: &str| format!("{prefix}{}", one.id());
    batch.moves = vec![
        cursors.step(&name(AT), at.0),
        cursors.step(&name(UNTIL), until),
        cursors.step(&name(SINCE), since),
    ];
    Ok(Some(batch))
}

/// The next page of each replay; true where one has more.
pub(super) async fn step(
    context: &FanOutContext,
    cursors: &Cursors,
    endpoints: &[Endpoint],
) -> Result<bool, Cause> {
    let mut more = false;
    for one in endpoints.iter().filter(|one| one.is_active()) {
        let Some(Replay { at, until, since }) = Replay::of(cursors, one) else { continue };
        let waiting = context.outbox.waiting(vec![one.backlog()]).await?;
        // what was queued before it was enabled may wait for hours, and is not counted by the bound
        if waiting.iter().any(|of| of.queued_since >= context.replay_room) {
            continue;
        }
        // a page alone must not reach the bound either
        let length = within_room(context, PAGE);
        let page = context.journal.transfers_after(at, None, length).await?.records;
        let last = page.last().and_then(|last| last.serial).filter(|_| page.len() == length);
        let next = last.filter(|last| *last < until).unwrap_or(until);
        let within = page.iter().filter(|record| record.serial.is_some_and(|one| one <= until));
        let messages = messages(context, &one.webhook, since, within).await?;
        let moves = vec![cursors.step(&format!("{AT}{}", one.id()), next.0)];
        context.outbox.queue(MessageBatch { moves, messages, ..MessageBatch::default() }).await?;
        more = true;
    }
    Ok(more)
}

/// The number of messages that a replay may queue at once, at most this.
fn within_room(context: &FanOutContext, most: usize) -> usize {
    usize::try_from(context.replay_room).unwrap_or(most).clamp(1, most)
}

/// How much a replay would send, without sending it.
///
/// # Errors
/// The journal's.
pub async fn preview(
    context: &FanOutContext,
    webhook: &StoredWebhook,
    since: Millis,
) -> Result<Preview, Cause> {
    let outbox = &context.outbox;
    let count = async |page: &[Record], until: Serial| {
        let within = page.iter().filter(|record| record.serial.is_some_and(|one| one <= until));
        let wanted = wanted(context, webhook, since, within.collect()).await?;
        Ok::<_, Cause>(u64::try_from(wanted.len()).unwrap_or(u64::MAX))
    };
    let at = context.journal.before_time(since).await?;
    let cases = cases(context, webhook, since).await?.len();
    let mut messages = u64::try_from(cases).unwrap_or(u64::MAX);
    let mut after = Serial(0);
    loop {
        let page = outbox.ended_late(since, after, PAGE).await?;
        messages = messages.saturating_add(count(&page, at).await?);
        match page.last().and_then(|last| last.serial) {
            Some(last) if page.len() == PAGE && last < at => after = last,
            _ => break,
        }
    }
    let (mut after, mut looked) = (at, 0_u64);
    loop {
        let page = context.journal.transfers_after(after, None, PAGE).await?.records;
        messages = messages.saturating_add(count(&page, Serial(u64::MAX)).await?);
        looked = looked.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        match page.last().and_then(|last| last.serial) {
            Some(_) if page.len() == PAGE && looked >= PREVIEW => {
                return Ok(Preview { messages, complete: false });
            }
            Some(last) if page.len() == PAGE => after = last,
            _ => return Ok(Preview { messages, complete: true }),
        }
    }
}

/// Those of these transfers that ended since that time and whose events the endpoint wants, each with its end.
async fn wanted<'r>(
    context: &FanOutContext,
    webhook: &StoredWebhook,
    since: Millis,
    records: Vec<&'r Record>,
) -> Result<Vec<(&'r Record, Outcome)>, Cause> {
    let flows = &context.flows;
    let asking = std::iter::once(webhook);
    let payees = Payees::read(&*context.journal, asking, records.iter().copied()).await?;
    let wants = |record: &'r Record| {
        let outcome = event::ended(flows, record).filter(|_| record.updated_at >= since)?;
        let end = TransferEnd { record, outcome, payee: payees.of(record, outcome) };
        let to = event::wanted_by(std::iter::once(webhook), flows, &end);
        (!to.is_empty()).then_some((record, outcome))
    };
    Ok(records.into_iter().filter_map(wants).collect())
}

async fn messages<'r>(
    context: &FanOutContext,
    webhook: &StoredWebhook,
    since: Millis,
    records: impl Iterator<Item = &'r Record>,
) -> Result<Vec<NewMessage>, Cause> {
    let wanted = wanted(context, webhook, since, records.collect()).await?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let assets = context.journal.service_status().await?.assets;
    let message = |(record, outcome): (&Record, Outcome)| {
        event::of_transfer(&context.flows, &assets, record, outcome).to(webhook.endpoint.id, true)
    };
    Ok(wanted.into_iter().map(message).collect())
}

async fn cases(
    context: &FanOutContext,
    webhook: &StoredWebhook,
    since: Millis,
) -> Result<Vec<NewMessage>, Cause> {
    let filter = &webhook.endpoint.filter;
    let most = within_room(context, CASES);
    let found = context.outbox.case_events_since(since, most).await?;
    let wants = |kind| filter.wants(FilterQuestion::Case(kind));
    let wanted = found.into_iter().filter(|one| wants(one.tells.name()));
    Ok(wanted.map(|one| event::of_case(one).to(webhook.endpoint.id, true)).collect())
}
