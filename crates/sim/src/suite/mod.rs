//! Contract suites: what every ledger and every journal is held to, whoever wrote it.

pub mod ledger;
