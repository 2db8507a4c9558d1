//! Tests of the links over real files and a real broker.

mod in_process;
#[cfg(feature = "kafka")]
mod kafka;
