//! Contract suites: what every ledger and every journal is held to, no matter who wrote it.

pub mod journal;
pub mod ledger;
mod manual_clock;

pub use manual_clock::ManualClock;
