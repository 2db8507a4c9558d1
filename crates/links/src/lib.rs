//! Links to systems outside: the bus that lives in the process, Apache Kafka, and NEAR.

pub mod in_process;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod near;
