//! Contract suites: what every bus, ledger and journal is held to, no matter who wrote it.

pub mod bus;
pub mod chain;
pub mod journal;
pub mod ledger;
