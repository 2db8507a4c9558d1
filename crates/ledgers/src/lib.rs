//! Ledgers outside the journal's database: the Spot core with the real folder that it writes to, and
//! ledgers at the other end of a network.
//!
//! The core reaches disk and randomness through ports only, so that a simulation can hold all of it on
//! one thread. Reading order: [`spot`], [`disk`], [`remote`].

pub mod disk;
mod error;
pub mod remote;
pub mod spot;

pub use error::SpotOpenError;
