//! A simulated bus: topics of partitions by key, groups with members and offsets, rebalances, lag and seeks,
//! all in memory and on simulated time.
//!
//! A [`SimBus`] is the broker and outlives every process: a member that is dropped with its process leaves its
//! group, and one that does not poll for long is put out of it. A [`BrokerFault`] lasts until it is ended. [`FaultyBus`] is the link between an engine and
//! the broker: its calls are logged, are lost, come twice, and kill the process.

mod broker;
mod broker_fault;
mod faulty;
mod faulty_member;
mod member;
mod port;

pub use broker::PARTITIONS;
pub use broker_fault::{BrokerFault, PUBLISH_TIMEOUT, TopicPart};
pub use faulty::{BusCall, BusTrouble, FaultyBus};
pub use port::SimBus;
