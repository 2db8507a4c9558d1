//! Faults of the broker that last: a topic or a partition takes nothing, a size is refused, what was acknowledged is
//! lost.

use super::broker::PARTITIONS;
use kernel::ids::Millis;
use kernel::message::partition;
use kernel::ports::bus::BusMessage;
use std::sync::Arc;

/// How long a publication waits for a partition that takes nothing, in milliseconds.
pub const PUBLISH_TIMEOUT: Millis = 10_000;

/// A topic, or one of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPart {
    /// The topic that takes nothing.
    pub topic: Arc<str>,
    /// Its partition; `None`: all of them.
    pub number: Option<u32>,
}

impl TopicPart {
    /// Whether messages of this key lie there.
    pub fn has_key(&self, key: &str) -> bool {
        self.number.is_none_or(|number| number == partition(key, PARTITIONS))
    }

    fn has(&self, message: &BusMessage) -> bool {
        self.topic == message.topic && self.has_key(&message.key)
    }
}

/// What the broker does with publications while the fault lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerFault {
    /// It takes nothing there: a publication waits, and fails.
    TakesNothing(TopicPart),
    /// It refuses payloads above this number of bytes at once.
    RefusesAbove(usize),
    /// It acknowledges what is published there, and no consumer ever gets it.
    Loses(TopicPart),
}

/// What becomes of one publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Stored,
    Lost,
    TimedOut,
    TooLarge,
}

impl BrokerFault {
    /// What it does with a message; `None`: nothing.
    pub(super) fn takes(&self, message: &BusMessage) -> Option<Taken> {
        match self {
            Self::TakesNothing(part) => part.has(message).then_some(Taken::TimedOut),
            Self::RefusesAbove(most) => (message.payload.len() > *most).then_some(Taken::TooLarge),
            Self::Loses(part) => part.has(message).then_some(Taken::Lost),
        }
    }
}
