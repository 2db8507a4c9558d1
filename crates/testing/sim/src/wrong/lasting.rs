//! Wrong builds that one sick part stops or delays as a whole: all wait for one partition, for one row, for one dead
//! letter; what the broker lost stays lost.

use crate::service::PortWraps;
use kernel::answer::Cause;
use kernel::message::Emitted;
use kernel::ports::Fut;
use kernel::ports::bus::{Bus, BusDelivery, BusMessage};
use kernel::ports::inbox::{Inbox, NextTry};
use kernel::ports::journal::Journal;
use kernel::ports::outbox::Outbox;
use std::sync::{Arc, Mutex, PoisonError};
use testkit::wrapper::{BusWrapper, InboxWrapper, JournalWrapper, OutboxWrapper, Wrapper};

/// The wrong build of that name around the ports of a service that offers `account`.
pub(super) fn wraps(name: &str) -> Option<PortWraps> {
    let mut wraps = PortWraps::default();
    match name {
        "one-publication" => {
            wraps.bus = Arc::new(|inner| Arc::new(Wrapper(OnePublication(inner))));
        }
        "row-awaited-by-all" => {
            wraps.journal = Arc::new(|inner| Arc::new(Wrapper(RowAwaitedByAll(inner))));
        }
        "dead-letter-first" => {
            let bus: SharedBus = Arc::default();
            let known = bus.clone();
            wraps.bus = Arc::new(move |inner| {
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(inner.clone());
                inner
            });
            wraps.inbox =
                Arc::new(move |inner| Arc::new(Wrapper(DeadLetterFirst(inner, bus.clone()))));
        }
        "lost-stays-lost" => {
            wraps.outbox = Arc::new(|inner| Arc::new(Wrapper(LostStaysLost(inner))));
        }
        _ => return None,
    }
    Some(wraps)
}

/// What is sent together is acknowledged together.
struct OnePublication(Arc<dyn Bus>);

impl BusWrapper for OnePublication {
    fn inner(&self) -> &dyn Bus {
        &*self.0
    }
}

/// A write comes back when each of its units has ended, also one that waits for a locked row.
struct RowAwaitedByAll(Arc<dyn Journal>);

impl JournalWrapper for RowAwaitedByAll {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
}

type SharedBus = Arc<Mutex<Option<Arc<dyn Bus>>>>;

/// A dead letter is written to its topic before its consumer goes on, and is not kept in the journal.
struct DeadLetterFirst(Arc<dyn Inbox>, SharedBus);

impl InboxWrapper for DeadLetterFirst {
    fn inner(&self) -> &dyn Inbox {
        &*self.0
    }
    fn park(
        &self,
        group: Arc<str>,
        messages: Vec<BusDelivery>,
        next: NextTry,
    ) -> Fut<'_, Result<(), Cause>> {
        if !group.ends_with("-dlt") {
            return self.0.park(group, messages, next);
        }
        let bus = self.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            let letter = |BusDelivery { partition, message, .. }: BusDelivery| BusMessage {
                topic: format!("{}-dlt", partition.topic).into(),
                number: own_number(&message.payload).unwrap_or(message.number),
                ..message
            };
            let letters = messages.into_iter().map(letter).collect();
            match bus {
                Some(bus) => bus.publish(letters).await.into_iter().collect(),
                None => Err(Cause::of("NO_BUS")),
            }
        })
    }
}

/// The number of the message that a dead letter is kept of.
fn own_number(kept: &str) -> Option<u128> {
    let (_, rest) = kept.split_once(r#""id":""#)?;
    u128::from_str_radix(rest.split('"').next()?, 16).ok()
}

/// What the audit finds missing is reported, and not published again.
struct LostStaysLost(Arc<dyn Outbox>);

impl OutboxWrapper for LostStaysLost {
    fn inner(&self) -> &dyn Outbox {
        &*self.0
    }
    fn emit(&self, _: Vec<Emitted>) -> Fut<'_, Result<u64, Cause>> {
        Box::pin(std::future::ready(Ok(0)))
    }
}
