//! Tracks, for the clients of one bus, whether the brokers answer, and logs each change once.

use kernel::answer::Cause;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the brokers answer, as far as the clients of a bus know.
#[derive(Debug, Clone, Default)]
pub(super) struct Connection {
    away: Arc<AtomicBool>,
}

impl Connection {
    /// A client found none of them.
    pub(super) fn lost(&self, reason: &str) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!(reason, "Kafka does not answer; messages wait in the outbox");
        }
    }

    /// Notes that a broker answered.
    pub(super) fn answered(&self) {
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!("Kafka answers again");
        }
    }

    /// An error that a client came upon, as the port says it.
    pub(super) fn failed(&self, error: &KafkaError) -> Cause {
        if error.rdkafka_error_code().is_some_and(is_away) {
            self.lost(&error.to_string());
        }
        Cause::because("BUS_FAILED", error.to_string())
    }
}

/// No broker can be reached.
pub(super) fn is_away(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::AllBrokersDown
            | Code::BrokerTransportFailure
            | Code::MessageTimedOut
            | Code::OperationTimedOut
            | Code::RequestTimedOut
            | Code::Resolve
            | Code::WaitingForCoordinator
    )
}

impl ClientContext for Connection {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        // of a lost connection librdkafka logs each attempt
        tracing::debug!(facility, "{message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if error.rdkafka_error_code().is_some_and(is_away) {
            self.lost(reason);
        } else {
            tracing::warn!(%error, reason, "Kafka");
        }
    }
}

impl ConsumerContext for Connection {}

/// The changes of its group that a member sees.
#[derive(Debug, Default)]
pub(super) struct Membership {
    pub connection: Connection,
    /// The assignment changed since the member looked.
    changed: AtomicBool,
}

impl Membership {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, changed: AtomicBool::new(false) }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }
}

impl ClientContext for Membership {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.connection.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.connection.error(error, reason);
    }
}

impl ConsumerContext for Membership {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        tracing::debug!(?rebalance, "a group was dealt its partitions anew");
        self.changed.store(true, Ordering::Release);
    }
}
