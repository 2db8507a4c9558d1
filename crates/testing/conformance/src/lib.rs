//! The contract suites that every journal, bus, ledger and chain port must pass, the repository's own and others'.
//!
//! Each check says with plain numbers what a call comes to; it knows no rule of the product and no store. A store, a
//! ledger, an adapter or a double is run through the suite of its port by its own tests.
//!
//! A dev crate: nothing of the product imports it outside its tests.

pub mod bus;
pub mod chain;
pub mod journal;
pub mod ledger;
