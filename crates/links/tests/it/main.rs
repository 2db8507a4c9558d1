//! Tests of the links over real files, a real broker and a local chain.

mod in_process;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(test)]
mod near;
#[cfg(test)]
mod solana;
