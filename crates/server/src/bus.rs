//! Opens the message bus for the engine where the settings name brokers: Apache Kafka, in a binary that is built
//! with it.

use crate::bootstrap::BUS;
use crate::cli::exit::Fault;
use crate::config::Kafka;
use kernel::ports::bus::Bus;
use std::path::Path;
use std::sync::Arc;

/// The advice for a journal that was given the topics of another one: on brokers, or in the file of its data folder.
pub(crate) fn other_topics(on_brokers: bool, prefix: &str, dir: &Path) -> String {
    if on_brokers {
        return format!(
            ". kafka.prefix = \"{prefix}\" stands before the names of topics and groups on the brokers: \
             give each deployment that shares brokers a kafka.prefix of its own, or delete these topics if the \
             other deployment is gone"
        );
    }
    format!(
        ". The topics are in {}, which belongs to another journal: name another data.dir, or delete this file \
         if that journal is gone",
        dir.join(BUS).display()
    )
}

/// Opens the bus of the settings; none where it is in this process. No broker has to answer.
///
/// # Errors
/// 78: the settings cannot be used.
#[cfg(feature = "kafka")]
pub(crate) fn open(settings: &Kafka) -> Result<Option<Arc<dyn Bus>>, Fault> {
    use crate::cli::exit::Exit;
    use links::kafka::{KafkaSettings, NewTopics, Sasl, Security};

    if !settings.is_set() {
        return Ok(None);
    }
    let file = Some(&settings.ca_file).filter(|file| !file.as_os_str().is_empty());
    let new_topics =
        NewTopics { partitions: settings.partitions, replication: settings.replication };
    let opened = links::kafka::Kafka::open(KafkaSettings {
        brokers: settings.brokers.clone(),
        client_id: settings.client_id.clone(),
        prefix: settings.prefix.clone(),
        security: Security {
            tls: settings.security.has_tls(),
            ca_file: file.cloned(),
            sasl: settings.security.has_user().then(|| Sasl {
                mechanism: settings.sasl_mechanism.clone(),
                user: settings.user.clone(),
                password: settings.password.reveal().to_owned(),
            }),
        },
        session_ms: settings.session_timeout_ms,
        publish_timeout_ms: settings.publish_timeout_ms,
        new_topics: settings.create_topics.then_some(new_topics),
    });
    let bus = opened.map_err(|cause| Fault::new(Exit::Config, format!("kafka: {cause}")))?;
    if settings.security.has_user() && !settings.security.has_tls() {
        tracing::warn!(
            "kafka.security = \"sasl_plaintext\": the messages cross the network in the clear"
        );
    }
    Ok(Some(Arc::new(bus)))
}

/// This binary has no Kafka; settings that name brokers were refused before.
#[cfg(not(feature = "kafka"))]
#[expect(clippy::unnecessary_wraps, reason = "it is the other build's signature")]
pub(crate) fn open(_: &Kafka) -> Result<Option<Arc<dyn Bus>>, Fault> {
    Ok(None)
}
