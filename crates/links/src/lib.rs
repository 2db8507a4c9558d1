//! Links to systems outside: the bus that lives in the process, and Apache Kafka.

pub mod in_process;
#[cfg(feature = "kafka")]
pub mod kafka;
