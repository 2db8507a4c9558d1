//! Tells the messages of this journal from those of another deployment on the same topics: `ce_source` has the
//! journal's id.

use crate::commit::outcome::write_beside;
use crate::messaging::Messaging;
use crate::messaging::dead_letter::headers;
use crate::messaging::group::GroupTask;
use crate::messaging::progress_row::{moved_on, next_row};
use crate::state::parts::{BusParts, Parts};
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operation::Identity;
use kernel::ports::bus::{BusDelivery, BusMessage, Partition};
use kernel::ports::meter::Seen;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The source in messages of releases that did not write the journal's id.
const EARLIER: &str = "/portage";
/// The number of messages of each partition that a start looks at.
const NEWEST: usize = 20;
/// The resource that is there where the topics of this name are this journal's.
const OWN_TOPICS: &str = "topics:";
/// The case of messages of another deployment ends when none has come for this time, in milliseconds.
const QUIET: Millis = 3_600_000;

/// The origin of a message, by its `ce_source`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageOrigin {
    /// This journal's own message.
    Own,
    /// A release that did not write the journal's id; it may be this journal.
    Earlier,
    /// The message has no source.
    Unsaid,
    /// Another journal, or a program that is not Portage.
    Foreign(String),
}

/// The source of this journal's messages.
#[derive(Debug, Clone)]
pub(super) struct MessageSource(Arc<str>);

impl MessageSource {
    pub(super) fn of(journal: Identity) -> Self {
        Self(format!("{EARLIER}/{:032x}", journal.0).into())
    }

    pub(super) const fn text(&self) -> &Arc<str> {
        &self.0
    }

    pub(super) fn origin(&self, message: &BusMessage) -> MessageOrigin {
        match headers(message).get("ce_source").and_then(Value::as_str) {
            None => MessageOrigin::Unsaid,
            Some(EARLIER) => MessageOrigin::Earlier,
            Some(source) if *source == *self.0 => MessageOrigin::Own,
            Some(source) => MessageOrigin::Foreign(source.to_owned()),
        }
    }

    /// True where the topics are this journal's for certain: it wrote there, or nothing is there yet.
    fn owns(&self, newest: &[BusDelivery]) -> bool {
        newest.is_empty()
            || newest.iter().any(|one| self.origin(&one.message) == MessageOrigin::Own)
    }

    /// The topic and the source of another deployment, where the topics are that one's: it wrote the last message
    /// of a partition, and nothing says that this journal has written any.
    fn other_deployment(&self, newest: &[BusDelivery]) -> Option<(Arc<str>, String)> {
        let mut last: BTreeMap<&Partition, MessageOrigin> = BTreeMap::new();
        for one in newest {
            match self.origin(&one.message) {
                MessageOrigin::Own => return None,
                origin @ (MessageOrigin::Earlier
                | MessageOrigin::Unsaid
                | MessageOrigin::Foreign(_)) => last.insert(&one.partition, origin),
            };
        }
        if last.values().any(|origin| *origin == MessageOrigin::Earlier) {
            return None;
        }
        last.into_iter().find_map(|(partition, origin)| match origin {
            MessageOrigin::Foreign(source) if is_deployment(&source) => {
                Some((partition.topic.clone(), source))
            }
            MessageOrigin::Own
            | MessageOrigin::Earlier
            | MessageOrigin::Unsaid
            | MessageOrigin::Foreign(_) => None,
        })
    }
}

