//! Finds messages that the bus lost, for the operators and for readers outside: the audit must have had the message
//! of each transfer's end. Where it has not, although its group has consumed all that was published since, the
//! message is made again of the stored event, and is published again under its number.

use crate::messaging::Messaging;
use crate::messaging::auditing::Journaled;
use crate::messaging::consumption_mark::ConsumptionMark;
use crate::messaging::group::GroupTask;
use crate::messaging::lanes::Ready;
use crate::messaging::progress_row::{moved_on, next_row};
use kernel::answer::Cause;
use kernel::flow::life::AuditGroup;
use kernel::ids::{FlowId, Id, Millis, Serial};
use kernel::message::{Emission, Outgoing, bucket};
use kernel::operators::{Case, Severity, Subject};
use kernel::record::Record;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of scans between two looks.
const SCANS: u64 = 60;
/// A transfer is looked at when it stands as it is for this time, in milliseconds.
const SETTLED: Millis = 120_000;
/// The cursor begins with transfers that were opened this time ago: the outbox keeps messages no longer.
const FIRST: Millis = 7 * 86_400_000;
/// The most transfers that the cursor leaves behind it without the message of their end.
const BEHIND: usize = 5_000;
/// The number of transfers that are read at once.
const PAGE: usize = 1_000;

/// The transfers whose end was audited, as a resource of the journal stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct AuditProgress {
    /// Every transfer up to this number is audited, or is among those behind.
    after: u64,
    /// The transfers up to that number that have not ended, or whose message the audit has not had.
    behind: BTreeMap<Id, Option<Suspicion>>,
}

/// A message of an end that was on no queue and that the audit had not had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suspicion {
    /// The message is lost where the group has consumed all that was published before this time.
    since: Millis,
    /// How often it was published again.
    times: u32,
}

impl AuditProgress {
    fn text(&self) -> String {
        let of = |suspicion: &Suspicion| json!([suspicion.since, suspicion.times]);
        let behind = self
            .behind
            .iter()
            .map(|(id, suspicion)| (id.to_string(), suspicion.as_ref().map_or(Value::Null, of)));
        let behind: serde_json::Map<String, Value> = behind.collect();
        json!({ "after": self.after, "behind": behind }).to_string()
    }

    fn parsed(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let mut behind = BTreeMap::new();
        for (id, stored) in value.get("behind")?.as_object()? {
            let suspicion = |stored: &Value| {
                let since = stored.get(0)?.as_u64()?;
                let times = u32::try_from(stored.get(1)?.as_u64()?).ok()?;
                Some(Suspicion { since, times })
            };
            let suspicion = if stored.is_null() { None } else { Some(suspicion(stored)?) };
            behind.insert(id.parse().ok()?, suspicion);
        }
        Some(Self { after: value.get("after")?.as_u64()?, behind })
    }
}

/// A look at the transfers of a flow.
struct MissingQuery {
    flow: FlowId,
    group: AuditGroup,
    /// By the journal's time.
    now: Millis,
    /// The group has consumed what was published before this time.
    consumed: Millis,
}

impl Messaging {
    /// Looks for missing messages as long as the process lives.
    pub(crate) async fn run_missing_messages(self: Arc<Self>) {
        let interval = self.shared.parts.settings.scan_interval_ms.saturating_mul(SCANS);
        let mut mark = ConsumptionMark::default();
        loop {
            self.shared.parts.clock.sleep(interval).await;
            if let Err(cause) = self.find_missing(&mut mark).await {
                tracing::warn!(%cause, "lost messages cannot be looked for now");
            }
        }
    }

    /// Looks once, unless persons keep the group or all money from going on.
    async fn find_missing(&self, mark: &mut ConsumptionMark) -> Result<(), Cause> {
        let (Some(client), Some(flow)) = (&self.client, self.audited_flow()) else {
            return Ok(());
        };
        let Some(group) = self.shared.plan.table(flow).audit else { return Ok(()) };
        let task = GroupTask::Audit(group);
        if self.shared.controls.halted().is_some() || self.group_paused(task) {
            return Ok(());
        }
        let now = self.shared.parts.journal.now();
        let lag = client.bus.lag(task.name().into(), task.topics()).await?;
        let query = MissingQuery { flow, group, now, consumed: mark.advance(now, &lag) };
        let name: Arc<str> = format!("audited/{}", group.name).into();
        let stored = self.shared.parts.journal.resource(name.clone()).await?;
        let version = stored.as_ref().map_or(0, |stored| stored.version);
        let before = match stored {
            Some(stored) => AuditProgress::parsed(&stored.value)
                .ok_or_else(|| Cause::because("STORE_DAMAGED", stored.name))?,
            None => {
                let since = now.saturating_sub(FIRST);
                let after = self.shared.parts.journal.before_time(since).await?.0;
                AuditProgress { after, ..AuditProgress::default() }
            }
        };
        let mut progress = before.clone();
        self.look_behind(&query, &mut progress).await?;
        self.look_ahead(&query, &mut progress).await?;
        if progress == before && version > 0 {
            return Ok(());
        }
        let row = next_row(name, version, progress.text().into());
        moved_on(self.shared.writer.write(row).await)
    }

