//! Measures the message pipeline: what waits at which place. Operators and metrics read that, and cases
//! follow from it.

use crate::messaging::BusClient;
use crate::messaging::Messaging;
use crate::messaging::dead_letter_store::{is_stored, waits_for};
use crate::messaging::redrive;
use crate::messaging::source::ForeignMessages;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::{Case, OpenCase, Severity, Subject};
use kernel::ports::bus::PartitionLag;
use kernel::ports::inbox::ParkedKey;
use kernel::ports::meter::Seen;
use kernel::ports::outbox::Backlog;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How long a group may be behind, or a message unpublished, before a case is opened.
const BEHIND: Millis = 60_000;
/// How many parked keys are read.
const KEYS: usize = 10_000;
/// The kind of the case of another deployment's messages.
const FOREIGN: &str = "FOREIGN_MESSAGES";
/// The number of scan intervals between two looks at the pipeline.
const SCANS: u64 = 5;

/// How a group does.
#[derive(Debug, Clone)]
pub struct GroupStatus {
    pub name: &'static str,
    /// Whether an operator paused the group.
    pub paused: bool,
    /// How far it is, or the cause for which the bus does not say.
    pub lag: Result<Vec<PartitionLag>, Cause>,
    /// The keys that wait for it.
    pub parked: Vec<ParkedKey>,
}

impl GroupStatus {
    /// How many messages are not committed.
    pub fn messages(&self) -> u64 {
        self.lag.iter().flatten().map(PartitionLag::messages).sum()
    }

    /// When the oldest message that is not committed was published.
    pub fn oldest(&self) -> Option<Millis> {
        let lag = self.lag.iter().flatten().filter(|lag| lag.messages() > 0);
        lag.filter_map(|lag| lag.oldest).min()
    }
}

/// The dead letters of a topic that wait.
#[derive(Debug, Clone)]
pub struct DeadLetterCount {
    pub topic: Arc<str>,
    /// Those on the topic.
    pub messages: u64,
    /// Those in the journal, until the topic has them.
    pub in_journal: u64,
    /// When the oldest of them was put there.
    pub oldest: Option<Millis>,
}

impl DeadLetterCount {
    /// The number of all that wait.
    pub const fn waiting(&self) -> u64 {
        self.messages.saturating_add(self.in_journal)
    }
}

/// How the pipeline does, at one time.
#[derive(Debug, Clone)]
pub struct PipelineStatus {
    /// By the journal's time.
    pub at: Millis,
    pub groups: Vec<GroupStatus>,
    pub outbox: Backlog,
    /// What waits on each topic of dead letters, or the cause for which the bus does not say.
    pub dead_letters: Result<Vec<DeadLetterCount>, Cause>,
    /// The messages of other deployments that this process met.
    pub foreign: Option<ForeignMessages>,
}

impl PipelineStatus {
    /// How long ago that was.
    pub fn age(&self, since: Option<Millis>) -> Millis {
        since.map_or(0, |since| self.at.saturating_sub(since))
    }

    /// Why a case of that kind is open, where it should be.
    fn reason(&self, kind: &str) -> Option<String> {
        match kind {
            "OUTBOX_AGE" => {
                let age = self.age(self.outbox.oldest);
                let messages = self.outbox.messages;
                (age > BEHIND).then(|| {
                    format!(
                        "{messages} messages are not published, the oldest for {} s",
                        age / 1_000
                    )
                })
            }
            "CONSUMER_LAG" => {
                let behind =
                    |group: &&GroupStatus| !group.paused && self.age(group.oldest()) > BEHIND;
                let group = self.groups.iter().find(behind)?;
                let (name, age) = (group.name, self.age(group.oldest()) / 1_000);
                Some(format!(
                    "{name} is {} messages behind, the oldest for {age} s",
                    group.messages()
                ))
            }
            "PARKED" => {
                let keys: usize = self.groups.iter().map(|group| group.parked.len()).sum();
                let first = self.groups.iter().flat_map(|group| &group.parked).next()?;
                let (group, key) = (&first.name.group, &first.name.key);
                let cause = &first.next.cause;
                Some(format!("{keys} keys are parked; {key} of {group}: {cause}"))
            }
            "DEAD_LETTER" => {
                let waiting = self.dead_letters.iter().flatten().find(|of| of.waiting() > 0)?;
                let DeadLetterCount { topic, messages, in_journal, .. } = waiting;
                let stored = format!(", and {in_journal} in the journal until it takes them");
                let stored = if *in_journal > 0 { stored } else { String::new() };
                Some(format!("{messages} messages wait on {topic}{stored}"))
            }
            FOREIGN => self.foreign.as_ref()?.reason(self.at),
            _ => None,
        }
    }
}

