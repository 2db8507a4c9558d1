//! The way of a transfer: it is taken in, planned, carried through the stations of its states, written.

pub(crate) mod commit;
pub(crate) mod create_checks;
pub(crate) mod create_request;
pub(crate) mod decision;
pub(crate) mod gather;
pub(crate) mod in_flight;
pub(crate) mod intake;
pub(crate) mod observed_deposits;
pub(crate) mod plan;
pub(crate) mod plan_events;
#[cfg(test)]
pub(crate) mod plan_tests;
pub(crate) mod plan_waits;
pub(crate) mod queue;
pub(crate) mod select;
pub(crate) mod station;
pub(crate) mod waiters;
