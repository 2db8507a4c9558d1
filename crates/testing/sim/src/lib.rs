//! The simulation: runs the real parts of the product on virtual time, with faults, and checks the results by
//! oracles.
//!
//! A dev crate: nothing of the product imports it outside its tests.

pub mod books;
pub mod bus;
pub mod campaign;
pub mod chain;
pub mod disk;
pub mod event_log;
pub mod fuzz;
pub mod generic;
pub mod journal;
pub mod ledger;
pub mod matrix;
mod movements;
pub mod numbered_books;
pub mod service;
pub mod world;
pub mod wrong;