impl BusClient {
    pub(super) fn last_status(&self) -> MutexGuard<'_, Option<Arc<PipelineStatus>>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messaging {
    /// How the pipeline does now; none where no flow is offered that events drive.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn pipeline_status(&self) -> Result<Option<PipelineStatus>, Cause> {
        let Some(client) = &self.client else { return Ok(None) };
        let outbox = client.outbox.backlog().await?;
        let parked = client.inbox.parked_keys(None, KEYS).await?;
        let mut groups = Vec::new();
        for group in self.groups() {
            let of = |key: &&ParkedKey| *key.name.group == *group.name();
            groups.push(GroupStatus {
                name: group.name(),
                paused: self.group_paused(group),
                lag: client.bus.lag(group.name().into(), group.topics()).await,
                parked: parked.iter().filter(of).cloned().collect(),
            });
        }
        let topics = self.dead_letter_topics();
        let lag = client.bus.lag(redrive::GROUP.into(), topics.clone()).await;
        let dead_letters = lag.map(|lag| {
            let counted = |topic: Arc<str>| {
                let of = lag.iter().filter(|lag| lag.partition.topic == topic);
                let of: Vec<_> = of.filter(|lag| lag.messages() > 0).collect();
                let messages = of.iter().map(|lag| lag.messages()).sum();
                let stored: Vec<&ParkedKey> = parked
                    .iter()
                    .filter(|key| is_stored(key) && *waits_for(key) == *topic)
                    .collect();
                let in_journal = stored.iter().map(|key| key.messages).sum();
                let since = stored.iter().map(|key| key.since);
                let oldest = of.iter().filter_map(|lag| lag.oldest).chain(since).min();
                DeadLetterCount { topic, messages, in_journal, oldest }
            };
            topics.into_iter().map(counted).collect()
        });
        let at = self.shared.parts.journal.now();
        let foreign = self.foreign.read();
        Ok(Some(PipelineStatus { at, groups, outbox, dead_letters, foreign }))
    }

    /// Keys that are parked, of one group or of all; none where no flow is offered that events drive.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub async fn parked_keys(
        &self,
        group: Option<Arc<str>>,
        limit: usize,
    ) -> Result<Option<Vec<ParkedKey>>, Cause> {
        let Some(client) = &self.client else { return Ok(None) };
        client.inbox.parked_keys(group, limit).await.map(Some)
    }

    /// Looks at the pipeline for as long as the process lives.
    pub(crate) async fn run_pipeline_watch(self: Arc<Self>) {
        let every = self.shared.parts.settings.scan_interval_ms.saturating_mul(SCANS);
        loop {
            match self.pipeline_status().await {
                Ok(Some(status)) => {
                    self.measure_pipeline(&status);
                    self.open_pipeline_cases(&status);
                    if let Some(client) = &self.client {
                        *client.last_status() = Some(Arc::new(status));
                    }
                }
                Ok(None) => {}
                Err(cause) => tracing::warn!(%cause, "the pipeline cannot be looked at"),
            }
            self.shared.parts.clock.sleep(every).await;
        }
    }

    fn measure_pipeline(&self, status: &PipelineStatus) {
        let meter = &self.shared.parts.meter;
        let (messages, age) = (status.outbox.messages, status.age(status.outbox.oldest));
        meter.see(Seen::Outbox { messages, age });
        for group in &status.groups {
            let name = group.name;
            let keys = u64::try_from(group.parked.len()).unwrap_or(u64::MAX);
            let messages = group.parked.iter().map(|key| key.messages).sum();
            meter.see(Seen::Parked { group: name, keys, messages });
            meter.see(Seen::GroupPaused { group: name, paused: group.paused });
            for lag in group.lag.iter().flatten() {
                let (topic, partition) = (&lag.partition.topic, lag.partition.number);
                let messages = lag.messages();
                let age = status.age(lag.oldest.filter(|_| messages > 0));
                meter.see(Seen::Lag { group: name, topic, partition, messages, age });
            }
        }
        for letters in status.dead_letters.iter().flatten() {
            let (topic, messages) = (&letters.topic, letters.waiting());
            let age = status.age(letters.oldest);
            meter.see(Seen::DeadLetters { topic, messages, age });
        }
    }

    fn open_pipeline_cases(&self, status: &PipelineStatus) {
        for (kind, severity) in [
            ("OUTBOX_AGE", Severity::Warning),
            ("CONSUMER_LAG", Severity::Warning),
            ("PARKED", Severity::Warning),
            ("DEAD_LETTER", Severity::Warning),
            (FOREIGN, Severity::Critical),
        ] {
            if let Some(facts) = status.reason(kind) {
                let subject = Subject::Service;
                self.cases.case(Case { kind, severity, subject, facts: facts.into() });
            }
        }
    }

    /// The fact that ends a case of the pipeline, by a look since it was opened. A bus that does not say how
    /// far a group is ends none.
    pub(crate) fn pipeline_over(&self, case: &OpenCase) -> Option<String> {
        let client = self.client.as_ref()?;
        let status = client.last_status().clone()?;
        let complete = status.dead_letters.is_ok() && status.groups.iter().all(|g| g.lag.is_ok());
        let over = complete && status.at > case.opened_at && status.reason(&case.kind).is_none();
        over.then(|| match &*case.kind {
            "OUTBOX_AGE" => "the outbox is published again".to_owned(),
            "CONSUMER_LAG" => "no group is behind any more".to_owned(),
            "PARKED" => "no key is parked any more".to_owned(),
            FOREIGN => "no message of another deployment came for an hour".to_owned(),
            _ => "no dead letter waits any more".to_owned(),
        })
    }
}
