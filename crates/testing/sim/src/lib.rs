//! The simulated world: where every part is tried, and what is known of it afterwards.
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
pub mod numbered_books;
pub mod service;
pub mod world;
pub mod wrong;
