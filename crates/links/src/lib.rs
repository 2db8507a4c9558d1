//! Links to outside systems: the bus of one process, Apache Kafka, NEAR and Solana.

mod bad_settings;
mod base58;
mod concerns;
pub mod in_process;
#[cfg(feature = "kafka")]
pub mod kafka;
mod keystore;
pub mod near;
mod rest;
mod rpc;
pub mod solana;
pub mod swap_facts;
mod verdict;