    /// Looks at the transfers that the cursor has passed.
    async fn look_behind(
        &self,
        query: &MissingQuery,
        progress: &mut AuditProgress,
    ) -> Result<(), Cause> {
        let ids: Vec<Id> = progress.behind.keys().copied().collect();
        for page in ids.chunks(PAGE) {
            let found = self.shared.parts.journal.get(page.to_vec()).await?;
            self.look_at(query, &found, progress).await?;
        }
        Ok(())
    }

    /// Moves the cursor on.
    async fn look_ahead(
        &self,
        query: &MissingQuery,
        progress: &mut AuditProgress,
    ) -> Result<(), Cause> {
        while progress.behind.len() < BEHIND {
            let (after, flow) = (Serial(progress.after), Some(query.flow));
            let page = self.shared.parts.journal.transfers_after(after, flow, PAGE).await?;
            let full = page.records.len() == PAGE;
            let old = |record: &&Record| {
                record.created_at.saturating_add(SETTLED) <= query.now && record.serial.is_some()
            };
            let read = page.records.len();
            let settled: Vec<Record> = page.records.iter().take_while(old).cloned().collect();
            self.look_at(query, &settled, progress).await?;
            let last = settled.last().and_then(|last| last.serial);
            progress.after = match last {
                _ if settled.len() == read && !full => page.complete.0,
                Some(last) => last.0,
                None => progress.after,
            };
            if !full || settled.len() < read {
                break;
            }
        }
        Ok(())
    }

    /// Compares transfers with the audit's inbox, and has lost messages published again.
    async fn look_at(
        &self,
        query: &MissingQuery,
        records: &[Record],
        progress: &mut AuditProgress,
    ) -> Result<(), Cause> {
        let Some(client) = &self.client else { return Ok(()) };
        let table = self.shared.plan.table(query.flow);
        let ends: BTreeMap<Id, Outgoing> = records
            .iter()
            .filter(|record| table.ends(record.head.state))
            .filter_map(|record| {
                let message = (table.emits)(record.head.state, record, Emission::Entered)?;
                Some((record.id, Outgoing { message, id: record.id, n: 0, event: None }))
            })
            .collect();
        let numbers = ends.values().map(Outgoing::number).collect();
        let had: BTreeSet<u128> =
            client.inbox.consumed(query.group.name, numbers).await?.into_iter().collect();
        let missing: Vec<&Outgoing> =
            ends.values().filter(|end| !had.contains(&end.number())).collect();
        let queued = if missing.is_empty() {
            Vec::new()
        } else {
            let place = |end: &&Outgoing| (bucket(&end.message.key), end.number());
            client.outbox.queued(missing.iter().map(place).collect()).await?
        };
        for record in records {
            let end = ends.get(&record.id);
            let ended = table.ends(record.head.state);
            if ended && end.is_none_or(|end| had.contains(&end.number())) {
                progress.behind.remove(&record.id);
                continue;
            }
            let waits = end.is_none_or(|end| queued.contains(&end.number()))
                || record.updated_at.saturating_add(SETTLED) > query.now;
            let before = progress.behind.get(&record.id).copied().flatten();
            let suspicion = match before {
                _ if waits => None,
                None => Some(Suspicion { since: query.now, times: 0 }),
                Some(suspicion) if suspicion.since < query.consumed => {
                    self.publish_missing(query.group, record).await?;
                    let times = suspicion.times.saturating_add(1);
                    let random = self.shared.parts.rng.next();
                    let wait = self.shared.parts.settings.resend.wait(times, random);
                    Some(Suspicion { since: query.now.saturating_add(wait), times })
                }
                Some(suspicion) => Some(suspicion),
            };
            progress.behind.insert(record.id, suspicion);
        }
        Ok(())
    }

    /// Publishes again what did not come before the message of an end. False: it is not known.
    pub(super) async fn publish_missed(&self, group: GroupTask, one: &Ready) -> bool {
        let (GroupTask::Audit(group), Some(id)) = (group, one.transfer) else { return true };
        let published = async {
            let records = self.shared.parts.journal.get(vec![id]).await?;
            for record in &records {
                self.publish_missing(group, record).await?;
            }
            Ok::<_, Cause>(())
        };
        let result = published.await;
        result.inspect_err(|cause| tracing::warn!(%cause, "not published again yet")).is_ok()
    }

    /// Publishes each message of a transfer again that the audit has not had, and opens the case.
    pub(super) async fn publish_missing(
        &self,
        group: AuditGroup,
        record: &Record,
    ) -> Result<(), Cause> {
        let Some(client) = &self.client else { return Ok(()) };
        let history = self.shared.parts.journal.history(record.id).await?;
        let journaled = Journaled { record: record.clone(), history };
        let missing = self.missing_of(group, &journaled).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let topics: Vec<&str> = missing.iter().map(|message| &*message.topic).collect();
        let facts = format!(
            "it has ended, and its messages on these topics never came; they are published again: {}",
            topics.join(", ")
        );
        client.outbox.emit(missing).await?;
        self.outbox_written();
        self.cases.case(Case {
            kind: "MESSAGE_GAP",
            severity: Severity::Warning,
            subject: Subject::Transfer(record.id),
            facts: facts.into(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_as_it_was_stored() {
        let suspicion = Suspicion { since: 5, times: 2 };
        let behind = BTreeMap::from([(Id(1), None), (Id(2), Some(suspicion))]);
        let progress = AuditProgress { after: 7, behind };
        assert_eq!(AuditProgress::parsed(&progress.text()), Some(progress));
        assert_eq!(AuditProgress::parsed("{}"), None);
    }
}
