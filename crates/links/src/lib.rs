//! Links to outside systems: the bus of one process, Apache Kafka, and NEAR.

pub mod in_process;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod near;
