//! Ledgers outside the journal's database, for the simulation.

mod plain;

pub use plain::Plain;