/// True for the source of a journal. Every other text is that of a foreign writer, and is named nowhere.
fn is_deployment(source: &str) -> bool {
    let id = source.strip_prefix(EARLIER).and_then(|rest| rest.strip_prefix('/'));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Checks that the topics are not those of another deployment. The journal remembers whose they are: what others wrote
/// there since keeps it from no start. A bus that does not answer now stops none either: messages of others are passed over
/// when they come.
///
/// # Errors
/// `FOREIGN_TOPICS`, with a topic and both sources; or the journal does not answer.
pub(crate) async fn fits(parts: &Parts, journal: Identity) -> Result<(), Cause> {
    let Some(BusParts { bus, .. }) = &parts.bus else { return Ok(()) };
    let unknown = |cause: &Cause| {
        tracing::warn!(%cause, "it is not known yet whether the topics are of another deployment");
    };
    let row: Arc<str> = match bus.topics_name().await {
        Ok(name) => format!("{OWN_TOPICS}{name}").into(),
        Err(cause) => {
            unknown(&cause);
            return Ok(());
        }
    };
    if parts.journal.resource(row.clone()).await?.is_some() {
        return Ok(());
    }
    let tables = parts.offered.iter().map(|flow| parts.flows.table(*flow));
    let topics: BTreeSet<Arc<str>> =
        tables.flat_map(GroupTask::of).flat_map(GroupTask::topics).collect();
    let newest = match bus.newest(topics.into_iter().collect(), NEWEST).await {
        Ok(newest) => newest,
        Err(cause) => {
            unknown(&cause);
            return Ok(());
        }
    };
    let source = MessageSource::of(journal);
    if let Some((topic, other)) = source.other_deployment(&newest) {
        let why =
            format!("the newest messages of {topic} are of {other}, and this is {}", source.0);
        return Err(Cause::because("FOREIGN_TOPICS", why));
    }
    if source.owns(&newest)
        && let Err(cause) =
            moved_on(write_beside(&*parts.journal, next_row(row, 0, source.0)).await)
    {
        tracing::warn!(%cause, "that these topics are this journal's is noted at a later start");
    }
    Ok(())
}

/// The messages of other deployments that this process consumed and passed over.
#[derive(Debug, Clone)]
pub struct ForeignMessages {
    /// Counted once for each group that consumed one.
    pub messages: u64,
    /// The place and the source of the first.
    pub first: Arc<str>,
    /// When the last one came, by the journal's time.
    pub last: Millis,
}

impl ForeignMessages {
    /// Why a case should be open at a time, where it should.
    pub(super) fn reason(&self, now: Millis) -> Option<String> {
        let Self { messages, first, last } = self;
        (now.saturating_sub(*last) <= QUIET).then(|| {
            format!(
                "{messages} messages of another deployment were passed over; the first: {first}"
            )
        })
    }
}

/// The count of a process.
#[derive(Debug, Default)]
pub(super) struct ForeignCount(Mutex<Option<ForeignMessages>>);

impl ForeignCount {
    pub(super) fn read(&self) -> Option<ForeignMessages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, delivery: &BusDelivery, source: &str, now: Millis) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.get_or_insert_with(|| {
            let (of, offset) = (&delivery.partition, delivery.offset);
            let source =
                if is_deployment(source) { source } else { "a source that is not Portage" };
            let first =
                format!("{}, partition {}, offset {offset}, of {source}", of.topic, of.number);
            ForeignMessages { messages: 0, first: first.into(), last: now }
        });
        count.messages = count.messages.saturating_add(1);
        count.last = now;
    }
}

impl Messaging {
    /// True for a message of another deployment, which is counted: its offset goes on, and nothing else follows
    /// from it.
    pub(super) fn passes_over(&self, group: GroupTask, delivery: &BusDelivery) -> bool {
        let MessageOrigin::Foreign(source) = self.source.origin(&delivery.message) else {
            return false;
        };
        self.shared.parts.meter.see(Seen::Consumed { group: group.name(), outcome: "foreign" });
        self.foreign.add(delivery, &source, self.shared.parts.journal.now());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u32, offset: u64, source: &str) -> BusDelivery {
        let partition = Partition { topic: "t".into(), number };
        let headers = match source {
            "" => "{}".into(),
            source => format!(r#"{{"ce_source":"{source}"}}"#).into(),
        };
        let (topic, key, payload) = ("t".into(), "k".into(), "{}".into());
        let message = BusMessage { topic, key, number: 1, payload, headers };
        BusDelivery { partition, offset, message }
    }

    /// Turns red where a journal is kept from topics that it wrote to, and where it is let to those of another.
    #[test]
    fn the_newest_messages_say_whose_the_topics_are() {
        let (own, other) = (MessageSource::of(Identity(1)), MessageSource::of(Identity(2)));
        let refused = |messages: &[(u32, &str)]| {
            let all: Vec<_> = (0..).zip(messages).map(|(n, (of, text))| at(*of, n, text)).collect();
            own.other_deployment(&all).map(|(_, source)| source)
        };
        let (mine, theirs) = (own.text(), other.text());
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&[(0, theirs)]), Some(theirs.to_string()));
        assert_eq!(refused(&[(0, "/portage"), (0, theirs)]), Some(theirs.to_string()));
        assert_eq!(refused(&[(0, theirs), (1, "")]), Some(theirs.to_string()));
        assert_eq!(refused(&[(0, mine), (0, theirs), (1, theirs)]), None, "both wrote there");
        assert_eq!(
            refused(&[(0, theirs), (1, "/portage")]),
            None,
            "it may be our own release before"
        );
        assert_eq!(refused(&[(0, "/mailer")]), None, "no deployment");
    }
}
