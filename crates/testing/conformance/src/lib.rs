//! The contract suites that every journal, bus and chain port must pass. The suite of ledgers, which is for others too,
//! is the crate `ledger-contract`.
//!
//! Each check states the result of a call in plain numbers; it knows no rule of the product and no store. The tests
//! of a store, a ledger, an adapter or a double run it through the suite of its port.
//!
//! A dev crate: nothing of the product imports it outside its tests.

pub mod bus;
pub mod chain;
pub mod journal;
