//! Publishes the messages that units wrote into the outbox, and consumes the messages that move the
//! transfers of flows that events drive.

mod auditing;
mod consume;
mod consumer;
mod consumption_mark;
pub mod dead_letter;
mod dead_letter_store;
mod expected_message;
pub(crate) mod group;
mod history_bound;
mod lanes;
mod missing_messages;
mod parking;
mod progress_row;
mod publisher;
mod redrive;
mod resend;
pub(crate) mod source;
mod status;
mod unacknowledged;

pub use auditing::{AuditRow, AuditedMessage};
pub use consume::{Consumption, Received};
pub(crate) use history_bound::HistoryBound;
pub use publisher::{Publisher, PublisherParts, Sent};
pub use redrive::{DeadLetter, DeadLetters};
pub use source::ForeignMessages;
pub use status::{DeadLetterCount, GroupStatus, PipelineStatus};

use crate::messaging::dead_letter_store::DeadLetterStore;
use crate::messaging::source::{ForeignCount, MessageSource};
use crate::state::cases::Cases;
use crate::state::in_flight::InFlight;
use crate::state::ledgers::identity::Ledgers;
use crate::state::parts::{BusParts, Parts};
use crate::state::shared::SharedState;
use crate::state::tasks::Background;
use kernel::ids::{Id, Millis};
use kernel::ports::bus::Bus;
use kernel::ports::inbox::Inbox;
use kernel::ports::outbox::Outbox;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// How often outbox and bus are looked at where nothing wakes their task.
const POLL: Millis = 200;

/// The publisher of this process, and the bus of its consumers.
pub(crate) struct BusClient {
    publisher: Arc<Publisher>,
    bus: Arc<dyn Bus>,
    outbox: Arc<dyn Outbox>,
    inbox: Arc<dyn Inbox>,
    /// Locked by a reader of dead letters: two members of its group would share them.
    dead_letters: tokio::sync::Mutex<()>,
    /// The dead letters that wait in the journal.
    stored_letters: DeadLetterStore,
    /// The status of the pipeline at the last look.
    status: Mutex<Option<Arc<PipelineStatus>>>,
}

impl BusClient {
    fn of(parts: &Parts, source: &MessageSource, bell: &Arc<Notify>) -> Option<Self> {
        let BusParts { bus, outbox, inbox } = parts.bus.clone()?;
        let publisher = Publisher::new(PublisherParts {
            outbox: outbox.clone(),
            bus: bus.clone(),
            journal: parts.journal.clone(),
            clock: parts.clock.clone(),
            worker: parts.worker,
            source: source.text().clone(),
            lease_ms: parts.settings.lease_ms,
            poll_ms: POLL,
            batch: parts.settings.batch_max,
            meter: parts.meter.clone(),
            bell: bell.clone(),
        });
        let (dead_letters, status) = (tokio::sync::Mutex::default(), Mutex::default());
        let stored_letters = DeadLetterStore::default();
        Some(Self { publisher, bus, outbox, inbox, dead_letters, stored_letters, status })
    }
}

/// Publishes, consumes, parks and resends the messages of this process.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Messaging {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
    ledgers: Arc<Ledgers>,
    in_flight: Arc<InFlight>,
    /// `None` where no offered flow needs a bus.
    client: Option<BusClient>,
    source: MessageSource,
    foreign: ForeignCount,
    /// The transfers whose write waits for a row that another session has locked.
    locked: Mutex<BTreeSet<Id>>,
    /// The transfers whose message was passed over, since a pause stood.
    held_back: Mutex<BTreeSet<Id>>,
}

impl Messaging {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        ledgers: &Arc<Ledgers>,
        in_flight: &Arc<InFlight>,
    ) -> Arc<Self> {
        let source = MessageSource::of(shared.journal_identity);
        let client = BusClient::of(&shared.parts, &source, &shared.writer.outbox);
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            ledgers: ledgers.clone(),
            in_flight: in_flight.clone(),
            client,
            source,
            foreign: ForeignCount::default(),
            locked: Mutex::default(),
            held_back: Mutex::default(),
        })
    }

    /// Starts the publisher, and one consumer for each group of each offered flow.
    pub(crate) fn begin_messaging(self: &Arc<Self>) {
        let Some(client) = self.client.as_ref().filter(|_| self.shared.parts.settings.workers)
        else {
            return;
        };
        let (spawn, publisher) = (&self.shared.parts.spawn, client.publisher.clone());
        spawn.spawn(Background::Publisher.task(), Box::pin(publisher.run()));
        let watches = self.clone().run_pipeline_watch();
        spawn.spawn(Background::PipelineWatch.task(), Box::pin(watches));
        let dead_letters = self.clone().run_dead_letter_store();
        spawn.spawn(Background::DeadLetters.task(), Box::pin(dead_letters));
        let missing = self.clone().run_missing_messages();
        spawn.spawn(Background::MissingMessages.task(), Box::pin(missing));
        for group in self.groups() {
            let consumes = self.clone().run_consumer(group);
            spawn.spawn(Background::Consumer.task(), Box::pin(consumes));
        }
    }

    /// Wakes the publisher: messages were put into the outbox by another way than a unit.
    pub(crate) fn outbox_written(&self) {
        self.shared.writer.outbox.notify_one();
    }

    /// Stops the publisher cleanly: those of other workers go on with what is left.
    pub(crate) async fn stop_publishing(&self) {
        let Some(client) = &self.client else { return };
        if let Err(cause) = client.publisher.stop().await {
            tracing::warn!(%cause, "the buckets of the outbox could not be given back; they run out");
        }
    }
}
