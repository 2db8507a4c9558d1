//! Contract suites: what every ledger and every journal is held to, whoever wrote it.

mod hand;
pub mod journal;
pub mod ledger;

pub use hand::HandClock;
